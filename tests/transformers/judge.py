# SPDX-License-Identifier: Apache-2.0
"""For the tests in this folder: finds transformers, makes random models with it, runs bert-infer.

The tests compare with transformers itself, of the version that tools/peers/setup installs or, with
--transformers4 as the first argument, of the last release before 5, which still has the
question-answering pipeline and writes the older forms of a directory. Without either they are
skipped; BERT_INFER_REQUIRE_PEERS=1 makes that a failure.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "peers"
OLDER = "--transformers4"

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
if OLDER in sys.argv:
    sys.path.insert(0, str(PEERS / "transformers4"))
sys.path.insert(0, str(ROOT / "tools" / "reference"))
try:
    import numpy as np
    import torch
    import transformers
except ImportError as error:
    python = PEERS / "bin" / "python"
    if python.exists() and Path(sys.prefix) != PEERS:
        os.execv(python, [str(python), *sys.argv])
    print(f"skipped: {error}; tools/peers/setup installs what this test compares with")
    sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PEERS") == "1" else 77)

warnings.filterwarnings("ignore")
transformers.utils.logging.disable_progress_bar()
IS_OLDER = int(transformers.__version__.split(".")[0]) < 5
if OLDER in sys.argv and not IS_OLDER:
    print("skipped: no transformers 4, which tools/peers/setup installs")
    sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PEERS") == "1" else 77)


class JudgeTest(unittest.TestCase):
    """A test case with a directory of its own. main() sets `bin`, the folder of the tools."""
    bin: Path
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = Path(scratch.name)

    def run_tool(self, tool: str, *arguments, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([str(self.bin / tool), *map(str, arguments)], input=stdin, text=True,
                              capture_output=True, timeout=300)

    def infer(self, model: Path, *arguments, inputs: list) -> list[dict]:
        """bert-infer's answers to inputs, each a text, a list of texts, or an object for .jsonl."""
        lines = []
        for item in inputs:
            texts = [item] if isinstance(item, str) else item
            item = dict(zip(("first", "second"), texts)) if isinstance(texts, list) else item
            lines.append(json.dumps(item, ensure_ascii=False) + "\n")
        done = self.run_tool("bert-infer", "-m", model, "--input-format", "jsonl", *arguments,
                             stdin="".join(lines))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def compare_tokens(self, model: Path, tokenizer, texts: list) -> list[dict]:
        """bert-infer's ids and segment ids must be those of a Python tokenizer, of truncated texts and of whole ones,
        for which it returns bert-infer's answers. texts: as for infer(), without objects."""
        for limit in (13, 4096):
            rows = self.infer(model, "--task", "tokens", "--max-length", limit, "--output-format", "jsonl",
                              inputs=texts)
            for text, row in zip(texts, rows, strict=True):
                first, second = text if isinstance(text, list) else (text, None)
                found = tokenizer(first, second, truncation="longest_first", max_length=limit,
                                  return_token_type_ids=True)  # which version 5 leaves out otherwise
                self.assertEqual(row["ids"], found["input_ids"], ascii(text))
                self.assertEqual(row["type_ids"], found["token_type_ids"], ascii(text))
        return rows

    def assert_close(self, found, expected, tolerance: float = 1e-5):
        np.testing.assert_allclose(np.array(found, np.float64), np.array(expected, np.float64),
                                   rtol=0, atol=tolerance)


def main():
    if OLDER in sys.argv:
        sys.argv.remove(OLDER)
    JudgeTest.bin = Path(sys.argv.pop(1)).resolve()
    print(f"transformers {transformers.__version__}, PyTorch {torch.__version__}")
    torch.set_num_threads(1)
    unittest.main()
