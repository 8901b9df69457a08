#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python programs of the README and of the pages in docs/: docs_test.py BUILD_DIR

A page's blocks are one program, but for those of docs/cluster.md, which are one each. What a ```text
block after one shows is what it prints. The hub's names are those of a cache with small random
models. Blocks that import a package which is not installed are skipped."""
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(BUILD / "python"), str(Path(__file__).resolve().parents[1] / "tools")]

if importlib.util.find_spec("numpy") is None:
    print("skipped: there is no numpy")
    sys.exit(77)

from command_line import ROOT, ToolTest, main  # noqa: E402

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
IMPORTED = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
BETWEEN = "\x1e"
ALONE = ("cluster.md",)
HUB = {"naver/splade-v3": ("--head", "mlm", "--retrieval", "splade"),
       "colbert-ir/colbertv2.0": ("--head", "none", "--prefix", "--retrieval", "colbert"),
       "sentence-transformers/all-MiniLM-L6-v2": ("--head", "none"),
       "cross-encoder/ms-marco-MiniLM-L6-v2": ("--labels", "1"),
       "dslim/bert-base-NER": ("--head", "tokens", "--labels", "3", "--label-names", "O,B-PER,I-PER")}


class Docs(ToolTest):
    tool = "bert-infer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, options in HUB.items():
            repository = cls.dir / "hub" / f"models--{name.replace('/', '--')}"
            (repository / "refs").mkdir(parents=True)
            (repository / "refs/main").write_text("c0ffee")
            (repository / "snapshots").mkdir()
            cls.make_model(f"hub/{repository.name}/snapshots/c0ffee", *options)
        os.environ["HF_HUB_CACHE"] = str(cls.dir / "hub")
        os.environ["PYTHONPATH"] = str(BUILD / "python")  # of processes that the programs start
        os.environ["PYSPARK_PYTHON"] = sys.executable
        (cls.dir / "tools").symlink_to(ROOT / "tools")

    def run_program(self, page: Path, blocks: list[tuple[str, str]]):
        """Runs blocks as one script, and compares what each prints."""
        between = f"print({BETWEEN!r}, end='')\n"
        script = self.write("program.py", between.join(code for code, _ in blocks))
        done = subprocess.run([sys.executable, script], cwd=self.dir, capture_output=True, text=True,
                              timeout=240)
        self.assertEqual(done.returncode, 0, f"{page.name}: {done.stderr}")
        for (code, expected), printed in zip(blocks, done.stdout.split(BETWEEN)):
            if expected:
                self.assertEqual(printed, expected, f"{page.name}:\n{code}")

    def run_page(self, page: Path) -> int:
        """Returns how many blocks it ran."""
        blocks = []
        for code, expected in BLOCK.findall(page.read_text()):
            missing = [name for name in IMPORTED.findall(code)
                       if importlib.util.find_spec(name) is None]
            if missing:
                print(f"skipped a program of {page.name}: there is no {missing[0]}")
                continue
            blocks.append((code, expected))
        programs = [[block] for block in blocks] if page.name in ALONE else [blocks]
        for program in filter(None, programs):
            self.run_program(page, program)
        return len(blocks)

    def test_pages(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            with self.subTest(page.name):
                ran = self.run_page(page)
                if page.name in ("README.md", "python.md", "embeddings.md"):
                    self.assertGreater(ran, 0)


if __name__ == "__main__":
    sys.argv.insert(1, str(BUILD / "bin"))
    main()
