#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-bench's page, and changes since a baseline. Usage: bench_page_test.py BIN_DIR [--screenshots DIR]"""
import json
import math

from reporting import PageTest, main

SHAPE = "lengths:2,31,9"
OLD = {"shape": "1x5", "task": "hidden", "precision": "f32", "backend": "panels", "threads": 1, "median_ms": 1e-6,
       "median_interval_ms": [0.9e-6, 1.2e-6]}  # as earlier versions wrote it


def table_lines(row: dict, with_profile: bool) -> list[str]:
    """The row in the table for people."""
    shape = row["shape"] if len(row["shape"]) <= 16 else row["shape"][:13] + "..."
    lines = [f"{shape:<16} {row['precision']:>4} {row['backend']:>7} {row['threads']:>7} {row['batch']:>6} "
             f"{row['tokens']:>7} {row['median_ms']:>10.3f} {row['min_ms']:>10.3f} {row['tokens_per_s']:>9.0f} "
             f"{row['gflops']:>8.1f} {row['peak_fraction']:>6.3f}"]
    if with_profile:
        whole, floor = sum(row["profile_ms"].values()), row["floor_ms"]
        lines += [f"    {part:<10} {time:>10.3f} ms {100 * time / whole:>6.1f} %"
                  for part, time in row["profile_ms"].items()]
        peaks = [row["onednn_peak_gflops"], row["multiply_add_peak_gflops"]]
        lines += [f"    peak: {peaks[0]:.1f} GFLOP/s by oneDNN's matmul, {peaks[1]:.1f} by multiply-adds in registers",
                  f"    floor: {floor['compute']:.3f} ms to compute at {max(peaks):.1f} GFLOP/s, {floor['weights']:.3f}"
                  f" ms to read the weights at {floor['bandwidth_gb_per_s']:.1f} GB/s"]
    if "baseline" in row:
        change, interval = row["baseline"]["change"], row["baseline"]["change_interval"]
        ends = "({:+.1f} to {:+.1f} %)".format(*(100 * end for end in interval)) if interval else \
            "(too few runs for an interval)"
        lines.append(f"    change: {100 * change:+.1f} % {ends}")
    return lines


def lines_of(*rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


class BenchPage(PageTest):
    tool = "bert-bench"

    def test_the_page(self):
        path = self.dir / "bench.html"
        lines = self.succeed("--html", path, "--precision", "f32,int8", "--threads", "1,2", "--compare", SHAPE)
        self.assertEqual(lines.count("shape "), 1)
        found = self.read_page(path)
        expected = []
        for panels, onednn in zip(found["rows"][::2], found["rows"][1::2]):
            expected += table_lines(panels, False) + table_lines(onednn, False)  # a profile was not asked for
            expected.append(f"    onednn / panels: {panels['median_ms'] / onednn['median_ms']:.2f}")
        self.assertEqual(lines.splitlines()[1:], expected)
        self.assertEqual((found["model"], found["task"]), (str(self.model), "hidden"))
        self.assertEqual([(row["precision"], row["threads"], row["shape"], row["backend"]) for row in found["rows"]],
                         [(precision, threads, SHAPE, backend) for precision in ("f32", "int8") for threads in (1, 2)
                          for backend in ("panels", "onednn")])
        for row in found["rows"]:
            low, high = row["median_interval_ms"]
            self.assertTrue(low <= row["median_ms"] * 1.00001 and row["median_ms"] <= high * 1.00001, row)
            quantiles = row["quantiles_ms"]
            self.assertEqual((len(quantiles), quantiles), (41, sorted(quantiles)))
            self.assertAlmostEqual(quantiles[0] / row["min_ms"], 1, 4)
            self.assertGreater(row["floor_ms"]["compute"], 0)
            for key in "processor", "instruction_set":
                self.assertEqual(row[key], found["environment"][key])
        page = self.browse(path)
        for text in ("Throughput</h2>", "Distribution</h2>", "Profile and floor</h2>", "url(#hatch1)",
                     "The upright line is the floor"):
            self.shows(page, text)
        self.assertNotIn("Since the baseline", page)
        self.assertEqual(page.count("<title>linear: "), len(found["rows"]))

    def test_long_shapes(self):
        """A chart shows how they begin, a table all of them."""
        shape, path = "lengths:" + ",".join(map(str, range(1, 20))), self.dir / "long.html"
        self.succeed("--html", path, "--threads", "1", "--runs", "1", shape)
        page = self.browse(path)
        self.shows(page, ">lengths:1,2,3,4,5,6…  f32")
        self.assertNotIn(f">{shape}  f32  panels  1 thread</text>", page)
        self.shows(page, f'<th class="tight" scope="row">{shape}</th>')

    def test_a_baseline(self):
        path, fast = self.dir / "old.jsonl", self.dir / "bench_baseline.html"
        # The last row of a shape counts, if nothing else differs.
        others = [OLD | {"median_ms": 5.0} | other for other in (
            {"task": "logits"}, {"precision": "int8"}, {"backend": "onednn"}, {"threads": 2})]
        path.write_text(lines_of(OLD | {"median_ms": 5.0}, OLD, *others, OLD | {
            "shape": "2x5", "median_ms": 1e6, "median_interval_ms": [0.9e6, 1.2e6], "runs": 6}))
        arguments = ["--threads", 1, "--backend", "panels", "--baseline", path]
        done = self.run_tool(*arguments, "--json", "--html", fast, "1x5", "2x5", "3x5")
        self.assertEqual(done.stderr.splitlines(), [
            f"bert-bench: note: {path}: does not say of which model it is; it is taken to be the same",
            f"bert-bench: note: {path}: has no 3x5 (hidden, f32, panels, threads: 1), which is not compared"])
        now, faster, other = map(json.loads, done.stdout.splitlines())
        self.assertNotIn("baseline", other)
        self.assertLess(faster["baseline"]["change"], 0)
        self.assertIsNotNone(faster["baseline"]["change_interval"])
        found = now["baseline"]
        self.assertAlmostEqual(found["change"] / (now["median_ms"] / OLD["median_ms"] - 1), 1, 4)
        low, high = found["change_interval"]
        below, above = (math.log((1 + end) / (1 + found["change"])) for end in (low, high))
        median, before = now["median_ms"], OLD["median_ms"]
        self.assertAlmostEqual(above, math.hypot(math.log(now["median_interval_ms"][1] / median), math.log(1 / 0.9)), 3)
        self.assertAlmostEqual(-below, math.hypot(math.log(median / now["median_interval_ms"][0]), math.log(1.2)), 3)
        page = self.browse(fast)
        for text in ("slower", "faster", "not timed"):
            self.shows(page, text)
        self.assertNotIn("another processor", page)

        path.write_text(lines_of(now | {"model": "bert L=1 H=16 A=2 I=32 V=9"}, faster | {"instruction_set": "beads"},
                                 faster | {"processor": "Abacus", "shape": "256x512"}))
        model = self.make_model("long", "--positions", "512")  # of the same sizes
        done = self.run_tool("-m", model, *arguments, "--profile", "--runs", 1, "--html", fast, "1x5", "2x5", "256x512")
        self.assertEqual(done.stderr.splitlines(), [
            f"bert-bench: note: {path}: 1x5 (hidden, f32, panels, threads: 1) is of another model "
            f"(bert L=1 H=16 A=2 I=32 V=9, now {now['model']}) and not compared",
            f"bert-bench: note: {path}: was timed on another processor ({now['processor']}, beads)",
            f"bert-bench: note: {path}: was timed on another processor (Abacus, {now['instruction_set']})"])
        rows = self.read_page(fast)["rows"]
        self.assertEqual([row.get("baseline", {}).get("change_interval") is None for row in rows], [True, False, True])
        self.assertEqual(done.stdout.splitlines()[1:], [line for row in rows for line in table_lines(row, True)])
        page = self.browse(fast)
        for text in ("not timed", "on another processor: Abacus"):
            self.shows(page, text)
        self.assertEqual(page.count(">too few runs<"), 2)  # instead of the interval, and of a verdict

    def test_what_it_refuses(self):
        old = self.write("old.jsonl", lines_of(OLD))
        for arguments, code, pattern in [
            (["--precision", "f32,f32"], 2, "--precision: f32 is given twice"),
            (["--precision", "f32,"], 2, "--precision: '', expected auto, f32, bf16 or int8"),
            (["--threads", "1,x"], 2, "--threads: 'x', expected a whole number from 1 to 1024"),
            (["--baseline", "nowhere.jsonl"], 1, "nowhere.jsonl: cannot be read"),
            (["--baseline", self.write("bad.jsonl", '{"shape": "1x5"}\n')], 1,
             "bad.jsonl:1: has no task, which bert-bench --json writes"),
            (["--html", self.model / "model.safetensors"], 1, "model.safetensors"),
            (["--baseline", old, "--html", old], 1, "is both the input and the output"),
        ]:
            with self.subTest(pattern):
                self.fail_with(code, pattern, *arguments, "1x5")


if __name__ == "__main__":
    main()
