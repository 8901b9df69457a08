#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer --shard, --resume and merge: whatever is killed and resumed, the bytes are those of one
run. Usage: shards_test.py BIN_DIR"""
import fcntl
import gzip
import os
import random
import resource
import signal
import subprocess
import time

import numpy as np

from inferring import InferTest, main

RNG = random.Random(os.environ.get("SEED", "7"))
WORDS = "a man is playing guitar dog the in on music woman runs , . ##s 1 2".split()


def text() -> str:
    return " ".join(RNG.choices(WORDS, k=RNG.randint(1, 30)))


class ShardsTest(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lines = [f"{text()}\t{text()}" for _ in range(103)]
        cls.pairs = cls.dir / "pairs.tsv"
        cls.pairs.write_text("\n".join(cls.lines) + "\n")

    def shards(self, count: int, suffix: str, *options) -> list:
        parts = []
        for i in range(count):
            parts.append(self.dir / f"{self.id()}-{i}{suffix}")
            self.succeed("-i", self.pairs, "--shard", f"{i}/{count}", *options, "-o", parts[-1])
        return parts

    def test_merged_shards_are_the_bytes_of_one_run(self):
        for count in 1, 2, 5, 103, 150:
            for suffix, options in (".jsonl", ["--task", "embed"]), (".tsv", []):
                with self.subTest(count=count, suffix=suffix):
                    whole, merged = self.dir / f"whole{suffix}", self.dir / f"merged{suffix}"
                    self.succeed("-i", self.pairs, *options, "-o", whole)
                    parts = self.shards(count, suffix, *options) if count < 100 else (
                        self.split_by_hand(whole, count, suffix))
                    RNG.shuffle(parts)
                    self.succeed_merge("-o", merged, *parts)
                    self.assertEqual(merged.read_bytes(), whole.read_bytes())

    def split_by_hand(self, whole, count: int, suffix: str) -> list:
        """What so many runs would write, some of it empty."""
        lines = whole.read_text().splitlines(keepends=True)
        header = lines.pop(0) if suffix == ".tsv" else ""
        parts = []
        for i in range(count):
            parts.append(self.write(f"hand-{i}{suffix}.gz",
                                    gzip.compress((header + "".join(lines[i::count])).encode())))
        return parts

    def succeed_merge(self, *arguments):
        done = subprocess.run([self.bin / self.tool, "merge", *map(str, arguments)],
                              stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rows(self):
        whole = self.dir / "whole.npy"
        self.succeed("-i", self.pairs, "-o", whole)
        rows = np.load(whole)
        for i, part in enumerate(self.shards(4, ".npy")):
            self.assertTrue(np.array_equal(np.load(part), rows[i::4]))

    def test_bad_lines_belong_to_their_shard(self):
        lines = ["first,second", "a,b", "", "a,b", '"x', 'y",b', "a\x00,b,c", "a,b"]
        source = self.write("bad.csv", "\n".join(lines) + "\n")
        options = ["-i", source, "--on-error", "skip"]
        whole = self.dir / "bad.jsonl"
        self.succeed(*options, "-o", whole)
        self.assertEqual(whole.read_text().count('"error"'), 2)
        parts = [self.dir / f"bad-{i}.jsonl" for i in range(3)]
        for i, part in enumerate(parts):
            self.succeed(*options, "--shard", f"{i}/3", "-o", part)
        self.succeed_merge("-o", self.dir / "bad-merged.jsonl", *parts)
        self.assertEqual((self.dir / "bad-merged.jsonl").read_bytes(), whole.read_bytes())
        # Without skipping, only the shard that the line belongs to ends there.
        self.succeed("-i", source, "--shard", "0/3")
        self.fail_with(1, "bad.csv:3: the line is empty", "-i", source, "--shard", "1/3")

    def test_killed_and_resumed(self):
        many = self.dir / "many.tsv"
        many.write_text("".join(f"{text()}\t{text()}\n" for _ in range(6000)))
        for suffix in ".jsonl", ".tsv", ".npy":
            for shard in "0/1", "1/3":
                with self.subTest(suffix=suffix, shard=shard):
                    whole, out = (self.dir / f"{name}{suffix}" for name in ["killed-whole", "killed"])
                    command = ["-i", many, "--task", "embed", "--shard", shard]
                    started = time.monotonic()
                    self.succeed(*command, "-o", whole)
                    usual = time.monotonic() - started
                    out.unlink(missing_ok=True)
                    kills = 0
                    for _ in range(60):
                        process = subprocess.Popen(
                            self.command(*command, "--resume", "-o", out), stderr=subprocess.DEVNULL)
                        time.sleep(RNG.uniform(0, usual))
                        process.send_signal(RNG.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                        kills += process.wait() < 0
                        if out.exists() and kills > 0:
                            break
                        out.unlink(missing_ok=True)  # so fast: again
                    self.succeed(*command, "--resume", "-o", out)
                    self.assertEqual(out.read_bytes(), whole.read_bytes())
                    self.assertGreater(kills, 0)

    def test_answers_that_are_there_are_kept(self):
        """They are not computed again: one with another digit stays as it is."""
        for suffix in ".jsonl", ".tsv", ".npy":
            with self.subTest(suffix=suffix):
                out, partial = self.dir / f"kept{suffix}", self.dir / f"kept{suffix}.partial"
                command = ["-i", self.pairs, "--task", "embed"]
                self.succeed(*command, "-o", out)
                data = bytearray(out.read_bytes())
                lines = [i for i, byte in enumerate(data) if byte == ord("\n")]
                at = 200 if suffix == ".npy" else max(i for i in range(lines[1]) if chr(data[i]).isdigit())
                data[at] ^= 1
                partial.write_bytes(data[:len(data) // 2])
                out.unlink()
                done = self.run_tool(*command, "--resume", "-o", out)
                self.assertRegex(done.stderr, "goes on from line index [1-9]")
                self.assertEqual(out.read_bytes(), data)

    def test_cut_anywhere(self):
        for suffix in ".jsonl", ".tsv", ".npy":
            whole, out = self.dir / f"cut-whole{suffix}", self.dir / f"cut{suffix}"
            self.succeed("-i", self.pairs, "--shard", "1/2", "-o", whole)
            data = whole.read_bytes()
            partial = self.dir / f"cut{suffix}.partial"
            for size in [0, 1, 127, 128, 129, len(data), *RNG.sample(range(len(data)), 8)]:
                with self.subTest(suffix=suffix, size=size):
                    out.unlink(missing_ok=True)
                    partial.write_bytes(data[:size])
                    self.succeed("-i", self.pairs, "--shard", "1/2", "--resume", "-o", out)
                    self.assertEqual(out.read_bytes(), data)
                    self.assertFalse(partial.exists())

    def test_full_disk(self):
        for suffix, header in (".jsonl", 0), (".npy", 128):
            whole, out = self.dir / f"disk-whole{suffix}", self.dir / f"disk{suffix}"
            partial = self.dir / f"disk{suffix}.partial"
            command = ("-i", self.pairs, "--task", "embed")
            self.succeed(*command, "-o", whole)
            limit = whole.stat().st_size // 2

            def small_disk(limit=limit):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            self.fail_with(1, rf"disk{suffix}: cannot be written.*the answers so far are in .*\.partial",
                           *command, "-o", out, preexec_fn=small_disk)
            # Still full: what is there stays there.
            before = partial.read_bytes()
            self.assertGreater(len(before), header)
            self.run_tool(*command, "--resume", "-o", out, preexec_fn=small_disk)
            self.assertEqual(partial.read_bytes()[header:len(before)], before[header:])
            self.succeed(*command, "--resume", "-o", out)
            self.assertEqual(out.read_bytes(), whole.read_bytes())

    def test_what_is_whole_stays(self):
        out = self.write("done.jsonl", "yesterday's\n")
        done = self.run_tool("-i", self.pairs, "--resume", "-o", out)
        self.assertEqual((done.returncode, out.read_text()), (0, "yesterday's\n"))
        self.assertIn("is whole already", done.stderr)
        self.assertEqual(self.run_tool("-q", "-i", self.pairs, "--resume", "-o", out).stderr, "")
        (self.dir / "folder.jsonl").mkdir()
        self.fail_with(1, "folder.jsonl: cannot be opened for writing: Is a directory", "-i", self.pairs,
                       "--resume", "-o", self.dir / "folder.jsonl")

    def test_two_processes_do_not_write_the_same_file(self):
        out, partial = self.dir / "locked.jsonl", self.write("locked.jsonl.partial", "theirs")
        with open(partial, "rb") as theirs:
            fcntl.flock(theirs, fcntl.LOCK_EX)
            for option in [], ["--resume"]:
                self.fail_with(1, r"locked.jsonl.partial: another process is writing it", "-i",
                               self.pairs, *option, "-o", out)
            self.assertEqual(partial.read_text(), "theirs")

    def test_errors(self):
        for wrong in "4/4", "-1/4", "1", "1/2x", "/":
            self.fail_with(2, f"--shard {wrong}: expected I/N with I from 0 to N - 1", "-i",
                           self.pairs, f"--shard={wrong}")
        self.fail_with(2, "--shard goes with --input", "--shard", "0/2", "a text")
        self.fail_with(2, "--resume needs --output FILE", "-i", self.pairs, "--resume")
        self.fail_with(2, "--resume needs .jsonl, .tsv or .npy", "-i", self.pairs, "--resume", "-o",
                       self.dir / "x.safetensors", "--task", "embed")
        out = self.dir / "other.jsonl"
        self.write("other.jsonl.partial", '{"index": 1, "logits": [0]}\n')
        self.fail_with(1, r"its last answer has the index 1, .* --shard 0/2", "-i", self.pairs,
                       "--shard", "0/2", "--resume", "-o", out)
        self.write("other.jsonl.partial", "something else\n")
        self.fail_with(1, "its last line is not an answer", "-i", self.pairs, "--resume", "-o", out)
        self.assertTrue((self.dir / "other.jsonl.partial").exists())

    def test_what_other_commands_have_begun(self):
        out, partial = self.dir / "began.npy", self.dir / "began.npy.partial"
        self.succeed("-i", self.pairs, "--task", "embed", "-o", out)
        partial.write_bytes(out.rename(self.dir / "whole.npy").read_bytes())
        before = partial.read_bytes()
        self.fail_with(1, "began.npy.partial: its rows are not of 3 numbers", "-i", self.pairs, "--resume", "-o", out)
        self.assertEqual(partial.read_bytes(), before)
        self.succeed("-i", self.pairs, "--task", "embed", "--resume", "-o", out)
        self.assertEqual(out.read_bytes(), before)
        for suffix in ".npy", ".jsonl":
            out, partial = (self.dir / f"few{suffix}{end}" for end in ("", ".partial"))
            for shard in "0/1", "1/3":
                ask = ["--shard", shard, "--resume", "-q", "-o", out]
                self.succeed("-i", self.pairs, *ask)
                out.rename(partial)
                few = self.write("few.tsv", "\n".join(self.lines[:99]))
                self.fail_with(1, "few.tsv: has 99 inputs, but --resume has found answers to more", "-i", few, *ask)
                self.succeed("-i", self.pairs, *ask)
                out.unlink()
        os.mkfifo(self.dir / "fifo.jsonl.partial")
        for option in [], ["--resume"]:
            self.fail_with(1, "fifo.jsonl.partial: is a pipe", "-i", self.pairs, *option, "-o", self.dir / "fifo.jsonl")

    def test_the_first_process_of_a_container(self):
        """It is not ended by a signal as others are, and must not look complete."""
        out = self.dir / "init.jsonl"
        process = subprocess.Popen(["unshare", "-rpf", *self.command("--shard", "0/2", "--resume", "-o", out)],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"a man\tb\n")
        process.stdin.flush()
        found = subprocess.CompletedProcess([], 1)
        while found.returncode != 0 and process.poll() is None:
            found = subprocess.run(["pgrep", "-P", str(process.pid), "bert-infer"], capture_output=True)
        is_possible = process.poll() is None
        for _ in range(60):
            if process.poll() is not None:
                break
            time.sleep(1)  # until it listens
            subprocess.run(["kill", "-TERM", *found.stdout.split()], capture_output=True)
        process.stdin.close()
        errors = process.stderr.read()
        process.stderr.close()
        if not is_possible:
            self.skipTest("no namespace of processes can be made")
        self.assertEqual(process.wait(60), 128 + signal.SIGTERM, errors)
        self.assertFalse(out.exists())

    def test_slurm(self):
        def array(task: int, count: int, first: int, last: int) -> dict:
            names = {"ID": task, "COUNT": count, "MIN": first, "MAX": last}
            return {"env": os.environ | {f"SLURM_ARRAY_TASK_{name}": str(value)
                                         for name, value in names.items()}}

        ask = ["-i", self.pairs, "--shard"]
        wanted = self.succeed(*ask, "1/3")
        self.assertEqual(self.succeed(*ask, "slurm", **array(2, 3, 1, 3)), wanted)
        # Also when the tasks 1 and 2 are repeated.
        self.assertEqual(self.succeed(*ask, "slurm/3", **array(1, 2, 1, 2)), wanted)
        self.fail_with(2, "SLURM_ARRAY_TASK_ID is not set", *ask, "slurm")
        for wrong in array(6, 2, 4, 6), array(0, 2, 0, 2), array(2, 2, 2, 3):
            self.fail_with(2, "expected all numbers from 0 or 1 on; .* write --shard slurm/N", *ask, "slurm", **wrong)
        self.fail_with(2, "--shard slurm/3: SLURM_ARRAY_TASK_ID is 3, expected a number from 0 to 2", *ask, "slurm/3",
                       **array(3, 3, 1, 3))
        self.fail_with(2, "expected I/N", *ask, "slurm/0", **array(0, 1, 0, 0))

    def test_merge_of_some_shards(self):
        lost, whole = self.write("lost.tsv", "a\n\nb\nc\n"), self.dir / "gaps-whole.tsv"
        ask = ["-i", lost, "--on-error", "skip"]
        self.succeed(*ask, "-o", whole)
        parts = [self.dir / f"gaps-{i}.tsv" for i in range(3)]
        for i, part in enumerate(parts):
            self.succeed(*ask, "--shard", f"{i}/3", "-o", part)
        out = self.dir / "gaps.tsv"
        for given in parts, [parts[0], parts[2]]:
            done = subprocess.run([self.bin / self.tool, "merge", "-o", out, *given], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"gaps-2.tsv: the index 2 follows 0: no part has 1 \(--allow-gaps, if")
        # In two steps, as where not all can be open.
        self.succeed_merge("--allow-gaps", "-o", out, parts[0], parts[2])
        self.succeed_merge("--allow-gaps", "-o", self.dir / "all.tsv", out, parts[1])
        self.assertEqual((self.dir / "all.tsv").read_bytes(), whole.read_bytes())
        plain = [part.rename(part.with_suffix(".part")) for part in parts]
        self.succeed_merge("--format", "tsv", "--allow-gaps", "-o", self.dir / "all", *plain)
        self.assertEqual((self.dir / "all").read_bytes(), whole.read_bytes())

    def test_merge_does_not_append_to_a_part(self):
        content = '{"index": 0, "label": "yes"}\n'
        part = self.write("appended.jsonl", content)
        with part.open("a") as output:
            done = subprocess.run([self.bin / self.tool, "merge", part], stdout=output, stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual((done.returncode, part.read_text()), (1, content))
        self.assertIn("is both the input and the output", done.stderr)

    def test_merge_of_many_shards(self):
        parts = [self.write(f"many-{i}.jsonl", f'{{"index": {i}, "x": 1}}\n') for i in range(60)]
        out = self.dir / "many.jsonl"

        def merge(hard: int) -> subprocess.CompletedProcess:
            return subprocess.run([self.bin / self.tool, "merge", "-o", out, *parts], capture_output=True, text=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard)))

        self.assertIn("60 parts are too many to be open at the same time, as the limit of open files is 50",
                      merge(50).stderr)
        self.assertFalse(out.exists())
        done = merge(100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out.read_bytes(), b"".join(part.read_bytes() for part in parts))

    def test_merge_errors(self):
        def merge(*arguments):
            done = subprocess.run([self.bin / self.tool, "merge", *map(str, arguments)],
                                  capture_output=True, text=True, timeout=120)
            self.assertNotEqual(done.returncode, 0)
            return done.stderr

        a = self.write("a.jsonl", '{"index": 0, "x": 1}\n{"index": 2, "x": 1}\n')
        b = self.write("b.jsonl", '{"index": 1, "x": 1}\n{"index": 4, "x": 1}\n')
        out = self.dir / "merged-errors.jsonl"
        self.assertIn("no part has 3", merge("-o", out, a, b))
        self.assertIn("is in another part too", merge("-o", out, a, a))
        self.assertIn("b.jsonl: the index 1 is the lowest of all: no part has 0", merge("-o", out, b))
        self.assertFalse(out.exists())
        quoted = self.write("quoted.jsonl", '{"index": 0, "x": ["\\"{", "\\\\"]}\n')
        self.succeed_merge("-o", self.dir / "one.jsonl", quoted)
        long = self.write("long.jsonl", b'{"index": 0, "hidden": [[%s0]]}\n' % (b"0.125, " * (10 << 20)))  # 70 MiB
        self.succeed_merge("-o", self.dir / "one.jsonl", long)
        self.assertEqual((self.dir / "one.jsonl").stat().st_size, long.stat().st_size)
        kept = '"kept": {"y": {"z": "}"}}, '
        other = [self.write("x.jsonl", f'{{"index": 0, {kept}"x": 1}}\n{{"index": 2, {kept}"x": 1}}\n'),
                 self.write("y.jsonl", f'{{"index": 1, {kept}"error": "e"}}\n{{"index": 3, {kept}"y": 1}}\n')]
        self.assertIn('y.jsonl: the answer with the index 3 has "y", expected "x"', merge("-o", out, *other))
        c = self.write("c.jsonl", '{"index": 1, "x": 1}\nnonsense\n')
        self.assertIn("c.jsonl:2: is not an answer", merge("-o", out, a, c))
        self.assertIn("expected ascending", merge("-o", out, self.write(
            "d.jsonl", '{"index": 0, "x": 1}\n{"index": 0, "x": 1}\n')))
        self.assertIn("at least one part", merge("-o", out))
        self.assertIn("expected a name that ends in", merge("-o", self.dir / "x.npy", a))
        t, u = self.write("t.tsv", "index\ta\n0\t1\n"), self.write("u.tsv", "index\tb\n1\t1\n")
        self.assertIn("header differs", merge("-o", self.dir / "v.tsv", t, u))
        for cut, reason in [*((f'{{"index": 1, {rest}\n', "is not a whole answer: the part was cut") for rest in (
                                '"x": [0.5, 0.', '"x": [{"y": 1}', '"x": "a', r'"x": "\"}', '"x": {}')),
                            ('{"index": 1, "x": 1', "has no line break at its end: the part was cut")]:
            self.assertIn(f"c.jsonl:1: {reason}", merge("-o", out, a, self.write("c.jsonl", cut)))
        for cut, reason in [("1\n", "is not an answer"), ("1\t2\n", "is not a whole answer"),
                            ("1\t2\t0.", "has no line break at its end")]:
            parts = [self.write("t.tsv", "index\ta\tb\n0\t1\t2\n"), self.write("u.tsv", f"index\ta\tb\n{cut}")]
            self.assertIn(f"u.tsv:2: {reason}", merge("-o", self.dir / "v.tsv", *parts))
        empty = self.write("empty.tsv", "")
        for parts in [t, empty], [empty]:
            self.assertIn("empty.tsv: is empty, expected a header", merge("-o", self.dir / "v.tsv", *parts))
            self.assertFalse((self.dir / "v.tsv").exists())
        for ending in "gz", "zst":
            packed = self.dir / f"x.jsonl.{ending}"
            self.assertIn(f"{packed}: expected a name that ends in .jsonl or .tsv", merge("-o", packed, a, b))
            self.assertFalse(packed.exists())
        part = self.write("a.jsonl.partial", a.read_text())
        self.assertIn("a.jsonl.partial: is what an interrupted run has left", merge("-o", out, part, b))


if __name__ == "__main__":
    main()
