#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's contract: options, input forms, output forms. Usage: bert_infer_test.py BIN_DIR"""
import json
import math
import os
import pty
import re

import numpy as np
from command_line import PAIR, ToolTest, floats, main, read_lines

from tensor_file import TensorFile, write_tensors


class InferTest(ToolTest):
    tool = "bert-infer"


class CommandLine(InferTest):
    def test_help_is_a_manual(self):
        text = self.succeed("--help")
        self.assertEqual(text, self.succeed("-h"))
        for option in ["-m, --model", "-i, --input", "--input-format", "-o, --output", "--task",
                       "--keep", "--on-error", "--top-k", "--threshold", "--labels",
                       "--hypothesis", "--multi-label", "--query", "--corpus", "--truncate-dim", "--normalize", "--quiet",
                       "--output-format", "--precision", "--workers", "--threads", "--batch-tokens", "--max-length", "--version",
                       "--help", "Examples", "Exit status"]:
            self.assertIn(option, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_examples_of_the_manual_run(self):
        examples = self.succeed("--help").split("\nExamples\n")[1].splitlines()
        self.assertGreater(len(examples), 3)
        self.write("texts.tsv", "a man\n")
        self.write("pairs.tsv", "a man\ta dog\n")
        for name in "passages.txt", "sentences.txt":
            self.write(name, "a man\na dog\n")
        reranker = self.make_model("reranker", "--labels", "1")
        environment = os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        for example in examples:
            model = reranker if "--task rank" in example else self.model
            line = re.sub(r"-m DIR\b", f"-m '{model}'", example)
            self.assertEqual(os.spawnvpe(os.P_WAIT, "bash", [
                "bash", "-o", "pipefail", "-c", f"cd '{self.dir}' && ( {line} ) >out.txt 2>err.txt"],
                environment), 0, line)

    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"^bert-infer \d+\.\d+\.\d+\noneDNN ")

    def test_wrong_usage_exits_2(self):
        for arguments, pattern in [
            (["--frobnicate"], "--frobnicate"),
            (["a", "b", "c"], "3 texts are given, expected one or two"),
            (["--threads", "0", "a"], "--threads: '0', expected a whole number from 1 to 1024"),
            (["--threads", "two", "a"], "--threads: 'two', expected a whole number"),
            (["--max-length", "0x5", "a"], "--max-length: '0x5', expected a whole number"),
            (["--max-length=", "5", "a"], "--max-length= has no value"),
            (["--precision", "f16", "a"], "--precision: f16"),
            (["--task", "classify", "a"], "--task: classify"),
            (["--input-format", "xml", "-i", "-"], "--input-format: xml"),
            (["-i", "x.tsv", "a"], "--input and a text exclude each other"),
            (["--input-format", "tsv", "a"], "--input-format goes with --input"),
            (["-i", "x.doc"], r"x\.doc.*--input-format"),
            (["-o", "x.bin", "a"], r"x\.bin: unknown ending"),
            (["-o", "x.npy", "--task", "hidden", "a"], "x.npy cannot hold .* --task hidden"),
            (["-o", "x.tsv", "--task", "hidden", "a"], "x.tsv cannot hold .* --task hidden"),
            (["-o", "x.tsv", "--task", "tokens", "a"], "x.tsv cannot hold .* --task tokens"),
            (["-o", "x.npy", "--task", "tokens", "a"], "x.npy cannot hold .* --task tokens"),
            (["-o", "x.safetensors", "--task", "tokens", "a"], "cannot hold .* --task tokens"),
            (["-m"], "--model"),
            (["--task", "hidden", "--layers", "", "a"], "--layers"),
            (["--task", "tokens", "--prompt", "query", "a"], "--prompt goes with"),
        ]:
            with self.subTest(arguments):
                done = self.fail_with(2, pattern, *arguments, cwd=self.dir)
                self.assertEqual(done.stdout, "")
                self.assertFalse(list(self.dir.glob("x.*")))

    def test_nothing_to_read_on_a_terminal_prints_the_manual(self):
        terminal, end = pty.openpty()
        done = self.run_tool(stdin_file=end)
        os.close(terminal)
        os.close(end)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, self.succeed("--help"))

    def test_failures_exit_1(self):
        self.write("in.tsv", "a man\n")
        for arguments, pattern in [
            (["-m", "nowhere", "a"], "nowhere"),
            (["-m", "", "a"], "'': not a directory"),
            (["--task", "hidden", "--layers", "77", "-i", "/dev/null", "--input-format", "tsv"],
             "^bert-infer: layer 77 of the hidden states"),
            (["-i", "nowhere.tsv"], "nowhere.tsv: .*No such file"),
            (["-i", ".", "--input-format", "tsv"], r"\.: is a directory"),
            (["-o", "nowhere/x.jsonl", "a"], "nowhere/x.jsonl: .*No such file"),
            (["-i", "in.tsv", "-o", "in.tsv"], "in.tsv: is both"),
            (["--max-length", "65", "a"], "max_length is 65.* 64 positions"),
            (["--max-length", "2", "a", "b"], "2"),
            (["-m", self.make_model("plain", "--head", "none"), "--task", "logits", "a"],
             "BertModel has no head, expected one for --task logits"),
            ([b"a \xff"], "UTF-8.*2"),
        ]:
            with self.subTest(arguments):
                arguments = [os.fsdecode(argument) for argument in arguments]
                self.fail_with(1, pattern, *arguments, cwd=self.dir)
        self.assertEqual((self.dir / "in.tsv").read_text(), "a man\n")

    def test_a_pair_prints_a_line_to_read(self):
        answer = self.answers("-o", "-", *PAIR)[0]
        line = self.text(*PAIR)
        self.assertEqual(line.count("\n"), 1)
        self.assertTrue(line.startswith(f"{answer['label']} {answer['probability']:.4f}"), line)
        exponents = np.exp(np.array(answer["logits"]) - max(answer["logits"]))
        for label, probability in zip(["yes", "no", "maybe"], exponents / exponents.sum()):
            shown = float(re.search(rf"[\[ ]{label} ([0-9.]+)[,\]]", line)[1])
            self.assertAlmostEqual(shown, probability, delta=6e-5)
        self.assertIn(f"({answer['tokens']} tokens)", line)
        self.assertIn("(10 tokens, truncated)", self.text("--max-length", "010", *PAIR))

    def test_a_text_to_read_for_every_task(self):
        vector = self.answers("-o", "-", "--task", "embed", "a man")[0]["embedding"]
        line = self.text("--task", "embed", "a man")
        length = np.linalg.norm(vector)
        self.assertIn(f"16 numbers of length {length:.4f}: [{vector[0]:.4f}, ", line)
        state = self.answers("-o", "-", "--task", "hidden", "a man")[0]["hidden"][0]
        self.assertIn(f"{state[0]:.4f}, {state[1]:.4f}", self.text("--task", "hidden", "a man"))

    def test_texts_of_every_kind(self):
        for tokens, *texts in (2, ""), (5, "", "a man"), (4, "--", "-5"), (5, "[ ]", ""):
            self.assertIn(f"({tokens} tokens)", self.text(*texts))
            self.assertEqual(self.answers(*texts)[0]["tokens"], tokens)

    def test_closed_standard_streams(self):
        # Files opened later must not get their numbers.
        bad = "Bad file descriptor"
        self.fail_with(1, f"<stdin>: .*{bad}", preexec_fn=lambda: os.close(0))
        self.fail_with(1, f"standard output: .*{bad}", "a", preexec_fn=lambda: os.close(1))
        path = self.dir / "quiet.jsonl"
        self.run_tool("-i", "-", "-o", path, stdin="a\nb\n", preexec_fn=lambda: os.close(2))
        self.assertEqual([answer["index"] for answer in read_lines(path.read_text())], [0, 1])


class Inputs(InferTest):
    def test_a_pair_in_every_form_gives_equal_logits(self):
        tokens = self.answers("--task", "tokens", "-o", "-", *PAIR)[0]
        ids = {"ids": tokens["ids"], "type_ids": tokens["type_ids"]}
        self.assertIn(1, tokens["type_ids"])
        given = {
            "arguments": self.answers("-o", "-", *PAIR),
            "tsv": self.answers("-i", self.write("p.tsv", "\t".join(PAIR))),
            "crlf": self.answers("-i", self.write("c.tsv", "\t".join(PAIR) + "\r\n")),
            "pipe": self.answers(stdin="\t".join(PAIR) + "\n"),
            "jsonl": self.answers("-i", self.write(
                "p.jsonl", json.dumps(dict(zip(["second", "first"], reversed(PAIR)))))),
            "ids": self.answers("--input-format", "jsonl", stdin=json.dumps(ids)),
        }
        for form, answers in given.items():
            self.assertEqual(answers, given["arguments"], form)

    def test_type_ids_are_0_where_left_out(self):
        lines = '{"ids": [5, 6, 7]}\n{"ids": [5, 6, 7], "type_ids": [0, 0, 0]}\n' \
                '{"ids": [5, 6, 7], "type_ids": [0, 0, 1]}\n'
        default, zeros, other = self.answers("--input-format", "jsonl", stdin=lines)
        self.assertEqual(default["logits"], zeros["logits"])
        self.assertNotEqual(default["logits"], other["logits"])

    def test_bad_lines_stop_after_the_lines_before(self):
        reasons = {
            "tsv": [("", "line is empty"), ("\r", "line is empty"), ("a\tb\tc", "more than two"),
                    (b"a \xff", "UTF-8.*2"), (b"a\t\xed\xa0\x80", "UTF-8")],
            "jsonl": [
                ("", "line is empty"), ("  ", "line is empty"), ("a man", "not JSON at byte"),
                ('{"first": "a"', "not JSON at byte"), ('{"first": "a"} {}', "not JSON at byte"),
                (b'{"first": "\xff"}', "not JSON at byte.*UTF-8"),
                (r'{"first": "\ud800"}', "not JSON at byte.*surrogate"),
                ('{"first": "a"}\0{"second": "b"', "not JSON at byte 14: the byte is 0"),
                ("[1]", "found an array, expected a JSON object"), ("null", "found null"),
                ("{}", 'neither "first" nor "ids"'),
                ('{"second": "a"}', 'neither "first" nor "ids"'),
                ('{"first": 1}', '"first" is 1, expected a string'),
                ('{"first": null}', '"first" is null'), ('{"first": ["a"]}', '"first" is an array'),
                ('{"first": "a", "second": true}', '"second" is true'),
                ('{"first": "a", "third": "b"}', 'unknown key "third"'),
                ('{"first": "a", "first": "b"}', '"first" is given twice'),
                ('{"first": "a", "ids": [5]}', 'both "first" and "ids"'),
                ('{"first": "a", "type_ids": [0]}', '"type_ids" goes with "ids"'),
                ('{"ids": [5], "second": "a"}', '"second" goes with "first"'),
                ('{"ids": 5}', '"ids" is 5'), ('{"ids": "5"}', '"ids" is a string'),
                ('{"ids": []}', '"ids" is empty'), ('{"ids": [5, "6"]}', '"ids" holds a string'),
                ('{"ids": [5.0]}', r'"ids" holds 5\.0'), ('{"ids": [[5]]}', '"ids" holds an array'),
                ('{"ids": [-1]}', '"ids" holds -1'),
                ('{"ids": [4294967296]}', '"ids" holds 4294967296'),
                ('{"ids": [1e999]}', "not JSON at byte"), ("[" * 1000000, "found an array"),
                ('{"ids": [5, 6], "type_ids": [0]}', '"type_ids" holds 1 numbers, expected 2'),
                ('{"ids": [5, 200]}', r"ids\[1\] is 200"),
                ('{"ids": [5, 6], "type_ids": [0, 2]}', r"type_ids\[1\] is 2"),
                (f'{{"ids": {[5] * 65}}}', "65 tokens, but the model has 64 positions"),
            ]}
        good = {"tsv": "a\na\tb", "jsonl": '{"first": "a"}\n{"first": "a", "second": "b"}'}
        for form, cases in reasons.items():
            before = self.answers("--input-format", form, stdin=good[form])
            for line, reason in cases:
                with self.subTest(line[:80], form=form):
                    line = line if isinstance(line, bytes) else line.encode()
                    stdin = good[form].encode() + b"\n" + line + b"\n" + good[form].encode()
                    done = self.fail_with(1, f"^bert-infer: <stdin>:3: .*{reason}",
                                          "--input-format", form, stdin=stdin)
                    self.assertEqual(read_lines(done.stdout), before)

    def test_a_bad_line_is_named_with_its_file(self):
        path = self.write("bad.tsv", "a\n\nb\n")
        self.fail_with(1, re.escape(f"{path}:2: "), "-i", path)

    def test_ids_are_not_truncated(self):
        self.fail_with(1, ":1: .*holds 5 ids, expected at most 4", "--input-format",
                       "jsonl", "--max-length", "4", stdin='{"ids": [5, 6, 7, 8, 9]}')

    def test_no_lines(self):
        self.assertEqual(self.succeed(stdin=""), "")

    def test_options_that_must_not_change_a_result(self):
        lines = "".join(f"{'a dog ' * (i * 7 % 23)}\tmusic\n" for i in range(200))
        expected = self.succeed(stdin=lines)
        self.assertEqual(len(expected.splitlines()), 200)
        for options in [["--threads", 1], ["--threads", 2], ["--batch-tokens", 1],
                        ["--workers", 3], ["--workers", 2, "--threads", 2],
                        ["--batch-tokens", 100], ["--precision", "f32"], ["-i", "-"]]:
            self.assertEqual(self.succeed(*options, stdin=lines), expected, options)


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
        self.fail_with(1, f"<stdin>:2: the model of {path} answers nan", "-m", model,
                       "--input-format", "jsonl", "-o", npy, stdin=lines)
        found = np.load(f"{npy}.partial")
        self.assertEqual(np.isfinite(found).all(1).tolist(), [True])


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
