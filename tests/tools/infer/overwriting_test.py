#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What bert-infer reads, it does not overwrite. Usage: overwriting_test.py BIN_DIR"""
from inferring import InferTest, main


class Overwriting(InferTest):
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
