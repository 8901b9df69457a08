# SPDX-License-Identifier: Apache-2.0
"""For the tests in this folder: bert-infer as the tool that they run."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from command_line import (PAIR, ToolTest, floats, main, read_lines,  # noqa: E402, F401
                          read_to_end)


class InferTest(ToolTest):
    tool = "bert-infer"
