# SPDX-License-Identifier: Apache-2.0
"""For the tests in this folder: bert-infer as the tool that they run."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "golden"))

from command_line import (PAIR, ToolTest, floats, main, read_lines,  # noqa: E402, F401
                          read_to_end)
import weight_files  # noqa: E402, F401
from span_models import write_span_model  # noqa: E402, F401


class InferTest(ToolTest):
    tool = "bert-infer"
