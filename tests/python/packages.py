# SPDX-License-Identifier: Apache-2.0
"""For the tests of the Python package in this folder, whose argument is BUILD_DIR: the package and the
programs of one build."""
import json
import sys
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
sys.path[:0] = [str(BUILD / "python"), str(Path(__file__).resolve().parents[1] / "tools")]

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import command_line  # noqa: E402
from bert_infer import Model  # noqa: E402
from command_line import PAIR, ToolTest  # noqa: E402

TEXTS = ["a man", "two dogs eat on the beach", "", "naïve \U0001F600 é", "the guitar is a " * 9]
PAIRS = [PAIR, ("two dogs", "a man"), ("", "é")]
CONTEXT = "a man is playing the guitar and two dogs eat on the beach " * 12


class PackageTest(ToolTest):
    tool = "bert-infer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.encoder = cls.make_model("encoder", "--head", "none")
        cls.loaded = Model(cls.model)

    def infer(self, model, *arguments, inputs) -> list[dict]:
        """The program's answers."""
        keys = ("first", "second")
        lines = [json.dumps(dict(zip(keys, [item] if isinstance(item, str) else item)))
                 for item in inputs]
        return self.answers("-m", model, "--input-format", "jsonl", *arguments,
                            stdin="\n".join(lines) + "\n")

    def assert_bits(self, found, expected):
        found, expected = np.asarray(found, np.float32), np.asarray(expected, np.float32)
        self.assertEqual(found.shape, expected.shape)
        self.assertEqual(found.tobytes(), expected.tobytes())


def main():
    sys.argv.insert(1, str(BUILD / "bin"))
    command_line.main()
