#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's lines of input in every format, what is passed through and skipped, the shape of
answers, and what people see. Usage: lines_test.py BIN_DIR"""
import csv
import ctypes
import gzip
import io
import json
import os
import pty
import re
import subprocess
import time

import numpy as np

from inferring import PAIR, InferTest, floats, main, read_lines, read_to_end
from tensor_file import TensorFile


def zstd(data: bytes) -> bytes:
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    to = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(to, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return to.raw[:size]


class LinesTest(InferTest):
    def on_terminal(self, *arguments, **options) -> str:
        """What a person sees."""
        terminal, end = pty.openpty()
        done = subprocess.run(self.command(*arguments), stdout=end, stderr=end, timeout=120,
                              stdin=subprocess.DEVNULL, **options)
        os.close(end)
        text = read_to_end(terminal).decode()
        os.close(terminal)
        self.assertEqual(done.returncode, 0, text)
        return text.replace("\r\n", "\n")


class Formats(LinesTest):
    def test_blank_lines_at_the_end_do_not_matter(self):
        expected = self.succeed(stdin="a\nb\n")
        for end in "", "\n", "\n\n\n", "\r\n":
            self.assertEqual(self.succeed(stdin=f"a\nb\n{end}"), expected)
        lines = '{"first": "a"}\n{"first": "b"}\n'
        self.assertEqual(self.succeed("--input-format", "jsonl", stdin=lines + "\n  \n"), expected)
        self.assertEqual(self.succeed("--input-format", "txt", stdin="a\nb\n\n"), expected)
        self.assertEqual(self.succeed("--input-format", "csv", stdin="first\na\nb\n\n"), expected)
        self.fail_with(1, "<stdin>:2: the line is empty", stdin="a\n\n\nb\n")
        self.assertEqual(self.succeed(stdin="\n\n"), "")

    def test_a_second_text_may_be_null(self):
        lines = '{"first": "a", "second": null}\n{"first": "a"}\n{"first": "a", "second": ""}\n'
        null, absent, empty = self.answers("--input-format", "jsonl", stdin=lines)
        self.assertEqual(null["logits"], absent["logits"])
        self.assertNotEqual(null["logits"], empty["logits"])

    def test_csv(self):
        rows = [["a man", "a \"dog\", he said"], ["two\nlines, two", "é"], ["", "x"], ["a\ttab", ""]]
        text = io.StringIO()
        csv.writer(text).writerows([["first", "second"], *rows])
        expected = self.answers("--input-format", "jsonl", stdin="".join(
            json.dumps({"first": a, "second": b}) + "\n" for a, b in rows))
        path = self.write("rows.csv", "\ufeff" + text.getvalue())
        self.assertEqual(self.answers("-i", path), expected)
        swapped = "\n".join(["second,first", 'x,"a\nb"', "y,z"])
        self.assertEqual(self.answers("--input-format", "csv", stdin=swapped),
                         self.answers(stdin="a b\tx\nz\ty\n"))
        for lines, reason in [
            ("second\na\n", "1: the header names no column \"first\""),
            ("\nfirst\na\n", "1: the line is empty, expected a header"),
            ("first,label\na,b\n", "1: the header names a column \"label\", expected first or second"),
            ("first,first\n", "1: the header names the column \"first\" twice"),
            ("first\na,b\n", "2: 2 fields, expected 1 as in the header"),
            ("first\na \"b\" c\n", "2: field 1: a quote in a field that does not begin with one"),
            ("first\n\"a\"b\n", "2: field 1: something follows the closing quote"),
            ("first\na\n\"b\nc\n", "3: a quote is not closed"),
            ("first\n\"a\nb\"\n\n\nc\n", "4: the line is empty"),
        ]:
            self.fail_with(1, f"<stdin>:{re.escape(reason)}", "--input-format", "csv", stdin=lines)

    def test_a_stray_quote_in_a_csv_costs_its_line_alone(self):
        lines = ('\ufefffirst,second\nA"x,B\nC,D\nE"x,F\n"G ""g""\n,",H\n5" pipe,I\nJ,"K"L"\nM,N\n'
                 '"O ""o,P\n')
        done = self.run_tool("--input-format", "csv", "--on-error", "skip", stdin=lines)
        answers = read_lines(done.stdout)
        self.assertEqual([answer["index"] for answer in answers], list(range(8)))
        self.assertEqual([(answer["line"], answer["error"]) for answer in answers if "error" in answer], [
            *[(line, "field 1: a quote in a field that does not begin with one") for line in (2, 4, 7)],
            (8, "field 2: something follows the closing quote"), (10, "a quote is not closed")])
        self.assertEqual([answer for answer in answers if "error" not in answer],
                         [{**answer, "index": index} for answer, index in zip(self.answers(
                             "--input-format", "jsonl", stdin="".join(
                                 json.dumps({"first": a, "second": b}) + "\n"
                                 for a, b in [("C", "D"), ('G "g"\n,', "H"), ("M", "N")])), (1, 3, 6))])
        self.assertIn("3 inputs, 5 lines skipped", done.stderr)

    def test_csv_with_choices(self):
        model = self.make_model("choice", "--head", "choice")
        rows = "first,choice,choice\na man,plays,eats\n"
        self.assertEqual(self.answers("-m", model, "--input-format", "csv", stdin=rows),
                         self.answers("-m", model, stdin="a man\tplays\teats\n"))

    def test_txt(self):
        path, options = self.write("texts.txt", "\ufeffa man\ta dog\r\n\"x\"\n"), ("--task", "tokens")
        self.assertEqual(self.answers(*options, "-i", path), self.answers(
            *options, "--input-format", "jsonl", stdin='{"first": "a man\\ta dog"}\n{"first": "\\"x\\""}\n'))

    def test_compressed_inputs(self):
        text = "".join(f"a man {i}\ttwo dogs\n" for i in range(3000)).encode()
        expected = self.succeed("-i", self.write("many.tsv", text))
        half = len(text) // 2
        for name, data in [("many.tsv.gz", gzip.compress(text)), ("many.tsv.zst", zstd(text)),
                           ("two.tsv.gz", gzip.compress(text[:half]) + gzip.compress(text[half:])),
                           ("two.tsv.zst", zstd(text[:half]) + zstd(b"") + zstd(text[half:])),
                           # As pzstd writes each block; the frame's size stands in the one before it.
                           ("many.pzstd.tsv.zst", b"".join(
                               b"\x50\x2a\x4d\x18\4\0\0\0" + len(block).to_bytes(4, "little") + block
                               for block in (zstd(text[:half]), zstd(text[half:])))),
                           ("other.tsv.zst", b"\x5f\x2a\x4d\x18\0\0\0\0" + zstd(text))]:
            with self.subTest(name):
                path = self.write(name, data)
                self.assertEqual(self.succeed("-i", path), expected)
                self.assertEqual(self.succeed(stdin=data), expected)  # by its first bytes
                first = [3, 12] if data[1:3] != b"*M" else [7, 13]  # "P*M" is a text
                for cut in *first, len(data) // 2, len(data) - 1:
                    self.write(name, data[:cut])
                    done = self.run_tool("-i", path)
                    # Of three bytes, nobody can tell that zstd's beginning is one.
                    self.assertEqual(done.returncode, 1, (cut, done.stderr))
                    if cut > 4:
                        self.assertRegex(done.stderr, "ends in the middle of what|cannot be decompressed")
                self.write(name, data + b"rest")
                self.fail_with(1, "cannot be decompressed as", "-i", path)
                if name.endswith(".zst"):  # whose frames here have no checksum
                    continue
                self.assertEqual(self.succeed(stdin=data + bytes(1 << 19)), expected)  # up to a tape's block
                self.fail_with(1, "cannot be decompressed as", stdin=data + bytes(9) + b"rest")
                damaged = bytearray(data)
                damaged[len(data) // 2] ^= 0x55
                self.write(name, bytes(damaged))
                self.fail_with(1, "cannot be decompressed as|ends in the middle|UTF-8|fields", "-i", path)

    def test_a_pipe_that_begins_with_what_is_skipped(self):
        data = b"\x53\x2a\x4d\x18\1\0\0\0x" + zstd(b"a man\n")
        process = subprocess.Popen(self.command("-q"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for i in range(len(data)):
            process.stdin.write(data[i:i + 1])
            process.stdin.flush()
            time.sleep(0.01)
        self.assertEqual(process.communicate(timeout=60)[0].decode(), self.succeed(stdin="a man\n"))

    def test_a_git_lfs_pointer_is_no_input(self):
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
        for name in "p.tsv", "p.txt", "p.csv", "p.jsonl", "p.tsv.gz":
            self.fail_with(1, f"{name}: is a Git LFS pointer, not the file", "-i", self.write(name, pointer))

    def test_a_text_may_begin_like_a_compressed_file(self):
        for text in "(", "(a", "(\u00b5", "P", "_*", "P*M":
            self.assertEqual(len(self.answers(stdin=text)), 1)

    def test_a_compressed_input_takes_constant_memory(self):
        bomb = 20 * gzip.compress(b"a" * (80 << 20), 1)
        self.fail_with(1, "<stdin>:1: the line is longer than 67108864 bytes", "--threads=1", "--workers=1",
                       stdin=bomb, **self.little_memory())


class ErrorsAndKeys(LinesTest):
    def test_bad_lines_are_skipped(self):
        lines = b"a\n\nb\tc\td\n\xff\nb\n\n"
        [a, b] = self.answers(stdin="a\nb\n")
        for options in [], ["--batch-tokens", "1"]:
            done = self.run_tool("--on-error", "skip", *options, stdin=lines)
            self.assertEqual(done.returncode, 0, done.stderr)
            answers = read_lines(done.stdout)
            self.assertEqual(answers[0], a)
            self.assertEqual(answers[4], {**b, "index": 4})
            self.assertEqual([(answer["index"], answer["line"]) for answer in answers[1:4]],
                             [(1, 2), (2, 3), (3, 4)])
            for answer, reason in zip(answers[1:4], ["empty", "more than two", "UTF-8"]):
                self.assertEqual(list(answer), ["index", "error", "line"])
                self.assertIn(reason, answer["error"])
            self.assertEqual(len(answers), 5)
            self.assertRegex(done.stderr, r"2 inputs, 3 lines skipped \(the first: <stdin>:2: the "
                                          r"line is empty\), 0 truncated")
        self.fail_with(1, "<stdin>:2: the line is empty", "--on-error", "stop", stdin=lines)

    def test_inputs_that_the_model_refuses_are_skipped(self):
        # Beside lines that are no inputs at all, in their order.
        lines = "".join("no JSON\n" if i % 5 == 4 else json.dumps({"ids": [5, 6 if i % 3 else 999]}) + "\n"
                        for i in range(20))
        answers = self.answers("--input-format", "jsonl", "--on-error", "skip", stdin=lines)
        self.assertEqual([answer["index"] for answer in answers], list(range(20)))
        self.assertEqual([i for i, answer in enumerate(answers) if "error" in answer],
                         [i for i in range(20) if i % 3 == 0 or i % 5 == 4])
        self.assertIn("ids[1] is 999", answers[0]["error"])
        lines = "".join(json.dumps(line) + "\n" for line in ({"first": "a"}, {"ids": [5, 999]}, {"first": "dogs"}))
        answers = self.answers("--task", "tokens", "--input-format", "jsonl", "--on-error", "skip", stdin=lines)
        [alone] = self.answers("--task", "tokens", stdin="dogs\n")
        self.assertEqual(answers[2], {**alone, "index": 2})

    def test_skipped_lines_of_a_table(self):
        path = self.dir / "skipped.tsv"
        self.succeed("--on-error", "skip", "-o", path, stdin="a\n\nb\n")
        self.assertEqual([line.split("\t")[0] for line in path.read_text().splitlines()],
                         ["index", "0", "2"])
        for name in "x.npy", "x.safetensors":  # which cannot tell
            self.fail_with(2, "--on-error skip needs JSON Lines or .tsv as output", "--on-error", "skip", "-o",
                           self.dir / name, stdin="a\n")
        self.fail_with(2, "--on-error goes with --input", "--on-error", "skip", "a")

    def test_keys_are_passed_through(self):
        values = {"id": 12345678901234567890123, "label": "yes\n\u001b[31m", "more": [1.50, {"a": [], "b": None}],
                  "flag": True, "none": None, "deep": [[[{}]]]}
        signed = self.succeed("--input-format", "jsonl", "--keep", "x",
                              stdin='{"first": "a", "x": [-0, 0, -0.0, -1]}')
        self.assertTrue('"kept": {"x": [-0, 0, -0.0, -1]}, ' in signed, signed)
        line = json.dumps({"id": 0, "first": "a"} | values)
        [plain] = self.answers(stdin="a\n")
        done = self.succeed("--input-format", "jsonl", "--keep", ",".join(values), stdin=line)
        [answer] = read_lines(done)
        self.assertEqual(answer, {"kept": values} | plain)
        self.assertEqual(list(answer)[:3], ["index", "kept", "logits"])
        self.assertIn('"more": [1.5, {"a": [], "b": null}]', done)
        self.assertIn("12345678901234567890123", done)
        self.assertNotIn("\x1b", done)
        lines = '{"first": "a", "id": 7}\n{"id": 8}\n{"id": 9, "first": "b"}\n{"first": "a"}\n'
        answers = self.answers("--input-format", "jsonl", "--keep", "id", "--on-error", "skip", stdin=lines)
        self.assertEqual([answer.get("kept") for answer in answers], [{"id": 7}, {"id": 8}, {"id": 9}, None])
        self.fail_with(1, '2: the column "id" is not valid UTF-8 at byte 3', "--input-format", "csv", "--keep", "id",
                       stdin=b"id,first\ncaf\xe9,a\n")
        rows = "id,first,label\nx-1,a,\"b,c\"\n"
        [answer] = self.answers("--input-format", "csv", "--keep", "id,label", stdin=rows)
        self.assertEqual(answer["kept"], {"id": "x-1", "label": "b,c"})
        self.fail_with(1, '<stdin>:1: the header names no column "other", which --keep asks for', "--input-format",
                       "csv", "--keep", "id,other", stdin="id,first\n1,a\n")
        for lines, reason in [('{"first": "a", "id": 1, "id": 2}', '"id" is given twice'),
                              ('{"id": [-1e400]}', '<stdin>:1: "id" holds -1e400, expected numbers from -1.797'),
                              ('{"first": "a", "other": 1}', 'unknown key "other", expected .*--keep')]:
            self.fail_with(1, reason, "--input-format", "jsonl", "--keep", "id", stdin=lines)
        for arguments, reason in [(["--keep", "first", "-i", "x.jsonl"], "'first' is not the name"),
                                  (["--keep", "a,,b", "-i", "x.jsonl"], "'' is not the name"),
                                  (["--keep", "\udce9", "-i", "x.csv"], "--keep is not valid UTF-8 at byte 0"),
                                  (["--keep", "id", "-i", "x.tsv"], "--keep goes with .jsonl and .csv"),
                                  (["--keep", "id", "-i", "x.csv", "-o", "x.npy"], "--keep needs JSON Lines"),
                                  (["--keep", "id", "a"], "--keep goes with --input")]:
            self.fail_with(2, reason, *arguments)


class Shapes(LinesTest):
    def test_embeddings_are_cut_and_normalised(self):
        lines = "a man\ntwo dogs\n"
        whole = np.array([answer["embedding"] for answer in self.answers("--task", "embed", stdin=lines)])
        path = self.dir / "short.npy"
        self.succeed("--task", "embed", "--truncate-dim", "5", "--normalize", "-o", path, stdin=lines)
        short = whole[:, :5]
        np.testing.assert_allclose(np.load(path), short / np.linalg.norm(short, axis=1, keepdims=True),
                                   rtol=1e-6)
        self.succeed("--task", "embed", "--normalize", "-o", path, stdin=lines)
        np.testing.assert_allclose(np.linalg.norm(np.load(path), axis=1), 1, atol=1e-6)
        path = self.dir / "short.safetensors"
        self.succeed("--task", "embed", "--truncate-dim", "16", "-o", path, stdin=lines)
        np.testing.assert_allclose(TensorFile(path).read("embedding"), whole, rtol=1e-6)
        [answer] = self.answers("--task", "similarity", "--truncate-dim", "5", stdin="a man\ttwo dogs\n")
        a, b = short
        self.assertAlmostEqual(answer["similarity"], a @ b / np.linalg.norm(a) / np.linalg.norm(b), 5)
        self.fail_with(1, "16 dimensions, expected at least 17", "--task", "embed", "--truncate-dim", "17", "a")
        self.fail_with(2, "--normalize goes with --task embed", "--task", "hidden", "--normalize", "a")

    def test_ranked_labels(self):
        [plain] = self.answers("-o", "-", *PAIR)
        exponents = np.exp(floats(plain["logits"]).astype(np.float64))
        scores = exponents / exponents.sum()
        order = np.argsort(-scores)
        names = ["yes", "no", "maybe"]
        for options, count in [(["--top-k", 2], 2), (["--top-k", 9], 3), (["--threshold", 0], 3),
                               (["--threshold", scores[order[1]] - 1e-4], 2), (["--threshold", 1], 0),
                               (["--threshold", plain["probability"]], 1),
                               (["--top-k", 1, "--threshold", 0.01], 1)]:
            [answer] = self.answers("-o", "-", *options, *PAIR)
            labels = answer.pop("labels")
            self.assertEqual(answer, plain)
            self.assertEqual([label["label"] for label in labels], [names[i] for i in order[:count]])
            np.testing.assert_allclose([label["probability"] for label in labels], scores[order[:count]],
                                       rtol=1e-5)
        text = self.succeed("--output-format", "text", "--top-k", 2, *PAIR)
        self.assertTrue(text.startswith(f"{names[order[0]]} {scores[order[0]]:.4f}, {names[order[1]]} "), text)
        self.fail_with(2, "--top-k needs JSON Lines", "--top-k", 2, "-o", self.dir / "x.tsv", "a")
        self.fail_with(2, "--threshold 1.5: expected a probability", "--threshold", "1.5", "a")
        raw = self.make_model("raw", "--labels", "1", "--problem-type", "regression")
        self.fail_with(1, "scores are raw", "-m", raw, "--top-k", 1, "a")

    def test_json_has_one_style(self):
        models = {head: self.make_model(f"style-{head}", "--head", head)
                  for head in ("mlm", "tokens", "qa", "choice", "none")}
        for model, *options in [(self.model,), (models["none"],), (models["none"], "--task", "hidden"),
                                (models["none"], "--task", "hidden", "--layers", "0,-1"),
                                (models["none"], "--task", "attention", "--layers", "0"),
                                (models["none"], "--task", "similarity"), (self.model, "--task", "tokens"),
                                (models["mlm"],), (models["mlm"], "--task", "logits"), (models["tokens"],),
                                (models["qa"],), (models["choice"],)]:
            line = self.succeed("-m", model, *options, stdin="a [MASK] \"man\ttwo dogs\n")
            # As Python writes it, but for the spelling of numbers.
            respaced = json.dumps(json.loads(line, parse_float=lambda text: f"<{text}>"), ensure_ascii=False)
            self.assertEqual(re.sub(r'"<(.*?)>"', r"\1", respaced) + "\n", line)

    def test_arguments_in_a_pipe_give_json(self):
        self.assertEqual(self.answers(*PAIR), self.answers("-o", "-", *PAIR))
        text = self.succeed("--output-format", "text", *PAIR)
        self.assertRegex(text, r"^\w+ 0\.\d{4}  \[.*\]  \(\d+ tokens\)\n$")
        self.assertEqual(self.on_terminal(*PAIR), text)
        self.assertEqual(self.succeed("--output-format", "text", stdin="\t".join(PAIR)), text)
        self.assertEqual(self.on_terminal("--output-format", "jsonl", *PAIR), self.succeed(*PAIR))
        done = self.run_tool("--output-format", "tsv", stdin="a\n")
        self.assertEqual(done.stdout.split("\t")[:2], ["index", "label"])


class ForPeople(LinesTest):
    def test_tokens_are_a_table(self):
        lines = self.succeed("--task", "tokens", "--output-format", "text", "Plays, é", "MEN").splitlines()
        [answer] = self.answers("--task", "tokens", "Plays, é", "MEN")
        self.assertEqual(lines[0].split(), ["position", "id", "segment", "offset", "token"])
        self.assertEqual(len(lines), 1 + len(answer["ids"]))
        for t, line in enumerate(lines[1:]):
            begin, end = answer["offsets"][t]
            offset = [f"{begin}-{end}"] if end > 0 else []
            self.assertEqual(line.split(), [str(t), str(answer["ids"][t]), str(answer["type_ids"][t]), *offset,
                                            answer["tokens"][t]])

    def test_a_terminal_is_not_obeyed(self):
        evil = "\x1b]0;owned\x07\u009b31m\u202e"
        model = self.make_model("evil", "--labels", "2", "--label-names", f"{evil},b")
        for text in (self.succeed("-m", model, "--output-format", "text", "a"),
                     self.succeed("-m", model, "--top-k", "2", "a"),
                     self.run_tool("info", "-m", model).stdout,
                     self.run_tool("info", "-m", model, "--json").stdout,
                     self.run_tool("--task", evil, "a").stderr,
                     self.run_tool("-i", f"{evil}.tsv").stderr,
                     self.run_tool("--input-format", "jsonl", stdin=json.dumps({evil: 1})).stderr):
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
            self.assertTrue("owned" in text, text)
        [answer] = self.answers("-m", model, "--top-k", "2", "a")
        self.assertIn(evil, [label["label"] for label in answer["labels"]])
        config = json.loads((model / "config.json").read_text())
        for name, value in [("hidden_act", evil), ("hidden_act", "\x9f" * 300000)]:
            (model / "config.json").write_text(json.dumps(config | {name: value}))
            done = self.fail_with(1, "hidden_act", "-m", model, "a")
            self.assertNotRegex(done.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
            self.assertLess(len(done.stderr), 700)

    def test_quiet(self):
        done = self.run_tool("--quiet", stdin="a\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(read_lines(done.stdout)), 1)
        self.fail_with(1, "the line is empty", "-q", stdin="\na\n")

    def test_info(self):
        text = self.run_tool("info", "-m", self.model, "--max-length", "7").stdout
        for expected in (f"{self.model}/config.json", f"{self.model}/model.safetensors", "vocab.txt",
                         "BertForSequenceClassification (bert)", "2 layers of 16, 2 heads, intermediate size 32",
                         "classification: yes, no, maybe (softmax)", "WordPiece, 200 ids",
                         "16 numbers, pooling mean", "7 tokens", "f32", "MB resident"):
            self.assertIn(expected, text)
        [info] = read_lines(self.run_tool("info", "--json", "-m", self.model).stdout)
        self.assertEqual((info["family"], info["labels"], info["max_length"], info["tokenizer"]),
                         ("bert", ["yes", "no", "maybe"], 64, "WordPiece"))
        weights = self.model / "model.safetensors"
        self.assertIn({"path": str(weights), "bytes": weights.stat().st_size}, info["files"])
        self.assertGreater(info["memory"]["resident"], info["memory"]["anonymous"])
        self.assertIn("--json", self.run_tool("info", "--help").stdout)
        self.assertEqual(len(self.answers("--", "info")), 1)  # a text

    def command(self, *arguments) -> list[str]:
        if arguments[:1] == ("info",):
            return [str(self.bin / self.tool), *map(str, arguments)]
        return super().command(*arguments)

    def test_progress_tells_the_time_left(self):
        path = self.write("long.tsv", "a man is walking the dog on the beach\ttwo men\n" * 300000)
        terminal, end = pty.openpty()
        # One input at a time, so that even a fast machine takes seconds.
        process = subprocess.Popen(
            self.command("-i", path, "-o", self.dir / "long.jsonl", "--threads", "1", "--batch-tokens",
                         "1"), stderr=end)
        os.close(end)
        text, begin = "", time.monotonic()
        while " left" not in text and time.monotonic() < begin + 60:
            text += os.read(terminal, 4096).decode()
        process.kill()
        process.wait()
        os.close(terminal)
        self.assertRegex(text, r"\r\x1b\[K\d+ inputs, \d+/s, \d+ tokens/s, \d+ %, \d+:\d\d left")


if __name__ == "__main__":
    main()
