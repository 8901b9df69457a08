#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's output forms, and what of the answers they hold. Usage: outputs_test.py BIN_DIR"""
import json
import math
import os
import select
import signal
import subprocess
import time

import numpy as np
from inferring import InferTest, floats, main
from tensor_file import TensorFile, write_tensors


class Outputs(InferTest):
    lines = "".join(f"{'a man is walking ' * i}\ttwo dogs\n" for i in range(20))

    def run_to(self, name: str, *options):
        path = self.dir / name
        path.write_bytes(b"x" * 100000)  # must be overwritten
        self.assertEqual(self.succeed("-o", path, *options, stdin=self.lines), "")
        return path

    @staticmethod
    def table(path) -> list[list[str]]:
        return [line.split("\t") for line in path.read_text().splitlines()]

    def test_json_lines_of_logits(self):
        answers = self.answers(stdin=self.lines)
        for i, answer in enumerate(answers):
            self.assertEqual(list(answer), ["index", "logits", "label", "probability", "tokens",
                                            "truncated"])
            tokens = 4 * i + 5
            self.assertEqual((answer["index"], answer["tokens"], answer["truncated"]),
                             (i, min(tokens, 64), tokens > 64))
            exponents = np.exp(np.array(answer["logits"]) - max(answer["logits"]))
            best = int(np.argmax(answer["logits"]))
            self.assertEqual(answer["label"], ["yes", "no", "maybe"][best])
            self.assertAlmostEqual(answer["probability"], exponents[best] / exponents.sum(), 6)
        self.assertEqual(self.run_to("a.jsonl").read_text(),
                         self.succeed(stdin=self.lines))

    def test_binary_and_tabular_files_hold_the_same_bits(self):
        for task, key, columns in [("logits", "logits", 3), ("embed", "embedding", 16)]:
            expected = floats([answer[key] for answer in self.answers(
                "--task", task, stdin=self.lines)])
            self.assertEqual(expected.shape, (20, columns))
            options = ["--task", task]
            path = self.run_to("a.npy", *options)
            np.testing.assert_array_equal(np.load(path), expected)
            self.assertEqual(path.read_bytes()[127:128], b"\n")  # which NumPy does not check
            tensors = TensorFile(self.run_to("a.safetensors", *options))
            self.assertEqual(list(tensors.entries), [key])
            np.testing.assert_array_equal(tensors.read(key), expected)
            table = self.table(self.run_to("a.tsv", *options))
            values = [[float(field) for field in row[-columns:]] for row in table[1:]]
            np.testing.assert_array_equal(floats(values), expected)
            self.assertEqual([row[0] for row in table], ["index", *map(str, range(20))])

    def test_half_a_record_holds_up_no_answers(self):
        process = subprocess.Popen(self.command("--input-format", "csv", "-q"), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        with process:
            for index, text in enumerate((b'first\na\n"b\n""', b'\nc"\n"d\n', b'e,"\n')):
                process.stdin.write(text)
                process.stdin.flush()
                self.assertTrue(select.select([process.stdout], [], [], 20)[0], text)
                self.assertEqual(json.loads(process.stdout.readline())["index"], index)
            process.stdin.close()
        self.assertEqual(process.returncode, 0)

    def test_tsv_names_the_labels(self):
        head, *rows = self.table(self.run_to("b.tsv"))
        self.assertEqual(head, ["index", "label", "probability", "yes", "no", "maybe"])
        for row, answer in zip(rows, self.answers(stdin=self.lines)):
            self.assertEqual(row[1:3], [answer["label"], str(np.float32(answer["probability"]))])

    def test_hidden(self):
        answers = self.answers("--task", "hidden", stdin=self.lines)
        tensors = TensorFile(self.run_to("h.safetensors", "--task", "hidden"))
        starts, hidden = tensors.read("starts"), tensors.read("hidden")
        self.assertEqual((len(starts), starts[-1]), (21, len(hidden)))
        for i, answer in enumerate(answers):
            self.assertEqual(list(answer), ["index", "hidden", "pooler", "tokens", "truncated"])
            np.testing.assert_array_equal(floats(answer["hidden"]), hidden[starts[i]:starts[i + 1]])
            self.assertEqual(np.shape(answer["hidden"]), (answer["tokens"], 16))
            self.assertEqual(len(answer["pooler"]), 16)
            # Without a pooling configuration, an embedding is the mean over the tokens.
            np.testing.assert_allclose(
                np.mean(answer["hidden"], 0), self.mean_embeddings()[i], atol=1e-5)

    def mean_embeddings(self):
        return [answer["embedding"]
                for answer in self.answers("--task", "embed", stdin=self.lines)]

    def test_what_the_head_decides(self):
        plain = self.make_model("none", "--head", "none", "--no-pooler")
        self.assertEqual(list(self.answers("-m", plain, "-o", "-", "a")[0]),
                         ["index", "embedding", "tokens", "truncated"])
        self.assertNotIn("pooler", self.answers("-m", plain, "--task", "hidden", "-o", "-", "a")[0])
        one = self.make_model("one", "--labels", "1", "--label-names", "relevant")
        answer = self.answers("-m", one, "-o", "-", "a")[0]
        self.assertEqual(answer["label"], "relevant")
        self.assertAlmostEqual(answer["probability"], 1 / (1 + math.exp(-answer["logits"][0])), 6)
        self.assertRegex(self.text("-m", one, "a"), r"^relevant 0\.\d{4}  \(3 tokens\)\n$")
        raw = self.make_model("raw", "--labels", "1", "--label-names", "similarity",
                              "--problem-type", "regression")
        self.assertEqual(list(self.answers("-m", raw, "-o", "-", "a")[0]),
                         ["index", "logits", "tokens", "truncated"])
        path = self.dir / "raw.tsv"
        self.succeed("-m", raw, "-o", path, "a")
        self.assertEqual(self.table(path)[0], ["index", "similarity"])
        self.assertRegex(self.text("-m", raw, "a"), r"^similarity -?\d+\.\d{4}  \(3 tokens\)\n$")
        many = self.make_model("many", "--labels", "3", "--problem-type",
                               "multi_label_classification")
        answer = self.answers("-m", many, "-o", "-", "a")[0]
        self.assertAlmostEqual(answer["probability"], 1 / (1 + np.exp(-max(answer["logits"]))), 6)

    def test_labels_are_escaped(self):
        model = self.make_model("quote", "--labels", "2", "--label-names", 'a"b\\c,d\te\n')
        for answer in self.answers("-m", model, stdin=self.lines):
            self.assertIn(answer["label"], ['a"b\\c', "d\te\n"])
        path = self.dir / "quote.tsv"
        self.succeed("-m", model, "-o", path, "a")
        self.assertEqual(self.table(path)[0], ["index", "label", "probability", 'a"b\\c', "d e "])

    def test_no_inputs(self):
        for name, shape in [("e.npy", (0, 3)), ("e.safetensors", (0, 3))]:
            path = self.dir / name
            self.succeed("-o", path, stdin="")
            found = np.load(path) if name == "e.npy" else TensorFile(path).read("logits")
            self.assertEqual(found.shape, shape)

    def test_files_are_whole_after_a_bad_line(self):
        good = floats([answer["logits"] for answer in self.answers(stdin="a\nb\n")])
        for name in ["bad.npy", "bad.safetensors"]:
            path = self.dir / name
            self.fail_with(1, ":3: ", "-o", path, stdin="a\nb\n\na\n")
            path = self.dir / f"{name}.partial"
            found = np.load(path) if name == "bad.npy" else TensorFile(path).read("logits")
            np.testing.assert_array_equal(found, good)

    def test_nan_is_no_json(self):
        model = self.make_model("nan", "--head", "none")
        path = model / "model.safetensors"
        tensors = TensorFile(path)
        weights = {name: np.array(tensors.read(name)) for name in tensors.entries}
        name = next(name for name in weights if "word_embeddings" in name)
        weights[name][-1] = np.nan
        write_tensors(path, weights, {"format": "pt"})
        last = len(weights[name]) - 1
        lines = f'{{"ids": [5, 6]}}\n{{"ids": [5, {last}]}}\n'
        done = self.fail_with(1, "<stdin>:2: .*nan, expected finite", "-m", model, "--input-format",
                              "jsonl", stdin=lines)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        npy = self.dir / "nan.npy"
        self.fail_with(1, f"<stdin>:2: the model of {path} produced nan", "-m", model,
                       "--input-format", "jsonl", "-o", npy, stdin=lines)
        found = np.load(f"{npy}.partial")
        self.assertEqual(np.isfinite(found).all(1).tolist(), [True])


class Pipes(InferTest):
    def test_a_wait_for_the_other_end_of_a_pipe_ends_at_the_first_signal(self):
        pipe, part = self.dir / "pipe.jsonl", self.write("part.jsonl", '{"index": 0, "x": 1}\n')
        os.mkfifo(pipe)
        tool = [self.bin / self.tool, "merge", "-o"]
        for number in signal.SIGTERM, signal.SIGINT:
            for command in (self.command("-o", pipe, "a"), [*tool, pipe, part], [*tool, self.dir / "x.jsonl", pipe]):
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                time.sleep(1)  # by then it waits
                self.assertIsNone(process.poll())
                process.send_signal(number)
                try:
                    self.assertEqual((process.communicate(timeout=10)[1], process.returncode), (b"", -number))
                finally:
                    process.kill()

    def test_a_pipe_that_is_read_late(self):
        pipe = self.dir / "late.jsonl"
        os.mkfifo(pipe)
        process = subprocess.Popen(self.command("-o", pipe, "-q", "a"), stdin=subprocess.DEVNULL)
        time.sleep(0.5)
        self.assertEqual(pipe.read_text(), self.succeed("-o", "-", "a"))
        self.assertEqual(process.wait(60), 0)


class Tokens(InferTest):
    def setUp(self):
        self.files = self.dir / "tokenizer"
        self.files.mkdir(exist_ok=True)
        for name in ["vocab.txt", "tokenizer_config.json"]:
            self.write(f"tokenizer/{name}", (self.model / name).read_bytes())
        self.tokens = ["-m", self.files, "--task", "tokens"]

    def test_needs_only_the_tokenizer(self):
        answer = self.answers(*self.tokens, "-o", "-", "Plays, é", "MEN x")[0]
        self.assertEqual(list(answer),
                         ["index", "ids", "type_ids", "tokens", "offsets", "truncated"])
        self.assertEqual(answer["tokens"],
                         ["[CLS]", "plays", ",", "e", "[SEP]", "men", "x", "[SEP]"])
        self.assertEqual(answer["type_ids"], [0, 0, 0, 0, 0, 1, 1, 1])
        self.assertEqual(answer["offsets"],
                         [[0, 0], [0, 5], [5, 6], [7, 8], [0, 0], [0, 3], [4, 5], [0, 0]])
        vocabulary = (self.files / "vocab.txt").read_text().splitlines()
        self.assertEqual([vocabulary[i] for i in answer["ids"]], answer["tokens"])

    def test_ids_have_pieces_and_no_offsets(self):
        answer = self.answers(*self.tokens, "--input-format", "jsonl",
                              stdin='{"ids": [0, 199]}')[0]
        self.assertEqual(list(answer), ["index", "ids", "type_ids", "tokens", "truncated"])
        self.assertEqual(answer["tokens"][0], "[PAD]")
        self.fail_with(1, "<stdin>:2: .*200", *self.tokens, "--input-format",
                       "jsonl", stdin='{"ids": [5]}\n{"ids": [200]}\n')

    def test_max_length(self):
        answer = self.answers(*self.tokens, "--max-length", "4", "-o", "-",
                              "a b c")[0]
        self.assertEqual(answer["tokens"], ["[CLS]", "a", "b", "[SEP]"])
        self.assertIs(answer["truncated"], True)


if __name__ == "__main__":
    main()
