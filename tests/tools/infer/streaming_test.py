#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer with pipes, full disks and long inputs. Usage: streaming_test.py BIN_DIR"""
import contextlib
import json
import os
import pty
import resource
import select
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

from inferring import InferTest, main, read_lines, read_to_end
from tensor_file import FormatError, TensorFile

LINE = b"a man is walking the dog on the beach\ttwo men\n"


class Streaming(InferTest):
    def start(self, *arguments, **options) -> subprocess.Popen:
        process = subprocess.Popen(self.command(*arguments), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for stream in (process.stdin, process.stdout):
            self.addCleanup(stream.close)
        return process

    @staticmethod
    def feed(process: subprocess.Popen, content: bytes) -> None:
        process.stdin.write(content)
        process.stdin.flush()

    def answer(self, process: subprocess.Popen, line: bytes) -> dict:
        """Writes a line and reads its answer, while the input stays open."""
        self.feed(process, line)
        self.assertTrue(select.select([process.stdout], [], [], 60)[0], f"no answer to {line}")
        return json.loads(process.stdout.readline())

    def test_answers_come_while_the_input_is_open(self):
        process = self.start(stderr=subprocess.DEVNULL)
        for i in range(3):
            self.assertEqual(self.answer(process, b"a man\n")["index"], i)
        self.feed(process, b"half a li")
        self.assertEqual(select.select([process.stdout], [], [], 0.2)[0], [])
        self.assertEqual(self.answer(process, b"ne\n")["index"], 3)
        process.stdin.close()
        self.assertEqual((process.stdout.read(), process.wait(60)), (b"", 0))

    def test_weights_cut_short_while_in_use_are_one_sentence(self):
        model = self.make_model("cut short")
        errors = self.write("cut-errors.txt", "")
        with open(errors, "wb") as stderr:
            process = self.start("-m", model, stderr=stderr)
        self.assertEqual(self.answer(process, b"a man\n")["index"], 0)
        os.truncate(model / "model.safetensors", 0)
        self.feed(process, b"a man\n")
        self.assertEqual(process.wait(60), 1)
        self.assertEqual(errors.read_text(), f"bert-infer: {model}/model.safetensors: cannot be read any "
                                             "more: it was truncated while in use\n")

    def test_a_closed_output_ends_quietly(self):
        errors = self.write("errors.txt", "")
        with open(errors, "wb") as stderr:
            process = self.start(stderr=stderr)
            self.answer(process, b"a man\n")
            process.stdout.close()
            # The input stays open: the tool must not wait for its end.
            self.feed(process, b"a dog\n")
            self.assertEqual(process.wait(60), 0)
        self.assertEqual(errors.read_text(), "")

    def test_head_of_an_endless_pipe(self):
        pipe = f"yes 'a man' | {shlex.join(self.command())} | head -n 3; echo ${{PIPESTATUS[1]}}"
        done = subprocess.run(["bash", "-c", pipe], capture_output=True, timeout=120)
        lines = done.stdout.decode().splitlines()
        self.assertEqual([json.loads(line)["index"] for line in lines[:3]], [0, 1, 2])
        self.assertEqual((lines[3], done.stderr), ("0", b""))

    def test_the_output_is_neither_the_input_nor_the_model(self):
        path = self.write("both.tsv", "a man\n")
        with open(path, "ab") as end, open(path, "rb") as begin:
            self.fail_with(1, "standard output: is both", "-i", path, stdout=end)
            self.fail_with(1, "standard output: is both", stdin_file=begin, stdout=end)
        self.assertEqual(path.read_text(), "a man\n")
        model = self.make_model("kept", "--sharded", "2")
        (self.dir / "link.jsonl").symlink_to(model / "model-00001-of-00002.safetensors")
        for output in [model / "model-00002-of-00002.safetensors", self.dir / "link.jsonl"]:
            before = output.read_bytes()
            self.fail_with(1, "is a file of the model", "-m", model, "-o", output, "a")
            self.assertEqual(output.read_bytes(), before)
        for _ in range(2):  # other files in its directory may be overwritten
            self.succeed("-m", model, "-o", model / "embeddings.safetensors", "--task", "embed", "a")

    def test_a_full_disk_is_an_error(self):
        (self.dir / "full.jsonl").symlink_to("/dev/full")
        with open("/dev/full", "wb") as full:
            for arguments in [["a man"], ["-i", "-"], ["--help"], ["--version"]]:
                self.fail_with(1, "standard output: .*No space left", *arguments,
                               stdin="a\n", stdout=full)
        self.fail_with(1, "full.jsonl: .*No space left", "-o",
                       self.dir / "full.jsonl", stdin="a\n")

    def test_a_file_that_may_not_grow_is_an_error(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        for name, *options in [["small.jsonl"], ["small.tsv"], ["small.npy"], ["small.safetensors"],
                               ["hidden.safetensors", "--task", "hidden"]]:
            with self.subTest(name):
                path = self.write(name, "yesterday's")
                expected = [answer["logits" if len(options) == 0 else "hidden"] for answer in
                            self.answers(*options, stdin="a\n" * 1000)]
                done = self.fail_with(1, f"{name}: .*File too large; the answers so far are in "
                                         f".*{name}.partial", "-o", path, *options,
                                      stdin="a\n" * 1000, preexec_fn=limit)
                self.assertEqual(path.read_text(), "yesterday's")
                found = self.read_logits(self.dir / f"{name}.partial")
                self.assertGreater(len(found), 1)
                np.testing.assert_array_equal(np.float32(found), np.float32(expected[:len(found)]))

    def read_logits(self, path: Path) -> list:
        """Of a file named NAME.FORMAT.partial; or hidden states, of each input."""
        kind = path.suffixes[-2]
        if kind == ".jsonl":
            return [answer["logits"] for answer in read_lines(path.read_text())]
        if kind == ".tsv":
            return [line.split("\t")[-3:] for line in path.read_text().splitlines()[1:]]
        if kind == ".npy":
            return list(np.load(path))
        file = TensorFile(path)
        if "starts" not in file.entries:
            return list(file.read("logits"))
        starts, hidden = file.read("starts"), file.read("hidden")
        return [hidden[a:b] for a, b in zip(starts, starts[1:])]

    def test_a_killed_run_leaves_what_can_be_read(self):
        for name in "killed.npy", "killed.safetensors":
            path = self.dir / f"{name}.partial"
            process = self.start("-o", self.dir / name, stderr=subprocess.DEVNULL)
            feeding = threading.Thread(target=self.feed_until_closed, args=(process,))
            feeding.start()
            while not path.exists() or path.stat().st_size <= 100_000:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)  # most likely not between two writes
            time.sleep(0.05)
            process.kill()
            process.wait(60)
            feeding.join()
            self.assertGreater(len(self.read_logits(path)), 1000)
            self.assertFalse((self.dir / name).exists())

    def test_an_answer_can_be_read_while_the_input_is_open(self):
        for name in "open.npy", "open.safetensors":
            path = self.dir / f"{name}.partial"
            process = self.start("-o", self.dir / name, stderr=subprocess.DEVNULL)
            process.stdin.write(b"a\n")
            process.stdin.flush()
            end, rows = time.monotonic() + 20, 0
            while rows != 1 and time.monotonic() < end:
                time.sleep(0.01)
                try:
                    rows = len(self.read_logits(path))
                except (OSError, ValueError, KeyError, FormatError):  # not yet, or between two writes
                    pass
            process.kill()
            process.stdin.close()
            process.wait(60)
            self.assertEqual(rows, 1, name)

    def test_a_bad_line_leaves_the_file_before(self):
        for stdin, kept in ("\nb\n", False), ("a\n\nb\n", True):
            path = self.write("before.jsonl", "yesterday's")
            done = self.fail_with(1, r"<stdin>:\d: ", "-o", path, stdin=stdin)
            self.assertEqual("answers so far are in" in done.stderr, kept)
            self.assertEqual((self.dir / "before.jsonl.partial").exists(), kept)
            self.assertEqual(path.read_text(), "yesterday's")
        (self.dir / "linked.jsonl").symlink_to(path)
        path.chmod(0o640)
        self.succeed("-o", self.dir / "linked.jsonl", stdin="a\n")
        self.assertTrue((self.dir / "linked.jsonl").is_symlink())
        self.assertEqual((len(read_lines(path.read_text())), path.stat().st_mode & 0o777), (1, 0o640))
        path.unlink()  # now the link leads to nothing
        self.succeed("-o", self.dir / "linked.jsonl", stdin="a\n")
        self.assertTrue((self.dir / "linked.jsonl").is_symlink() and path.is_file())

    def test_a_file_that_cannot_seek(self):
        os.mkfifo(self.dir / "pipe.npy")
        reader = os.open(self.dir / "pipe.npy", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.fail_with(1, "pipe.npy: cannot seek", "-o", self.dir / "pipe.npy", "a")
        self.assertEqual(os.read(reader, 1), b"")

    def test_a_non_blocking_output(self):
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        slow = subprocess.Popen(self.command("-i", self.write("n.tsv", "a\n" * 3000)),
                                stdout=write_end, stderr=subprocess.DEVNULL)
        os.close(write_end)
        time.sleep(0.5)  # the pipe is full now
        with os.fdopen(read_end, "rb") as stream:
            self.assertEqual(len(stream.read().splitlines()), 3000)
        self.assertEqual(slow.wait(60), 0)

    def interrupt(self, number: int, name: str, *options, times=1) -> tuple[Path, int]:
        """Interrupts a run with an endless input once it has written something. Returns its output
        and how many inputs it says it has answered."""
        before = self.write(name, "yesterday's")
        path = self.dir / f"{name}.partial"
        path.unlink(missing_ok=True)
        process = self.start("-o", before, *options, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        feeding = threading.Thread(target=self.feed_until_closed, args=(process,))
        feeding.start()
        while not path.exists() or path.stat().st_size <= 4096:
            self.assertIsNone(process.poll(), "ended before it was interrupted")
            time.sleep(0.01)
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.002)
        errors = process.stderr.read().decode().splitlines()
        self.assertEqual(process.wait(60), -number)
        feeding.join()
        self.assertEqual(errors[-1], f"bert-infer: {signal.strsignal(number)}: the answers so far "
                                     f"are in {path}")
        self.assertEqual(before.read_text(), "yesterday's")
        return path, int(errors[-2].removeprefix("bert-infer: ").split(" inputs, ")[0])

    def feed_until_closed(self, process: subprocess.Popen) -> None:
        try:
            while True:
                self.feed(process, LINE * 100)
        except BrokenPipeError:
            with contextlib.suppress(BrokenPipeError):  # from flushing its buffer
                process.stdin.close()

    def test_an_interrupt_keeps_what_is_answered(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            path, inputs = self.interrupt(number, "cut.jsonl")
            answers = read_lines(path.read_text())
            self.assertEqual([answer["index"] for answer in answers], list(range(inputs)))
            path, inputs = self.interrupt(number, "cut.npy", "--task", "embed")
            self.assertEqual(np.load(path).shape, (inputs, 16))
        path, inputs = self.interrupt(signal.SIGTERM, "cut.safetensors", "--task", "hidden")
        file = TensorFile(path)
        starts = file.read("starts")
        self.assertEqual((len(starts), starts[-1]), (inputs + 1, len(file.read("hidden"))))
        path, inputs = self.interrupt(signal.SIGTERM, "cut.jsonl", "--task", "hidden", "--layers", "0")
        self.assertEqual(len(read_lines(path.read_text())), inputs)

    def test_an_interrupt_ends_a_wait_for_input(self):
        for options in [], ["--task", "tokens"], ["--task", "hidden", "--layers", "0"]:
            process = self.start(*options, stderr=subprocess.DEVNULL)
            self.answer(process, LINE)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), -signal.SIGTERM)

    def test_a_signal_that_comes_twice_at_once_is_one(self):
        for number in signal.SIGTERM, signal.SIGHUP:  # from `timeout`, and from a closing terminal
            path, inputs = self.interrupt(number, "twice.npy", "--task", "embed", times=5)
            self.assertEqual(np.load(path).shape, (inputs, 16))

    def test_a_second_interrupt_does_not_wait(self):
        process = self.start(stderr=subprocess.DEVNULL)
        feeding = threading.Thread(target=self.feed_until_closed, args=(process,))
        feeding.start()
        self.wait_until_nothing_can_be_written(process)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), -signal.SIGTERM)
        feeding.join()

    def test_an_ignored_signal_stays_ignored(self):
        process = self.start(stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        for _ in range(2):
            self.answer(process, LINE)
            process.send_signal(signal.SIGHUP)
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_a_line_without_end(self):
        done = self.fail_with(1, ":2: the line is longer than 67108864 bytes",
                              stdin=b"a\n" + b"b" * (66 << 20))
        self.assertEqual(len(done.stdout.splitlines()), 1)

    def test_many_lines_stay_in_order(self):
        texts = ["a dog " * (i % 13 + 1) + "man" * (i % 3) for i in range(20000)]
        answers = read_lines(self.succeed(stdin="\n".join(texts)))
        self.assertEqual([answer["index"] for answer in answers], list(range(20000)))
        by_text: dict[str, list] = {}
        for text, answer in zip(texts, answers):
            self.assertEqual(by_text.setdefault(text, answer["logits"]), answer["logits"])
        self.assertEqual(len(by_text), 39)
        self.assertEqual(len({tuple(logits) for logits in by_text.values()}), 39)

    def start_measured(self, *arguments) -> subprocess.Popen:
        # Freed memory that the address sanitizer holds back would look like growth.
        environment = os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=1"}
        return self.start(*arguments, stderr=subprocess.DEVNULL, env=environment)

    @staticmethod
    def peak(process: subprocess.Popen) -> int:
        """The peak resident set in bytes. (getrusage's would include this Python's.)"""
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def peak_after(self, lines: int, *options: str) -> int:
        process = self.start_measured("--threads", "1", *options)
        writer = threading.Thread(target=self.feed, args=(process, LINE * lines))
        writer.start()
        for _ in range(lines):
            self.assertTrue(process.stdout.readline())
        writer.join()
        return self.peak(process)

    def test_memory_does_not_grow_with_the_input(self):
        # Windows differ in size, so the largest one varies, as does how many are in flight for the
        # tokenizer alone, whose windows also hold the tokens' strings. Keeping each input (line, ids,
        # type ids, offsets: at least 300 bytes; strings: as much again) would take 9 MB more with
        # the model and 72 MB more with the tokenizer alone.
        for options, few, many, most in [(["--task", "tokens"], 40000, 160000, 24 << 20),
                                         ([], 10000, 40000, 6 << 20),
                                         (["--task", "similarity"], 10000, 40000, 6 << 20)]:
            small, large = self.peak_after(few, *options), self.peak_after(many, *options)
            self.assertLess(large - small, most,
                            f"{small} bytes at {few} lines, {large} at {many}")

    def wait_until_nothing_can_be_written(self, process: subprocess.Popen) -> None:
        """Its answers are not read, so every thread goes to sleep once the pipe is full."""
        self.assertTrue(select.select([process.stdout], [], [], 60)[0])
        asleep = 0
        while asleep < 3:
            time.sleep(0.1)
            try:
                states = [(task / "status").read_text() for task in Path(f"/proc/{process.pid}/task").iterdir()]
            except (FileNotFoundError, ProcessLookupError):  # a thread that tokenized has ended
                states = [""]
            asleep = asleep + 1 if all("State:\tS" in state for state in states) else 0

    def test_memory_does_not_grow_while_nobody_reads_the_output(self):
        path = self.dir / "waiting.tsv"
        path.write_bytes(LINE * 200000)
        process = self.start_measured("-i", path)
        self.wait_until_nothing_can_be_written(process)
        self.assertLess(self.peak(process) - self.peak_after(10000), 8 << 20)

    def test_summary(self):
        done = self.run_tool("--threads", "1", "--batch-tokens", "99", "--max-length",
                             "5", stdin="a man\na man is walking\n")
        self.assertRegex(done.stderr.splitlines()[-1],
                         r"^bert-infer: 2 inputs, 1 truncated, 9 tokens, \d+ tokens/s "
                         r"\(BertForSequenceClassification, task logits, precision f32, "
                         r"backend (onednn|panels), workers 1, threads 1, batch tokens 99, max length 5\)$")
        self.assertNotIn("tokens/s", self.run_tool("a man").stderr)

    def test_progress_only_on_a_terminal(self):
        terminal, end = pty.openpty()
        on_terminal, on_pipe = self.start(stderr=end), self.start(stderr=subprocess.PIPE)
        os.close(end)
        for wait in [1.1, 0]:
            for process in on_terminal, on_pipe:
                self.answer(process, b"a man\n")
            time.sleep(wait)
        shown = ""
        while "2 inputs" not in shown:
            self.assertTrue(select.select([terminal], [], [], 60)[0], shown)
            shown += os.read(terminal, 4096).decode()
        self.assertRegex(shown, r"\r.*2 inputs, \d+/s, \d+ tokens/s")
        os.close(terminal)
        errors = on_pipe.communicate()[1].decode()
        self.assertNotIn("\r", errors)
        self.assertEqual(errors.count("tokens/s"), 1)

    def test_no_progress_between_answers_on_a_terminal(self):
        terminal, end = pty.openpty()
        process = subprocess.Popen(self.command(), stdin=subprocess.PIPE, stdout=end, stderr=end)
        os.close(end)
        for wait in [1.1, 0]:
            self.feed(process, b"a man\n")
            time.sleep(wait)
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)
        lines = read_to_end(terminal).decode().splitlines()
        os.close(terminal)
        self.assertEqual([json.loads(line)["index"] for line in lines[:-1]], [0, 1])
        self.assertRegex(lines[-1], "^bert-infer: 2 inputs")


if __name__ == "__main__":
    main()
