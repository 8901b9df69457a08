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
from pathlib import Path

import numpy as np

from inferring import InferTest, main
from tensor_file import TensorFile, write_tensors

NAMES = ["index.html", "metadata.tsv", "vectors.tsv"]


def write_adapter(folder):
    """As PEFT does."""
    (folder / "adapter_config.json").write_text(json.dumps(
        {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["query"]}))
    stem = "base_model.model.bert.encoder.layer.0.attention.self.query.lora_"
    write_tensors(folder / "adapter_model.safetensors",
                  {f"{stem}A.weight": np.ones((2, 16), np.float32), f"{stem}B.weight": np.ones((16, 2), np.float32)},
                  {"format": "pt"})


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

    def test_a_name_that_is_taken(self):
        """No file gets its name then."""
        process = subprocess.Popen(self.command(*self.arguments), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"a man\n")
        process.stdin.flush()
        while not (self.folder / "index.html.partial").exists():  # opened last, once its name was found free
            time.sleep(0.01)
        (self.folder / "index.html").unlink()
        (self.folder / "index.html" / "taken").mkdir(parents=True)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(errors, b"index.html: cannot be replaced: Is a directory; the answers so far are in "
                                 b".*vectors.tsv.partial")
        for name in "metadata.tsv", "vectors.tsv":
            self.assertEqual((self.folder / name).read_text(), "yesterday's")
            self.assertTrue((self.folder / f"{name}.partial").stat().st_size)

    def test_a_full_disk_and_another_error(self):
        lines = '{"first": "a man"}\n' * 380 + '{"ids": [99999999]}\n'
        out = self.dir / "two-errors.jsonl"
        self.fail_with(1, "<stdin>:381: id 99999999 is not in the vocabulary.*; the answers so far are in ",
                       "--task", "tokens", "--input-format", "jsonl", "-o", out, stdin=lines,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (70000, 70000)))
        kept = Path(f"{out}.partial").read_text()
        self.assertGreater(len([json.loads(line) for line in kept.splitlines()]), 300)

    def test_a_full_disk_that_the_files_share(self):
        """Of which nothing is left for the texts of the last vectors."""
        disk, kept = self.dir / "disk", self.dir / "kept"
        disk.mkdir()
        kept.mkdir()
        command = self.command("--task", "embed", "-i", self.write("many.txt", "a man\n" * 20000), "--projector", disk)
        script = ('mount -t tmpfs -o size=512k tmpfs "$0" || exit 77; "${@:2}"; status=$?; '
                  'cp "$0"/*.partial "$1"; exit $status')
        done = subprocess.run(["unshare", "-rm", "bash", "-c", script, disk, kept, *command], capture_output=True,
                              text=True, timeout=120)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("no disk can be made")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "No space left on device; the answers so far are in .*vectors.tsv.partial")
        self.assertEqual(sorted(path.name for path in kept.iterdir()), ["metadata.tsv.partial", "vectors.tsv.partial"])
        vectors = (kept / "vectors.tsv.partial").read_text()
        texts = (kept / "metadata.tsv.partial").read_text()
        self.assertEqual(texts, "index\ttext\n" + "".join(f"{i}\ta man\n" for i in range(vectors.count("\n"))))
        self.assertGreater(len(vectors), 300000)
        self.assertTrue(vectors.endswith("\n"))


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
        for read in corpus, model / "config.json":  # which the shell adds to
            before = read.read_bytes()
            with read.open("ab") as output:
                self.fail_with(1, "/dev/stdout: is both the input and the output", "-m", model, "--task", "search",
                               "--corpus", corpus, "a", stdout=output)
            self.assertEqual(read.read_bytes(), before)

    def test_inputs_in_the_folder_of_the_projector(self):
        (self.dir / "folder").mkdir()
        for name in "vectors.tsv", "metadata.tsv", "index.html":
            path = self.write(f"folder/{name}", "a man\n")
            self.refused(path, "--task", "embed", "-i", path, "--input-format", "tsv", "--projector",
                         "folder")

    def test_the_files_of_the_model(self):
        for name in "config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors":
            self.refused(self.model / name, "-o", self.model / name, "--output-format", "jsonl", "a")
        model = self.make_model("colbert")
        for name in ("artifact.metadata", "linear.pt", "bpe.codes", "idf.json", "spiece.spm", "notes.md",
                     "chat_template.jinja", "2_Dense/pytorch_model.bin", "openvino_model.xml"):
            (model / name).parent.mkdir(exist_ok=True)
            self.write(f"colbert/{name}", "the model's")
            self.refused(model / name, "-m", model, "-o", model / name, "--output-format", "jsonl", "a")
        weights = model / "model.safetensors"
        (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": dict.fromkeys(
            TensorFile(weights).entries, "part.safetensors")}))
        weights = weights.rename(model / "part.safetensors")
        self.refused(weights, "-m", model, "-o", weights, "a")
        # A folder like any other: of its own results, a run knows the names.
        for name in "answers.jsonl", "answers.tsv", "answers.npy", "answers.safetensors", "new/x.jsonl":
            (model / name).parent.mkdir(exist_ok=True)
            for _ in range(2):
                self.succeed("-m", model, "-o", model / name, "a")
        for _ in range(2):
            self.succeed("-m", model, "--task", "embed", "--projector", model / "new", "a")

    def test_the_files_of_an_adapter(self):
        (self.dir / "lora").mkdir()
        (self.model / "own").mkdir()
        for folder, name in (self.dir / "lora", "lora"), (self.model / "own", "own"):
            write_adapter(folder)
            self.succeed("--adapter", name, "-o", folder / "answers.jsonl", "a", cwd=self.dir)
            for file in "adapter_config.json", "adapter_model.safetensors", "README.md":
                (folder / file).touch()
                self.refused(folder / file, "--adapter", name, "-o", folder / file, "--output-format", "jsonl", "a")

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
