#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package's annotations, as mypy and ruff see them, and those of the binding beside its functions.

    tests/python/types_test.py build/release

Needs mypy and ruff, which tools/peers/setup installs. Without them it is skipped, and fails if
BERT_INFER_REQUIRE_PEERS=1.
"""
import ast
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import packages  # noqa: F401  (it finds the package)
from bert_infer import _core

ROOT = Path(__file__).resolve().parents[2]
CHECKERS = ROOT / "build" / "peers" / "checkers" / "bin"
if not (CHECKERS / "mypy").exists():
    print("skipped: no mypy and ruff, which tools/peers/setup installs")
    sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PEERS") == "1" else 77)

USE = """\
from typing import Any, assert_type

import numpy as np
from bert_infer import CrossEncoder, Encoding, Info, Model, SentenceTransformer, Tokenizer, find_model, max_sim
from bert_infer.results import Answer, Blank, Choice, Hidden, SparseVector, Tags
from numpy.typing import NDArray

model = Model(find_model("org/name"), precision="int8", threads=2)
pairs = [("a", "b"), ("c", "d")]
assert_type(model.run(pairs), NDArray[np.float32])
assert_type(model.embed(["a", ("b", "c")]), NDArray[np.float32])
assert_type(model.run_tokens(model.tokenize(["a"])), list[NDArray[np.float32]])
assert_type(model.hidden(["a"], layers=[0]), list[Hidden])
assert_type(model.sparse(["a"]), list[SparseVector])
assert_type(model.fill_mask(["a"]), list[list[Blank]])
assert_type(model.tag(["a"], labels=["city"]), list[Tags])
assert_type(model.answer(pairs, top_k=3), list[Answer])
assert_type(model.choose([("a", ["b", "c"])]), list[Choice])
assert_type(model.info, Info)
assert_type(Tokenizer("dir").encode(["a"]), list[Encoding])
assert_type(max_sim([[1.0]], [[1.0]]), float)
encoder = SentenceTransformer("dir")
reranker = CrossEncoder("dir")
found: Any = encoder.encode(["a"], batch_size=8), reranker.predict(pairs), reranker.rank("a", ["b"])
"""
WRONG = ["model.run(1)", "model.embed([1])", "model.hidden(['a'], layers='0')", "model.answer(pairs, top_k='3')",
         "model.info.layers.upper()", "Tokenizer('dir', '5')", "model.tag(['a'], 'none', 5, ['city'])",
         "model.no_such_function()"]


def declared(tree) -> set[str]:
    """The public names that a stub, or a class of it, declares."""
    return {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            if not node.name.startswith("_")}


def public(of) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")}


class TypesTest(unittest.TestCase):
    def check(self, *command) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as cache:
            variables = {"MYPY_CACHE_DIR": cache, "RUFF_CACHE_DIR": cache, "MYPY_FORCE_COLOR": "0"}
            return subprocess.run(list(map(str, command)), cwd=ROOT, text=True, capture_output=True,
                                  env=os.environ | variables)

    def mypy(self, program: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "use.py")
            file.write_text(program)
            return self.check(CHECKERS / "mypy", "--python-version", "3.11", file)

    def test_the_package_passes_mypy(self):
        done = self.check(CHECKERS / "mypy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"no issues found in [1-9]\d source files")

    def test_the_package_and_its_tests_pass_ruff(self):
        done = self.check(CHECKERS / "ruff", "check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("No Python files", done.stdout + done.stderr)

    def test_a_program_that_uses_it(self):
        done = self.mypy(USE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_arguments_are_found_in_each_line(self):
        done = self.mypy(USE + "\n".join(WRONG) + "\n")
        first = USE.count("\n") + 1
        for number, line in enumerate(WRONG, first):
            self.assertIn(f"use.py:{number}: error", done.stdout, line)

    def test_the_stub_declares_what_the_binding_has(self):
        tree = ast.parse((ROOT / "tools/python/bert_infer/_core.pyi").read_text())
        self.assertEqual(declared(tree), public(_core) - {"NumberBlock"})  # what arrays keep alive
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name != "Error":
                with self.subTest(node.name):
                    self.assertEqual(declared(node), public(getattr(_core, node.name)))


if __name__ == "__main__":
    unittest.main()
