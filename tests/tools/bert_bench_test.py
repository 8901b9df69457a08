#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rows that bert-bench prints and the shapes that it refuses. Usage: bert_bench_test.py BIN_DIR"""
import os
import shutil
import subprocess
import time

from command_line import ToolTest, main, read_lines


class BenchTest(ToolTest):
    tool = "bert-bench"

    def test_rows_add_up(self):
        shapes = ["1x5", "3x7", "lengths:2,31,9"]
        rows = self.answers("--json", "--profile", "--runs", 3, "--threads", 1, *shapes)
        self.assertEqual([row["shape"] for row in rows], shapes)
        self.assertEqual([(row["batch"], row["tokens"]) for row in rows], [(1, 5), (3, 21), (3, 42)])
        for row, lengths in zip(rows, [[5], [7] * 3, [2, 31, 9]]):
            self.assertEqual((row["precision"], row["threads"]), ("f32", 1))
            self.assertLessEqual(row["min_ms"], row["median_ms"])
            self.assertAlmostEqual(row["tokens_per_s"] * row["median_ms"] / 1e3, row["tokens"], 3)
            # 2 layers with H = 16 and I = 32: 4 H^2 + 2 H I weights, and attention over S^2 pairs.
            flops = sum(2 * (2 * (4 * 16 * 16 + 2 * 16 * 32) * s + 4 * 16 * s * s) for s in lengths)
            self.assertAlmostEqual(row["gflops"] * row["median_ms"] * 1e6 / flops, 1, 6)
            self.assertTrue(0 < row["peak_fraction"] < 1.1, row)
            self.assertEqual(list(row["profile_ms"]),
                             ["linear", "convert", "attention", "norm", "embedding", "rest"])
            self.assertGreaterEqual(min(row["profile_ms"].values()), 0, row)
            self.assertGreater(row["floor_ms"]["compute"], 0)
            self.assertGreater(row["floor_ms"]["weights"], 0)

    def test_each_precision(self):
        for precision in ["f32", "bf16", "int8"]:
            row, = self.answers("--json", "--runs", 3, "--precision", precision, "3x7")
            self.assertEqual(row["precision"], precision)
            self.assertTrue(0 < row["peak_fraction"] < 1.1, row)

    def test_both_backends_side_by_side(self):
        rows = self.answers("--json", "--runs", 3, "--compare", "3x7", "1x5")
        self.assertEqual([(row["shape"], row["backend"]) for row in rows],
                         [("3x7", "panels"), ("3x7", "onednn"), ("1x5", "panels"), ("1x5", "onednn")])
        self.assertRegex(rows[0]["product"], "^panels for ")
        self.assertRegex(rows[1]["product"], "^oneDNN [23]\\.")
        self.assertGreater(rows[0]["onednn_peak_gflops"], 0)
        self.assertGreater(rows[0]["multiply_add_peak_gflops"], 0)
        lines = self.succeed("--runs", 3, "--compare", "2x5").splitlines()
        self.assertEqual([line.split()[2] for line in lines[1:3]], ["panels", "onednn"])
        self.assertRegex(lines[3], r"^ +onednn / panels: \d+\.\d\d$")
        self.fail_with(2, "--backend", "--compare", "--backend", "panels", "1x1")

    def test_a_page_may_be_standard_output(self):
        page = self.succeed("--runs", 1, "--threads", 1, "--html", "-", "1x3").strip()
        self.assertRegex(page, "(?is)^<!doctype html>.*</html>$")
        self.fail_with(2, "--html - and --json exclude each other", "--html", "-", "--json", "1x3")

    def test_a_baseline_is_a_file_with_rows(self):
        self.fail_with(1, f"{self.dir}: is a directory, expected a file", "--baseline", self.dir, "1x3")
        self.fail_with(1, "empty: is empty, expected what --json wrote", "--baseline", self.write("empty", ""), "1x3")
        for option in "--baseline", "--html":
            self.fail_with(2, f"{option}: the value is empty", option, "", "1x3")

    def test_lists_name_their_values(self):
        self.fail_with(2, "--precision: 'f64', expected auto, f32, bf16 or int8", "--precision", "f32,f64", "1x3")
        self.fail_with(2, "--threads: '0', expected a whole number from 1 to 1024", "--threads", "1,0", "1x3")

    def test_logits_are_less_work(self):
        hidden, = self.answers("--json", "--runs", 3, "4x30")
        logits, = self.answers("--json", "--runs", 3, "--task", "logits", "4x30")
        work = [row["gflops"] * row["median_ms"] for row in (hidden, logits)]
        self.assertLess(work[1], work[0])

    def test_a_table_for_people(self):
        lines = self.succeed("--runs", 3, "2x5").splitlines()
        self.assertEqual(lines[0].split()[:3], ["shape", "type", "backend"])
        self.assertEqual(lines[1].split()[0], "2x5")

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

    def test_messages_do_not_name_the_temporary_directory(self):
        done = subprocess.run([self.bin / self.tool, "--shape", "1,32,2,64", "1x600"], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (
            1, "bert-bench: shape '1x600': 600 tokens, but --shape 1,32,2,64 takes at most 512\n"))

    def test_random_weights_leave_nothing_behind(self):
        scratch = self.dir / "scratch"
        scratch.mkdir()
        done = subprocess.run([self.bin / self.tool, "--shape", "1,32,2,64", "--json", "2x9"],
                              env={**os.environ, "TMPDIR": str(scratch)}, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_lines(done.stdout)[0]["tokens"], 18)
        self.assertEqual((list(scratch.iterdir()), done.stderr), ([], ""))
        # Random weights need no model, not even the demo model: a copy in a folder without one runs.
        alone = shutil.copy(self.bin / self.tool, self.dir)
        done = subprocess.run([alone, "--shape", "1,32,2,64", "1x1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([alone, "1x1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "no demo model is installed")
        done = subprocess.run([self.bin / self.tool, "--shape", "1,32,2,64", "1x1"],
                              env={**os.environ, "TMPDIR": str(scratch / "no")}, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^bert-bench: the random model cannot be written .*: No such file")

    def test_what_it_refuses(self):
        for shape in ["", "x", "0x5", "1x", "lengths:", "lengths:3,,4", "2x-1", "1e3x2", "5x5x5", "5", "1000001x1"]:
            self.fail_with(2, "shape '", shape)
        # Refused before the inputs are made, which would take gigabytes.
        self.fail_with(1, "shape '1000000x65': 65 tokens, but .* takes at most 64", "1x64", "1000000x65")
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
                row, = self.answers("--json", "--runs", 1, "-m", model, "1x9")
                self.assertEqual(row["tokens"], 9)

    def test_help_names_every_option(self):
        text = self.succeed("--help")
        for word in ["--model", "--shape", "--task", "--precision", "--backend", "--compare", "--threads", "--runs",
                     "--profile", "--json", "--version", "lengths:"]:
            self.assertIn(word, text)


if __name__ == "__main__":
    main()
