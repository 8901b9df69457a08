#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The C API as installed: c_test.py BUILD_DIR DOCS_C_MD FIXTURES

The commands and the program of docs/c.md, as they are, with GCC and with Clang, and linked statically;
every task by ctypes beside bert-infer, to the bit; and the symbols that the library exports.
"""
import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import c_binding

BUILD, PAGE, FIXTURES = (Path(argument).resolve() for argument in sys.argv[1:4])
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
PAIRS = [("A man is playing a guitar.", "A man plays music."), ("Zoë goes home, at 5.", None), ("", None)]
LONG = "Marie went to the garden of a friend in Warsaw, where two dogs play. " * 12


def run(*command, **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def block(language: str) -> str:
    """The first of the page."""
    return blocks(language)[0]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def as_float32(value):
    """The same with every float rounded to float32, as it was before it was printed."""
    if isinstance(value, float):
        return struct.unpack("f", struct.pack("f", value))[0]
    if isinstance(value, list):
        return [as_float32(element) for element in value]
    if isinstance(value, dict):
        return {key: as_float32(element) for key, element in value.items()}
    return value


class CApi(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = Path(scratch.name)
        cls.prefix = cls.dir / "prefix"
        (cls.dir / "main.c").write_text(block("c"))
        (cls.dir / "build").mkdir()
        (cls.dir / "build" / "release").symlink_to(BUILD)
        cls.environment = {**os.environ, "PREFIX": str(cls.prefix), "PATH": "/usr/bin:/bin"}
        cls.printed = run("bash", "-euc", block("sh"), cwd=cls.dir, env=cls.environment).splitlines()[-2:]
        cls.environment |= {"PKG_CONFIG_PATH": str(cls.prefix / "lib/pkgconfig"),
                            "LD_LIBRARY_PATH": str(cls.prefix / "lib")}
        cls.library = cls.prefix / "lib/libbert_infer.so"

    def pkg_config(self, *options, directory=None) -> list[str]:
        environment = dict(self.environment)
        if directory:
            environment["PKG_CONFIG_PATH"] = str(directory)
        return run("pkg-config", *options, "bert_infer", env=environment).split()

    def program(self, *arguments) -> list[str]:
        return run(*arguments, cwd=self.dir, env=self.environment).splitlines()

    def infer(self, name: str, task: str, texts, *options) -> dict:
        directory = FIXTURES / name
        texts = [text for text in texts if text is not None]
        return as_float32(json.loads(run(self.prefix / "bin/bert-infer", "-m", directory, "--task", task,
                                         "-o", "-", *options, "--", *texts)))

    def load(self, name: str, **options) -> c_binding.Model:
        model = c_binding.Model(self.library, FIXTURES / name, **options)
        self.addCleanup(model.close)
        return model

    def assert_answers(self, answer: dict, expected: dict):
        """Of bert-infer's answer, the keys that this one has."""
        self.assertEqual(answer, {key: expected[key] for key in answer})

    def test_the_page_s_program(self):
        self.assertEqual(len(self.printed), 2)
        answer = json.loads(run(self.prefix / "bin/bert-infer", *PAIRS[0]))
        self.assertEqual(self.printed[0].split(), [answer["label"], f"{answer['probability']:.4f}"])
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler, path="/usr/bin"):
                print(f"skipped: no {compiler}")
                continue
            run(compiler, *STRICT, "main.c", *self.pkg_config("--cflags", "--libs"), "-o", compiler,
                cwd=self.dir, env=self.environment)
            self.assertEqual(self.program(self.dir / compiler), self.printed)
            for test in ("c_api_test.c", "c_queue_test.c"):
                run(compiler, *STRICT, "-fsyntax-only", PAGE.parents[1] / "tests/models/c_api" / test,
                    *self.pkg_config("--cflags"))
        done = subprocess.run([self.dir / "main", "nowhere"], env=self.environment, capture_output=True, text=True)
        self.assertEqual((done.returncode != 0, done.stderr.count("nowhere") > 0), (True, True), done.stderr)

    def test_the_page_s_other_programs(self):
        for i, program in enumerate(blocks("c")[1:]):
            (self.dir / "other.c").write_text(program)
            run("cc", *STRICT, "other.c", *self.pkg_config("--cflags", "--libs"), "-o", f"other{i}",
                cwd=self.dir, env=self.environment)
        [ids, decoded] = self.program(self.dir / "other0")
        expected = self.infer(self.prefix / "share/bert-infer/demo", "tokens", ["Two dogs run."])["ids"]
        self.assertEqual(ids.split(), [str(id) for id in expected])
        self.assertEqual(decoded, "two dogs run.")
        self.assertRegex(self.program(self.dir / "other1")[-1], r"^2 rows of 3 logits$")

    def test_static_library(self):
        """Libs.private names all that the static library needs."""
        static = self.dir / "static"
        (static / "lib/pkgconfig").mkdir(parents=True)
        (static / "include").symlink_to(self.prefix / "include")
        shutil.copy(self.prefix / "lib/pkgconfig/bert_infer.pc", static / "lib/pkgconfig")
        # The same objects as an installed libbert_infer.a has.
        (static / "lib/libbert_infer.a").symlink_to(BUILD / "libbert_infer_core.a")
        flags = self.pkg_config("--static", "--cflags", "--libs", directory=static / "lib/pkgconfig")
        run("cc", "main.c", *flags, "-o", "static_main", cwd=self.dir)
        model = FIXTURES / "plain"
        self.assertEqual(run(self.dir / "static_main", model), run(self.dir / "main", model, env=self.environment))

    def test_other_compilers(self):
        """The header is C++ too, and bert_infer.pc serves C++."""
        (self.dir / "both.cc").write_text("#include <bert_infer_c.h>\n#include <bert_queue_c.h>\n"
                                          "#include <bert_queue.h>\n#include <bert_ranking.h>\n"
                                          "int main() { return bert::version() != bert_version(); }\n")
        run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "both.cc",
            *self.pkg_config("--cflags", "--libs"), "-o", "both", cwd=self.dir, env=self.environment)
        self.program(self.dir / "both")

    def test_what_models_say_of_themselves(self):
        plain = self.load("plain", threads=2)
        colbert = self.load("colbert", workers=2, threads=1, kept_memory=1234, max_length=50, precision="int8",
                            backend="onednn")
        for name, *numbers in [
                ("layers", 2, 2), ("hidden", 48, 39), ("heads", 6, 3), ("intermediate", 192, 77),
                ("vocabulary", 200, 200), ("max_length", 512, 50), ("embedding", 48, 0), ("workers", 1, 2),
                ("threads", 2, 1), ("kept_memory", 2**28, 1234), ("has_logits", 1, 0), ("has_token_logits", 0, 0),
                ("has_pooler", 1, 1), ("has_chat_template", 0, 0), ("has_sparse", 0, 0), ("token_vector", 0, 20)]:
            self.assertEqual([plain.number(name), colbert.number(name)], numbers, name)
        for name, *texts in [
                ("architecture", ["BertForSequenceClassification"], ["BertModel"]), ("family", ["bert"], ["bert"]),
                ("task", ["classify"], ["multi-vector"]), ("tokenizer", ["WordPiece"], ["WordPiece"]),
                ("scores", ["softmax"], ["raw"]), ("similarity", ["cosine"], ["maxsim"]),
                ("precision", ["f32"], ["int8"]), ("labels", ["LABEL_0", "LABEL_1", "LABEL_2"], [])]:
            self.assertEqual([plain.texts(name), colbert.texts(name)], texts, name)
        self.assertEqual(colbert.texts("backend"), ["onednn"])
        self.assertEqual(self.load("st-mean").texts("pooling"), ["mean, normalised"])
        self.assertEqual([Path(file).name for file in plain.texts("files")],
                         ["config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json",
                          "special_tokens_map.json"])
        self.assertEqual(plain.texts("notes"), [])
        self.assertRegex(" ".join(colbert.texts("notes")), "HF_ColBERT is treated as a BertModel")
        splade = self.load("splade")
        self.assertEqual([splade.number(name) for name in ("has_sparse", "has_token_logits", "has_pooler")], [1, 1, 0])

    def test_logits_and_embeddings(self):
        for precision in ("f32", "int8"):
            model = self.load("plain", precision=precision, threads=1)
            logits = model.run(PAIRS)
            self.assertEqual(len(logits), 3)
            for row, pair in zip(logits, PAIRS, strict=True):
                self.assert_answers({"logits": row, **model.label(row)},
                                    self.infer("plain", "logits", pair, "--precision", precision))
        model = self.load("st-mean")
        for row, pair in zip(model.embed(PAIRS), PAIRS, strict=True):
            self.assert_answers({"embedding": row}, self.infer("st-mean", "embed", pair))
            self.assertEqual(len(row), model.number("embedding"))
        limited = self.load("st-mean", max_length=5)
        self.assert_answers({"embedding": limited.embed(PAIRS[:1])[0]},
                            self.infer("st-mean", "embed", PAIRS[0], "--max-length", "5"))

    def test_states_and_tokens(self):
        model = self.load("plain")
        for states, pair in zip(model.hidden(PAIRS, [0, -2]), PAIRS, strict=True):
            layers = states.pop("layers")
            self.assert_answers(states, self.infer("plain", "hidden", pair))
            self.assert_answers({"layers": layers}, self.infer("plain", "hidden", pair, "--layers", "0,-2"))
        for attention, pair in zip(model.attention(PAIRS, [0, -1]), PAIRS, strict=True):
            self.assert_answers({"attention": attention},
                                self.infer("plain", "attention", pair, "--layers", "0,-1"))
        for encoding, pair in zip(model.tokenize(PAIRS), PAIRS, strict=True):
            self.assert_answers(encoding, self.infer("plain", "tokens", pair))
        for rows, pair in zip(self.load("bert-tokens").run_tokens(PAIRS), PAIRS):
            self.assert_answers({"logits": rows}, self.infer("bert-tokens", "logits", pair))

    def test_vectors_for_search(self):
        for (ids, weights), pair in zip(self.load("splade").sparse(PAIRS), PAIRS):
            expected = self.infer("splade", "sparse", pair)["sparse"]
            self.assertEqual(dict(zip(ids, weights)), {entry["id"]: entry["weight"] for entry in expected})
            self.assertEqual(ids, sorted(ids))
        singles = PAIRS[1:]
        for role, name in enumerate(("query", "document")):
            for vectors, single in zip(self.load("colbert").multi_vector(singles, role), singles):
                self.assert_answers({"vectors": vectors},
                                    self.infer("colbert", "multi-vector", single, "--role", name))

    def test_masks_spans_and_choices(self):
        masks = ("a [MASK] is [MASK]", None)
        [blanks] = self.load("bert-mlm").fill_mask([masks], 4)
        self.assert_answers({"masks": blanks}, self.infer("bert-mlm", "fill-mask", masks, "--top-k", "4"))
        for aggregation in ("first", "none"):
            [tags] = self.load("bert-tokens").tag([(LONG, None)], aggregation=aggregation, stride=8)
            self.assertGreater(tags["windows"], 1)
            self.assert_answers(tags, self.infer("bert-tokens", "tag", [LONG], "--stride", "8",
                                                 "--aggregation", aggregation))
        found = self.load("gliner").tag([(LONG, None)], labels="man,dog", threshold="0.3", nested="1", multi_label="1",
                                        stride=3)
        self.assert_answers(found[0], self.infer("gliner", "tag", [LONG], "--labels", "man,dog", "--threshold", "0.3",
                                                 "--nested", "--multi-label", "--stride", "3"))
        self.assertGreater(len(found[0]["entities"]), 10)
        [tags] = self.load("bert-tokens").tag(PAIRS[:1])
        self.assert_answers(tags, self.infer("bert-tokens", "tag", PAIRS[0]))
        self.assertEqual({span["text"] for span in tags["words"]}, {0, 1})
        question = ("Where do dogs play?", LONG)
        [answer] = self.load("bert-qa").answer([question], stride=8, answer_tokens=4, top_k=3)
        self.assertGreater(answer["windows"], 1)
        self.assertEqual(len(answer["others"]), 2)
        self.assert_answers(answer, self.infer("bert-qa", "answer", question, "--stride", "8",
                                               "--answer-tokens", "4", "--top-k", "3"))
        texts = ["The sky is dark.", "It will rain.", "It is noon.", "Who knows?"]
        for choices in texts[1:], [texts[1], LONG]:  # the latter is truncated
            self.assert_answers(self.load("bert-choice").choose(texts[0], choices),
                                self.infer("bert-choice", "choose", [texts[0], *choices]))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "unknown option 'speed', expected one of precision,"):
            self.load("plain", speed=1)
        with self.assertRaisesRegex(ValueError, "prompt.*'nobody'"):
            self.load("plain", prompt="nobody")
        with self.assertRaisesRegex(ValueError, "adapter.*nobody"):
            self.load("plain", adapter="nobody")
        with self.assertRaisesRegex(ValueError, "no head"):
            self.load("st-mean").run(PAIRS)

    def test_soname(self):
        soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", self.library))[1]
        version = self.pkg_config("--modversion")[0]
        self.assertEqual(soname, "libbert_infer.so." + ".".join(version.split(".")[:2]))
        ctypes_version = ctypes.CDLL(str(self.library)).bert_version
        ctypes_version.restype = ctypes.c_char_p
        self.assertEqual(ctypes_version().decode(), version)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
