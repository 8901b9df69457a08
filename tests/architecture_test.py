#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The shape of the tree: who may include whom, how large rooms and files may be, that names are unique,
and that a reader's way through the code stays short. Usage: architecture_test.py [COMPILER]"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "c++"

# From the bottom up: a room includes only itself and rooms above it in this list, and of those
# nothing that FORBIDDEN names.
TOWER = ["engine", "tokenizer", "models/weights", "models/config", "models/network", "models",
         "models/tasks", "models/c_api", "tools"]
FORBIDDEN = {"tokenizer": ["engine"]}
# Types that every room of models/ may use; these headers include each other as installed.
PUBLIC = {"models/bert_infer.h", "bert_infer.h", "bert_encoding.h", "bert_infer_c.h"}
# The kernels are compiled once for each instruction set, in a namespace of its own.
PER_INSTRUCTION_SET = {"row_kernels", "matmul_kernels", "product_kernels", "quantise_kernels",
                       "attention_kernels", "kernel_table"}
MOST_FILES, MOST_LINES = 12, 400
READING_LINES = 3100  # of the path of a pair: an afternoon's reading


def sources(*folders: str) -> list[Path]:
    return sorted(path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*")
                  if path.suffix in {".cc", ".h"})


def room_of(path: str) -> str:
    """The longest entry of TOWER that the path lies in."""
    return max((room for room in TOWER if path.startswith(room + "/")), key=len)


def is_generated(path: Path) -> bool:
    return path.name.endswith("_tables.cc")


class Architecture(unittest.TestCase):
    def test_includes_run_down_the_tower(self):
        for path in sources("engine", "tokenizer", "models", "tools"):
            room = room_of(str(path))
            for included in re.findall(r'#include "(.*?)"', (ROOT / path).read_text()):
                with self.subTest(f"{path} includes {included}"):
                    if included in PUBLIC:
                        continue
                    self.assertTrue((ROOT / included).is_file())
                    below = room_of(included)
                    self.assertLessEqual(TOWER.index(below), TOWER.index(room))
                    self.assertNotIn(below, FORBIDDEN.get(room, []))

    def test_third_party_headers_stay_in_their_rooms(self):
        for path in sources("engine", "tokenizer", "models", "tools"):
            text = (ROOT / path).read_text()
            with self.subTest(str(path)):
                if "dnnl.hpp>" in text:
                    self.assertEqual(path.parts[0], "engine")
                if "#include <sentencepiece" in text:
                    self.assertEqual(str(path), "tokenizer/sentencepiece/sentence_piece.cc")

    def test_rooms_and_files_are_small(self):
        counts: dict[Path, int] = {}
        for path in sources("engine", "tokenizer", "models", "tools", "tests"):
            counts[path.parent] = counts.get(path.parent, 0) + 1
            lines = (ROOT / path).read_text().count("\n")
            with self.subTest(str(path)):
                self.assertTrue(lines <= MOST_LINES or is_generated(path), lines)
        for folder, count in counts.items():
            with self.subTest(str(folder)):
                self.assertLessEqual(count, MOST_FILES)

    def test_file_names_are_unique(self):
        names: dict[str, Path] = {}
        for path in sources("engine", "tokenizer", "models", "tools"):
            self.assertFalse(path.name in names, f"{path} and {names.get(path.name)}")
            names[path.name] = path

    def test_the_library_compiles_as_one_text(self):
        """So no name stands in two files, in anonymous namespaces either."""
        kernels = {f"{name}.cc" for name in PER_INSTRUCTION_SET}
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as whole:
            whole.writelines(f'#include "{path}"\n' for path in sources("engine", "tokenizer", "models")
                             if path.suffix == ".cc" and path.name not in kernels)
            whole.flush()
            done = subprocess.run(
                [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{ROOT}", f"-I{ROOT}/models",
                 f"-I{ROOT}/tokenizer", '-DBERT_INFER_VERSION=""', whole.name],
                capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_path_of_a_pair_is_short(self):
        """Of the files that CONTRIBUTING.md lists under 'The path of a pair'."""
        text = (ROOT / "CONTRIBUTING.md").read_text()
        section = text.split("## The path of a pair")[1].split("\n## ")[0]
        names = [name for name in re.findall(r"`([\w/.]+\.(?:cc|h))`", section)]
        self.assertGreater(len(names), 15)
        lines = 0
        for name in dict.fromkeys(names):
            self.assertTrue((ROOT / name).is_file(), name)
            lines += (ROOT / name).read_text().count("\n")
        self.assertLessEqual(lines, READING_LINES)

    def test_paths_in_the_documents_exist(self):
        pattern = re.compile(r"(?<![\w/.$-])((?:engine|tokenizer|models|tests|tools|docs)/[\w./-]*\w)")
        pages = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))
        for document in ["README.md", "CONTRIBUTING.md", "models/demo/README.md", *pages]:
            for name in pattern.findall((ROOT / document).read_text()):
                with self.subTest(f"{document}: {name}"):
                    self.assertTrue((ROOT / name).exists())


if __name__ == "__main__":
    unittest.main()
