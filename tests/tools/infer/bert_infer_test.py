#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's contract: options and input forms. Usage: bert_infer_test.py BIN_DIR"""
import json
import os
import pty
import re
import resource
import struct
import subprocess
from pathlib import Path

import numpy as np
from inferring import PAIR, InferTest, main, read_lines, weight_files, write_span_model


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
        write_span_model(self.dir, "gliner")
        others = {"--task rank": self.make_model("reranker", "--labels", "1"),
                  "DIR --labels": self.dir / "gliner"}
        environment = os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        for example in examples:
            model = next((other for part, other in others.items() if part in example), self.model)
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
            (["-o", "x.jsonl", "--output-format", "npy", "--task", "tokens", "a"],
             "--output-format npy cannot hold .* --task tokens, JSON Lines can"),
            (["--output-format", "tsv", "--input-format", "jsonl", "--keep", "id"],
             "--keep needs JSON Lines as output, not --output-format tsv"),
            (["-m"], "--model"),
            (["--task", "hidden", "--layers", "", "a"], "--layers"),
            (["--adapter", "", "a"], "--adapter: the value is empty"),
            (["--prompt", "", "a"], "--prompt: the value is empty"),
            (["--html", "", "--task", "attention", "a"], "--html: the value is empty"),
            (["--projector", "", "--task", "embed", "a"], "--projector: the value is empty"),
            (["--task", "embed", "--task", "logits", "a"], r"--task is given more than once \("),
            (["a", "-o"], r"--output has no value \("),
            (["-i", "x.tsv", "a", "-x", "b", "-y"], r"not expected: -x -y \("),
            (["a"] * 40, r"40 texts are given, expected at most 32; --input takes more \("),
            (["-o", "x.safetensors", "--task", "hidden", "--layers", "1", "a"],
             "cannot hold the answers of --task hidden with --layers, JSON Lines can"),
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
        (self.dir / "folder.jsonl.partial").mkdir()
        for arguments, pattern in [
            (["-o", "folder.jsonl", "a"], r"folder.jsonl.partial: cannot be opened .*Is a directory"),
            (["-m", "nowhere", "a"], "nowhere"),
            (["-m", "", "a"], "'': not a directory"),
            (["--task", "hidden", "--layers", "77", "-i", "/dev/null", "--input-format", "tsv"],
             "^bert-infer: layer 77 of the hidden states"),
            (["-i", "nowhere.tsv"], "nowhere.tsv: .*No such file"),
            (["-i", ".", "--input-format", "tsv"], r"\.: is a directory"),
            (["-o", "nowhere/x.jsonl", "a"], "nowhere/x.jsonl: .*No such file"),
            (["-i", "in.tsv", "-o", "in.tsv"], "in.tsv: is both"),
            (["--max-length", "65", "a"], "max_length is 65.* 64 positions"),
            (["--max-length", "2", "a", "b"], "bert-infer: --max-length: found 2, expected at least 3"),
            (["-m", self.make_model("plain", "--head", "none"), "--task", "logits", "a"],
             "BertModel has no head, expected one for --task logits"),
            ([b"a \xff"], "the first text is not valid UTF-8 at byte 2"),
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


    def test_out_of_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

        one = ["--threads", "1", "--workers", "1"]
        if self.is_sanitized():
            self.skipTest("the program alone, with a sanitizer, takes more")
        path = self.dir / "memory.jsonl"
        lines = '{"first": "a"}\n' * 100 + '{"first": "%s"}\n' % ("a " * 30_000_000)
        for options in one, [*one, "--on-error", "skip"]:
            self.fail_with(1, f"out of memory; the answers so far are in {path}.partial$", *options,
                           "--input-format", "jsonl", "-o", path, preexec_fn=limit, stdin=lines)
            answers = read_lines((self.dir / "memory.jsonl.partial").read_text())
            self.assertEqual([answer.get("tokens") for answer in answers], [3] * 100)


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
                (r'{"first": "a", "t\u0000": "b"}', r'unknown key "t\\x00", expected first'),
                ('{"first": "a", "first": "b"}', '"first" is given twice'),
                ('{"first": "a", "ids": [5]}', 'both "first" and "ids"'),
                ('{"first": "a", "type_ids": [0]}', '"type_ids" goes with "ids"'),
                ('{"ids": [5], "second": "a"}', '"second" goes with "first"'),
                ('{"ids": 5}', '"ids" is 5'), ('{"ids": "5"}', '"ids" is a string'),
                ('{"ids": []}', '"ids" is empty'), ('{"ids": [5, "6"]}', '"ids" holds a string'),
                ('{"ids": [5.0]}', r'"ids" holds 5\.0'), ('{"ids": [[5]]}', '"ids" holds an array'),
                ('{"ids": [-1]}', '"ids" holds -1'),
                ('{"ids": [4294967296]}', '"ids" holds 4294967296'),
                ('{"ids": [1e999]}', '"ids" holds 1e999, expected integers from 0'), ("[" * 1000000, "found an array"),
                ('{"ids": [5, 6], "type_ids": [0]}', '"type_ids" holds 1 number, expected 2'),
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


class LongAndMany(InferTest):
    def test_a_long_line_is_skipped(self):
        long = b"b" * (65 << 20)
        for options, lines in [([], [b"a", long, b"a"]),
                               (["--input-format", "csv"], [b"first", b"a", b'"' + long + b'"', b"a"])]:
            done = self.run_tool("--on-error", "skip", *options, stdin=b"\n".join(lines))
            self.assertEqual(done.returncode, 0, done.stderr)
            first, skipped, last = read_lines(done.stdout)
            self.assertEqual(skipped, {"index": 1, "error": "the line is longer than 67108864 bytes",
                                       "line": len(lines) - 1})
            self.assertEqual(last, {**first, "index": 2})
            self.assertIn(": 2 inputs, 1 line skipped (", done.stderr)

    def test_a_long_record_costs_one_index(self):
        mega = b"b" * (1 << 20)
        for reason, record in [("the record", b'"a,""\n' + (mega + b"\n") * 70 + b'c,"'),
                               ("the record", b'"a\n' + mega * 65 + b'\n"",c\nd"'),
                               ("the line", b'"a,""' + mega * 65 + b'\nc\nd"'),
                               ("the line", mega * 65)]:
            lines = b"first\na\n" + record + b"\na\n"
            done = self.run_tool("--on-error", "skip", "--input-format", "csv", stdin=lines)
            self.assertEqual(done.returncode, 0, done.stderr)
            first, skipped, last = read_lines(done.stdout)
            self.assertEqual(skipped, {"index": 1, "error": f"{reason} is longer than 67108864 bytes", "line": 3})
            self.assertEqual(last, {**first, "index": 2})

    def test_lines_without_text_cost_no_call_of_the_tokenizer(self):
        """Which reads files of the system's, to count its processors."""
        process = subprocess.Popen(self.command("--input-format", "jsonl", "--on-error", "skip", "-q"),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        reads = []
        for count in 1, 2000:
            process.stdin.write(b'no JSON\n{"ids": [5]}\n' * count)
            process.stdin.flush()
            for _ in range(2 * count):
                self.assertTrue(process.stdout.readline())
            reads.append(int(Path(f"/proc/{process.pid}/io").read_text().split("syscr: ")[1].split()[0]))
        process.communicate(timeout=60)
        self.assertLess(reads[1] - reads[0], 2000)

    def test_weights_whose_sizes_lie(self):
        """A product that overflows gives TensorFlow's tensor -1 bytes, as its file may say it has. Where a zip's
        files overlap, checking all of them would take quadratic time."""
        model = self.make_model("lies", "--head", "none")
        (model / "model.safetensors").unlink()
        shape = b"".join(weight_files.field(2, weight_files.field(1, size)) for size in (1 << 62, 16))
        entry = (weight_files.field(1, 1) + weight_files.field(2, shape) + weight_files.field(5, (1 << 64) - 1)
                 + weight_files.varint(6 << 3 | 5) + bytes(4))
        index = [(b"", weight_files.field(1, 1) + weight_files.field(3, weight_files.field(1, 1))), (b"x", entry)]
        (model / "bert_model.ckpt.index").write_bytes(weight_files.table(index))
        (model / "bert_model.ckpt.data-00000-of-00001").write_bytes(bytes(64))
        self.fail_with(1, "tensor 'x' has -1 bytes, which is wrong for F32 of shape", "-m", model, "a")

        def local(name, size):
            return struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0, 0, size, size, len(name), 0) + name
        inner = local(b"a/data/1", 500) + bytes(500)
        files = local(b"a/data/0", len(inner)) + inner
        places = [(b"a/data/0", len(inner), 0), (b"a/data/1", 500, len(files) - len(inner))]
        directory = b"".join(
            struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, 0, 0, 0, 0, 0, size, size, len(name), 0, 0, 0, 0, 0,
                        at) + name for name, size, at in places)
        end = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 2, 2, len(directory), len(files), 0)
        (model / "pytorch_model.bin").write_bytes(files + directory + end)
        self.fail_with(1, "pytorch_model.bin: the archive's files overlap$", "-m", model, "a")


if __name__ == "__main__":
    main()
