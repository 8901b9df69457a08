#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-bench's page, and changes since a baseline. Usage: bench_page_test.py BIN_DIR [--screenshots DIR]"""
import json
import math

from reporting import PageTest, main

SHAPES = ["1x5", "lengths:2,31,9"]


class BenchPage(PageTest):
    tool = "bert-bench"

    def test_the_page(self):
        path = self.dir / "bench.html"
        lines = self.succeed("--html", path, "--runs", 3, "--precision", "f32,int8", "--threads", "1,2", "--compare", *SHAPES)
        self.assertNotIn("floor", lines)  # which was not asked for
        self.assertEqual(lines.count("shape "), 1)
        found = self.read_page(path)
        self.assertEqual([(row["precision"], row["threads"], row["shape"], row["backend"]) for row in found["rows"]],
                         [(precision, threads, shape, backend) for precision in ("f32", "int8") for threads in (1, 2)
                          for shape in SHAPES for backend in ("panels", "onednn")])
        for row in found["rows"]:
            low, high = row["median_interval_ms"]
            self.assertTrue(low <= row["median_ms"] * 1.00001 and row["median_ms"] <= high * 1.00001, row)
            quantiles = row["quantiles_ms"]
            self.assertEqual((len(quantiles), quantiles), (41, sorted(quantiles)))
            self.assertAlmostEqual(quantiles[0] / row["min_ms"], 1, 4)
            self.assertGreater(row["floor_ms"]["compute"], 0)
        page = self.browse(path)
        for text in ("Throughput</h2>", "Distribution</h2>", "Profile and floor</h2>", "url(#hatch1)", "The upright line is the floor"):
            self.shows(page, text)
        self.assertNotIn("Since the baseline", page)
        self.assertEqual(page.count("<title>linear: "), len(found["rows"]))

    def test_a_baseline(self):
        old = self.succeed("--json", "--runs", 3, "--threads", 1, SHAPES[0])
        row = json.loads(old)
        slow = self.dir / "bench_baseline.html"
        for factor, change in ((1e-3, "slower"), (1e3, "faster")):
            before = row | {"median_ms": row["median_ms"] * factor,
                            "median_interval_ms": [value * factor for value in row["median_interval_ms"]]}
            path = self.write("old.jsonl", json.dumps(before) + "\n")
            now, other = self.answers("--json", "--runs", 3, "--threads", 1, "--baseline", path, "--html", slow, *SHAPES)
            self.assertNotIn("baseline", other)
            found = now["baseline"]
            self.assertAlmostEqual(found["change"] / (now["median_ms"] / before["median_ms"] - 1), 1, 4)
            low, high = found["change_interval"]
            self.assertTrue(low <= found["change"] <= high)
            ratio = 1 + found["change"]
            wanted = math.hypot(math.log(now["median_interval_ms"][1] / now["median_ms"]),
                                math.log(before["median_ms"] / before["median_interval_ms"][0]))
            self.assertAlmostEqual(math.log((1 + high) / ratio), wanted, 3)
            page = self.browse(slow)
            self.shows(page, change)
            self.shows(page, "not timed")
        lines = self.succeed("--runs", 3, "--threads", 1, "--baseline", path, SHAPES[0])
        self.assertRegex(lines, r"\n    change: -99\.\d % \(-\d+\.\d to [-+]\d+\.\d %\)\n")

    def test_what_it_refuses(self):
        old = self.write("old.jsonl", self.succeed("--json", "--runs", 1, "1x5"))
        for arguments, code, pattern in [
            (["--precision", "f32,f32"], 2, "--precision: f32 is given twice"),
            (["--precision", "f32,"], 2, "--precision: '', expected auto, f32, bf16 or int8"),
            (["--threads", "1,x"], 2, "--threads: 'x', expected a whole number from 1 to 1024"),
            (["--baseline", "nowhere.jsonl"], 1, "nowhere.jsonl: cannot be read"),
            (["--baseline", self.write("bad.jsonl", '{"shape": "1x5"}\n')], 1, "bad.jsonl:1: has no task, which bert-bench --json writes"),
            (["--html", self.model / "model.safetensors"], 1, "model.safetensors"),
            (["--baseline", old, "--html", old], 1, "is both the input and the output"),
        ]:
            with self.subTest(pattern):
                self.fail_with(code, pattern, *arguments, "1x5")


if __name__ == "__main__":
    main()
