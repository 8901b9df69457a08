#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What bert-infer reads, it does not overwrite, and of several files it writes all or none. Usage:
overwriting_test.py BIN_DIR"""
import json
import re
import resource
import signal
import subprocess
import time

import numpy as np

from inferring import InferTest, main

NAMES = ["index.html", "metadata.tsv", "vectors.tsv"]


class Projector(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lines = [f"a man {i}" for i in range(500)]

    def setUp(self):
        self.folder = self.dir / self.id()
        self.folder.mkdir()
        for name in NAMES:
            (self.folder / name).write_text("yesterday's")
        self.arguments = ["--task", "embed", "--projector", self.folder]

    def assert_old(self, partial: list[str]):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         sorted(NAMES + [f"{name}.partial" for name in partial]))
        for name in NAMES:
            self.assertEqual((self.folder / name).read_text(), "yesterday's")

    def rows(self, ending: str = "") -> list[int]:
        """How many texts vectors.tsv, metadata.tsv and index.html have."""
        page = (self.folder / f"index.html{ending}").read_text()
        points = re.search(r'"points":(\[.*?\])\}<', page, re.DOTALL)
        return [len((self.folder / f"vectors.tsv{ending}").read_text().splitlines()),
                len((self.folder / f"metadata.tsv{ending}").read_text().splitlines()) - 1,
                len(json.loads(points[1]))]

    def test_all_or_none(self):
        for lines in self.lines, []:
            self.succeed(*self.arguments, stdin="\n".join(lines))
            self.assertEqual(self.rows(), [len(lines)] * 3)
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), NAMES)

    def test_a_bad_line(self):
        self.fail_with(1, "<stdin>:1: the line is empty", *self.arguments, stdin="\na\n")
        self.assert_old([])
        self.fail_with(1, "<stdin>:3: the line is empty; the answers so far are in .*vectors.tsv.partial",
                       *self.arguments, stdin="a\nb\n\nc\n")
        self.assert_old(NAMES)
        self.assertEqual(self.rows(".partial"), [2] * 3)

    def test_a_signal(self):
        for lines in "a man\n", "":
            process = subprocess.Popen(self.command(*self.arguments), stdin=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            process.stdin.write(lines.encode())
            process.stdin.flush()
            vectors, wanted = self.folder / "vectors.tsv.partial", len(lines)
            while not vectors.exists() or vectors.stat().st_size < wanted:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), -signal.SIGTERM)
            process.stdin.close()
            self.assert_old(NAMES if lines else [])
            for name in NAMES:
                (self.folder / f"{name}.partial").unlink(missing_ok=True)

    def test_a_full_disk(self):
        self.succeed(*self.arguments, stdin="\n".join(self.lines))
        sizes = {name: (self.folder / name).stat().st_size for name in NAMES}
        vectors = (self.folder / "vectors.tsv").read_text()
        self.assertLess(sizes["vectors.tsv"], sizes["index.html"])
        for limit, whole in (sizes["vectors.tsv"], True), (sizes["vectors.tsv"] // 2, False):
            self.setUp() if not self.folder.exists() else [
                (self.folder / name).write_text("yesterday's") for name in NAMES]
            self.fail_with(1, "File too large; the answers so far are in .*vectors.tsv.partial", *self.arguments,
                           stdin="\n".join(self.lines),
                           preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assert_old(["metadata.tsv", "vectors.tsv"])
            kept = (self.folder / "vectors.tsv.partial").read_text()
            self.assertTrue(vectors.startswith(kept) and kept.endswith("\n"))
            self.assertEqual(len((self.folder / "metadata.tsv.partial").read_text().splitlines()) - 1,
                             kept.count("\n"))
            self.assertEqual(kept == vectors, whole)


class Overwriting(InferTest):
    def test_what_is_added_to_a_file_is_no_binary_format(self):
        for name in "x.npy", "x.safetensors":
            path = self.write(name, "")
            form = ["--output-format", name.removeprefix("x."), "a man"]
            with path.open("ab") as end:
                self.fail_with(1, "standard output: would be added to", *form, stdout=end)
            path.write_text("before\n")
            with path.open("r+b") as file:
                file.seek(0, 2)
                self.fail_with(1, "standard output: would be added to", *form, stdout=file)
            with path.open("r+b") as file:  # of which more would be left at the end
                file.write(b"x" * 100000)
                file.seek(0)
                self.fail_with(1, "standard output: would be added to", *form, stdout=file)
            with path.open("wb") as file, open("/dev/null", "ab") as nothing:
                for output in file, nothing:
                    self.succeed(*form, stdout=output)
        self.assertEqual(np.load(self.dir / "x.npy").shape, (1, 3))

    def refused(self, path, *arguments, **options):
        """Expects that `path`, which the answers would overwrite, is named and keeps its bytes."""
        before = path.read_bytes()
        self.fail_with(1, f"{path.name}: is ", *arguments, cwd=self.dir, **options)
        self.assertEqual(path.read_bytes(), before)

    def test_the_answers_of_an_interrupted_run(self):
        part = self.write("x.tsv.partial", "a man\n")
        (self.dir / "link.tsv").symlink_to("x.tsv")
        for *options, output in ("x.tsv",), ("--resume", "x.tsv"), ("link.tsv",):
            if output == "link.tsv":
                self.write("x.tsv", "")
            self.refused(part, *options, "-i", part, "--input-format", "tsv", "-o", output)
            with part.open() as stdin:
                self.refused(part, *options, "-o", output, stdin_file=stdin)
        self.assertEqual((self.dir / "x.tsv").read_bytes(), b"")

    def test_the_corpus(self):
        model = self.make_model("encoder", "--head", "none")
        corpus = self.write("corpus.tsv", "a man\ntwo dogs\n")
        self.refused(corpus, "-m", model, "--task", "search", "--corpus", corpus, "-o", corpus.name,
                     "--output-format", "jsonl", "a")

    def test_inputs_in_the_folder_of_the_projector(self):
        (self.dir / "folder").mkdir()
        for name in "vectors.tsv", "metadata.tsv", "index.html":
            path = self.write(f"folder/{name}", "a man\n")
            self.refused(path, "--task", "embed", "-i", path, "--input-format", "tsv", "--projector",
                         "folder")

    def test_the_files_of_the_model(self):
        for name in "config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors":
            self.refused(self.model / name, "-o", self.model / name, "--output-format", "jsonl", "a")
        self.succeed("-o", self.model / "answers.jsonl", "a")  # a folder like any other

    def test_the_parts_of_a_merge(self):
        for shard in "0", "1":
            self.succeed("--shard", f"{shard}/2", "-o", self.dir / f"{shard}.jsonl", stdin="a\nb\n")
        parts = [self.dir / "0.jsonl", self.dir / "1.jsonl"]
        merged = self.write("merged.jsonl.partial", parts[1].read_bytes())
        for output, given in (parts[0], parts), (self.dir / "merged.jsonl", [parts[0], merged]):
            path = merged if merged in given else output
            self.refused(path, "merge", "-o", output, *given)

    def command(self, *arguments) -> list[str]:
        if arguments[:1] == ("merge",):
            return [str(self.bin / self.tool), *map(str, arguments)]
        return super().command(*arguments)


if __name__ == "__main__":
    main()
