#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rows that bert-bench prints and the shapes that it refuses. Usage: bert_bench_test.py BIN_DIR"""
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import time

from command_line import ToolTest, main, read_lines


WEIGHTS = 2 * (4 * 16 * 16 + 2 * 16 * 32)  # 2 layers with H = 16 and I = 32: 4 H^2 + 2 H I


def flops_of(lengths: list[int]) -> int:
    """Each weight once for a token, and attention over S^2 pairs."""
    return sum(2 * WEIGHTS * s + 2 * 4 * 16 * s * s for s in lengths)


class BenchTest(ToolTest):
    tool = "bert-bench"

    def check_figures(self, row: dict, flops: float, weights: int):
        """flops of a run, and the number of weights that it reads."""
        self.assertLessEqual(row["min_ms"], row["median_ms"])
        self.assertAlmostEqual(row["tokens_per_s"] * row["median_ms"] / 1e3 / row["tokens"], 1, 6)
        self.assertAlmostEqual(row["gflops"] * row["median_ms"] * 1e6 / flops, 1, 6)
        self.assertTrue(0 < row["peak_fraction"] < 1.1, row)
        peak = row["gflops"] / row["peak_fraction"]
        peaks = [row[name] for name in ("onednn_peak_gflops", "multiply_add_peak_gflops") if name in row]
        # With AMX's tiles, the other precisions have both too.
        self.assertIn(len(peaks), [2] if row["precision"] == "f32" else [1, 2])
        self.assertAlmostEqual(peak / max(peaks), 1, 6)
        self.assertEqual(list(row["profile_ms"]), ["linear", "convert", "attention", "norm", "embedding", "rest"])
        self.assertGreaterEqual(min(row["profile_ms"].values()), 0, row)
        floor = row["floor_ms"]
        self.assertEqual(floor["onednn_peak_gflops"], row["onednn_peak_gflops"])
        self.assertAlmostEqual(floor["compute"] * peak * 1e6 / flops, 1, 6)
        size = {"f32": 4, "bf16": 2, "int8": 1}[row["precision"]]
        self.assertAlmostEqual(floor["weights"] * floor["bandwidth_gb_per_s"] * 1e6 / (size * weights), 1, 6)
        self.assertTrue(0.1 < floor["bandwidth_gb_per_s"] < 1e5, row)
        self.check_interval(row)

    def check_interval(self, row: dict):
        """Each end is the run beyond which the true median lies with a probability of at most 2.5 %."""
        runs, end, samples, below = row["runs"], 0, 1, 1  # samples of 2^runs, each run faster or slower than it
        while 40 * below <= 2 ** runs:
            samples = samples * (runs - end) // (end + 1)
            below += samples
            end += 1
        self.assertEqual(row["median_interval_ms"] is None, runs < 6)
        self.assertEqual(end == 0, runs < 6)
        ranks = [math.floor(i / 40 * (runs - 1) + 0.5) for i in range(41)]
        for value, rank in zip(row["median_interval_ms"] or [], (end - 1, runs - end)):
            # Of up to 41 runs, all times are among the quantiles.
            before = max(time for at, time in zip(ranks, row["quantiles_ms"]) if at <= rank)
            after = min(time for at, time in zip(ranks, row["quantiles_ms"]) if at >= rank)
            self.assertTrue(before <= value <= after, (row, rank))

    def test_rows_add_up(self):
        shapes = ["lengths:2,31,9", "100x64"]  # the latter runs so few times that its interval is wide
        before = {"task": "hidden", "precision": "f32", "backend": "panels", "threads": 1, "median_ms": 2}
        # Of too few runs, as an earlier version wrote it, and as this one does.
        old = [before | {"shape": shapes[0], "runs": 5, "median_interval_ms": [1, 3]},
               before | {"shape": shapes[1], "runs": 5, "median_interval_ms": None}]
        rows = self.answers("--json", "--profile", "--runs", 6, "--threads", 1, "--backend", "panels", "--baseline",
                            self.write("five.jsonl", "".join(json.dumps(row) + "\n" for row in old)), *shapes)
        self.assertEqual([row["baseline"]["change_interval"] for row in rows], [None, None])
        self.assertEqual([row["shape"] for row in rows], shapes)
        self.assertEqual([(row["batch"], row["tokens"]) for row in rows], [(3, 42), (100, 6400)])
        for row, lengths in zip(rows, [[2, 31, 9], [64] * 100]):
            self.assertEqual((row["precision"], row["threads"]), ("f32", 1))
            self.assertRegex(row["model"], r"^bert L=2 H=16 A=2 I=32 V=\d+$")
            self.check_figures(row, flops_of(lengths), WEIGHTS)

    def test_few_runs(self):
        """Whose times are all in the row. They are long, and so their parts are beyond doubt."""
        model = self.make_model("long", "--positions", "512")
        before = {"shape": "256x512", "task": "hidden", "precision": "f32", "backend": "panels", "threads": 1,
                  "runs": 7, "median_ms": 2, "median_interval_ms": [1, 3]}
        row, = self.answers("-m", model, "--threads", 1, "--runs", 4, "--backend", "panels", "--profile", "--json",
                            "--baseline", self.write("seven.jsonl", json.dumps(before)), before["shape"])
        self.assertEqual(row["runs"], 4)
        self.check_figures(row, flops_of([512] * 256), WEIGHTS)
        times = [row["quantiles_ms"][round(40 * i / 3)] for i in range(4)]
        self.assertAlmostEqual(row["median_ms"] / ((times[1] + times[2]) / 2), 1, 4)
        parts = row["profile_ms"]
        self.assertAlmostEqual(sum(parts.values()) / (sum(times) / 4), 1, 4)
        self.assertGreater(parts["attention"], parts["linear"])  # it has eight times as many operations
        self.assertAlmostEqual((1 + row["baseline"]["change"]) * 2 / row["median_ms"], 1, 4)
        self.assertIsNone(row["baseline"]["change_interval"])

    def test_each_precision_with_both_backends(self):
        """Or with panels alone where oneDNN has no fast product, as 2.6 for bf16 with AVX2."""
        expected = []
        for precision in ("bf16", "int8"):
            expected.append((precision, "panels"))
            alone = self.run_tool("--backend", "onednn", "--precision", precision, "--runs", 1, "1x3")
            lacks = f"oneDNN .* has no fast {precision} product for this processor"
            if alone.returncode == 0:
                expected.append((precision, "onednn"))
            else:
                self.assertRegex(alone.stderr, f"^bert-bench: backend onednn: {lacks}")
        done = self.run_tool("--json", "--profile", "--runs", 1, "--precision", "bf16,int8", "--compare", "3x7")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = read_lines(done.stdout)
        self.assertEqual([(row["precision"], row["backend"]) for row in rows], expected)
        self.assertEqual(done.stderr.count("panels alone"), 4 - len(expected))
        for row in rows:
            self.assertRegex(row["product"], "^panels for " if row["backend"] == "panels" else r"^oneDNN [23]\.")
            self.check_figures(row, flops_of([7] * 3), WEIGHTS)

    def test_both_backends_side_by_side(self):
        lines = self.succeed("--runs", 3, "--compare", "lengths:12,31,1,9").splitlines()
        self.assertEqual(lines[0].split()[:3], ["shape", "type", "backend"])
        self.assertEqual([line.split()[0] for line in lines[1:3]], ["lengths:12,31..."] * 2)
        self.assertEqual([line.split()[2] for line in lines[1:3]], ["panels", "onednn"])
        self.assertRegex(lines[3], r"^ +onednn / panels: \d+\.\d\d$")
        self.fail_with(2, "--backend", "--compare", "--backend", "panels", "1x1")

    def test_a_page_may_be_standard_output(self):
        page = self.succeed("--runs", 1, "--threads", 1, "--html", "-", "1x3").strip()
        self.assertRegex(page, "(?is)^<!doctype html>.*</html>$")
        self.fail_with(2, "--html - and --json exclude each other", "--html", "-", "--json", "1x3")

    def test_a_page_may_be_a_pipe(self):
        """Which is opened once: its reader would take a closing for the end."""
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(self.command("--runs", 1, "--threads", 1, "--html", pipe, "1x3"),
                              stdout=subprocess.DEVNULL) as process:
            self.assertRegex(pipe.read_text().strip(), "(?is)^<!doctype html>.*</html>$")
        self.assertEqual(process.returncode, 0)

    def test_a_baseline_is_a_file_with_rows(self):
        self.fail_with(1, f"{self.dir}: is a directory, expected a file", "--baseline", self.dir, "1x3")
        self.fail_with(1, "empty: is empty, expected what --json wrote", "--baseline", self.write("empty", ""), "1x3")
        row = {"shape": "1x3", "task": "hidden", "precision": "f32", "backend": "panels", "threads": 1,
               "median_ms": 1.5, "median_interval_ms": [1, 2]}
        for key, value, expected in [
            ("median_ms", None, "null, expected a positive number"), ("median_ms", 0, "0, expected a positive number"),
            ("median_ms", 5e-324, "5e-324, expected a positive number"),
            ("median_interval_ms", [1], r"\[1\], expected two positive numbers, or null"),
            ("median_interval_ms", [-1, 2], r"\[-1,2\], expected two positive numbers"),
            ("median_interval_ms", [1, -2], r"\[1,-2\], expected two positive numbers"),
            ("median_interval_ms", [1, 2, 3], r"\[1,2,3\], expected two positive numbers"),
            ("threads", 0, "0, expected a positive whole number"),
            ("threads", 1.5, "1.5, expected a positive whole number"), ("shape", 3, "3, expected a string"),
            ("model", {}, "{}, expected a string"), ("runs", "7", '"7", expected a positive whole number')]:
            with self.subTest(key, value=value):
                path = self.write("bad.jsonl", "".join(json.dumps(one) + "\n" for one in (row, row | {key: value})))
                self.fail_with(1, f"bad.jsonl:2: {key} is {expected}", "--baseline", path, "1x3")
        path = self.write("bad.jsonl", json.dumps(row)[:-1])
        self.fail_with(1, "bad.jsonl:1: is not a JSON object", "--baseline", path, "1x3")
        deep = self.write("deep.jsonl", '{"shape": ' + "[" * 10**6 + "]" * 10**6 + "}")
        self.fail_with(1, "deep.jsonl:1: is not a JSON object", "--baseline", deep, "1x3")
        for option in "--baseline", "--html":
            self.fail_with(2, f"{option}: the value is empty", option, "", "1x3")

    def test_lists_name_their_values(self):
        self.fail_with(2, "--precision: 'f64', expected auto, f32, bf16 or int8", "--precision", "f32,f64", "1x3")
        self.fail_with(2, "--threads: '0', expected a whole number from 1 to 1024", "--threads", "1,0", "1x3")
        self.fail_with(2, "--threads: '1025', expected a whole number from 1 to 1024", "--threads", "1025", "1x3")
        self.fail_with(2, "--runs", "--runs", "0", "1x3")

    def test_logits_are_less_work(self):
        row, = self.answers("--json", "--runs", 1, "--task", "logits", "4x30")
        self.assertLess(row["gflops"] * row["median_ms"] * 1e6, flops_of([30] * 4))

    def test_a_decoder_attends_twice(self):
        bart = self.make_model("bart", "--family", "bart", "--head", "none")  # two layers of each kind
        row, = self.answers("-m", bart, "--json", "--runs", 1, "4x30")
        weights = WEIGHTS + 2 * (8 * 16 * 16 + 2 * 16 * 32)
        pairs = 2 * 30 * 30 + 2 * (30 * 31 // 2 + 30 * 30)  # the decoder's own attention is causal
        self.assertAlmostEqual(row["gflops"] * row["median_ms"] * 1e6 / (4 * (2 * weights * 30 + 4 * 16 * pairs)), 1, 6)

    def test_a_page_that_cannot_be_written_is_found_before_anything_is_timed(self):
        for path, reason in (("no/x.html", "x.html: cannot be opened for writing"), (".", "Is a directory")):
            done = self.fail_with(1, reason, "--html", self.dir / path, "1x3")
            self.assertEqual(done.stdout, "")

    def test_a_page_is_written_though_nobody_reads_the_table(self):
        page = self.dir / "unread.html"
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            self.succeed("--runs", 1, "--threads", 1, "--html", page, "1x3", stdout=pipe)
        self.assertTrue(page.read_text().strip().endswith("</html>"))

    def test_a_killed_run_leaves_nothing_behind(self):
        """But perhaps a folder of links."""
        for delay in 0, 0.05, 0.2, 0.5:
            scratch = self.dir / f"killed{delay}"
            scratch.mkdir()
            process = subprocess.Popen([self.bin / self.tool, "--shape", "small", "1x1"],
                                       env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL)
            time.sleep(delay)
            process.kill()
            process.wait()
            left = [path for path in scratch.rglob("*") if path.lstat().st_size > 100 and not path.is_dir()]
            self.assertEqual(left, [])

    def test_a_signal_leaves_nothing_behind(self):
        scratch = self.dir / "stopped"
        scratch.mkdir()
        for stop in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with subprocess.Popen([self.bin / self.tool, "--shape", "tiny", "--runs", "1000000", "1x512"],
                                  env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL) as process:
                while not list(scratch.glob("*/vocab.*")):
                    time.sleep(0.01)
                process.send_signal(stop)
                self.assertEqual(process.wait(60), -stop)
            self.assertEqual(list(scratch.iterdir()), [])

    def test_messages_do_not_name_the_temporary_directory(self):
        done = subprocess.run([self.bin / self.tool, "--shape", "1,32,2,64", "1x600"], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (
            1, "bert-bench: shape '1x600': 600 tokens, but --shape 1,32,2,64 takes at most 512\n"))

    def test_the_sizes_of_random_weights(self):
        done = subprocess.run([self.bin / self.tool, "--shape", "1,32,2,65536", "--runs", "1", "--json", "1x2"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(read_lines(done.stdout)[0]["model"], "bert L=1 H=32 A=2 I=65536 V=30522")

    def test_random_weights_leave_nothing_behind(self):
        scratch = self.dir / "scratch"
        scratch.mkdir()
        # They need no model, not even the demo model: a copy in a folder without one runs.
        alone = shutil.copy(self.bin / self.tool, self.dir)
        done = subprocess.run([alone, "--shape", "tiny", "--json", "2x9"],
                              env={**os.environ, "TMPDIR": str(scratch)}, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        [row] = read_lines(done.stdout)
        self.assertEqual((row["tokens"], row["model"]), (18, "bert L=2 H=128 A=2 I=512 V=30522"))
        self.assertEqual((list(scratch.iterdir()), done.stderr), ([], ""))
        done = subprocess.run([alone, "1x1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "no demo model is installed")
        done = subprocess.run([self.bin / self.tool, "--shape", "1,32,2,64", "1x1"],
                              env={**os.environ, "TMPDIR": str(scratch / "no")}, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^bert-bench: the random model cannot be written .*: No such file")
        done = subprocess.run([self.bin / self.tool, "--shape", "tiny", "1x1"], capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6)))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^bert-bench: the random model cannot be written .*: File too large")

    def test_what_it_refuses(self):
        for shape in ["", "x", "0x5", "1x", "lengths:", "lengths:3,,4", "2x-1", "1e3x2", "5x5x5", "5", "1000001x1"]:
            self.fail_with(2, "shape '", shape)
        # Refused before the inputs are made, which would take gigabytes.
        self.fail_with(1, "shape '1000000x65': 65 tokens, but .* takes at most 64", "1x64", "1000000x65")
        self.fail_with(1, "shape 'lengths:3,65': 65 tokens, but .* takes at most 64", "lengths:3,65")
        self.fail_with(1, "'': not a directory", "-m", "", "1x1")
        self.fail_with(2, "SHAPE")
        self.fail_with(2, "--shape", "--shape", "tiny", "1x1")  # together with the -m that the test adds
        for shape in ["", "5", "1,2,3", "a,b,c,d", "1,2,3,4,5", "1,16,3,4", "0,16,2,4"]:
            done = subprocess.run([self.bin / self.tool, "--shape", shape, "1x1"],
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stdout), (2, ""), shape)
            self.assertRegex(done.stderr, "^bert-bench: --shape is '")

    def test_a_model_without_a_head_has_no_logits(self):
        encoder = self.make_model("encoder", "--head", "none")
        self.fail_with(1, "no classification head", "-m", encoder, "--task", "logits", "1x3")

    def test_families_of_one_segment_or_none(self):
        for family in ("xlm-roberta", "distilbert", "jina-v3"):
            with self.subTest(family):
                model = self.make_model(family, "--family", family, "--head", "none")
                config = json.loads((model / "config.json").read_text())
                (model / "config.json").write_text(json.dumps(config | {"nobody_knows": 3}))
                done = self.run_tool("--json", "--profile", "--runs", 1, "-m", model, "1x9")
                self.assertEqual(read_lines(done.stdout)[0]["tokens"], 9)
                self.assertRegex(done.stderr, "note: .*nobody_knows")

    def test_help_names_every_option(self):
        text = self.succeed("--help")
        for word in ["--model", "--shape", "--task", "--precision", "--backend", "--compare", "--threads", "--runs",
                     "--profile", "--json", "--version", "lengths:"]:
            self.assertIn(word, text)


if __name__ == "__main__":
    main()
