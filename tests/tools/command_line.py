# SPDX-License-Identifier: Apache-2.0
"""For the tests in this folder: runs the tools as a shell would, and makes models."""
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "reference"))

import make_model  # noqa: E402

# Vocabulary: small letters, digits, punctuation, a few words; see tools/reference/make_model.py.
PAIR = ("A man is playing a guitar.", "A man plays music.")


class ToolTest(unittest.TestCase):
    """A test case with a directory of its own. main() sets `bin`, the folder of the tools."""
    bin: Path
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = Path(scratch.name)
        cls.model = cls.make_model("model", "--labels", "3", "--label-names", "yes,no,maybe")

    @classmethod
    def make_model(cls, name: str, *options: str) -> Path:
        make_model.make(["-o", str(cls.dir / name), "--shape", "2,16,2,32", "--positions", "64",
                         *options])
        return cls.dir / name

    def is_sanitized(self) -> bool:
        """Whether the tool is built with a sanitizer, which takes more memory than there is."""
        return any(name in (self.bin / self.tool).read_bytes() for name in (b"__asan_init", b"__tsan_init"))

    def little_memory(self) -> dict:
        """Arguments of run_tool, for 600 MB of address space, of which each thread takes some; with a sanitizer,
        none."""
        limit = 600 << 20
        return {} if self.is_sanitized() else {
            "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))}

    def command(self, *arguments) -> list[str]:
        """With the class's model, unless the arguments name another."""
        model = [] if "-m" in arguments else ["-m", self.model]
        return [str(self.bin / self.tool), *map(str, model), *map(str, arguments)]

    def run_tool(self, *arguments, stdin="", **options) -> subprocess.CompletedProcess:
        """stdout and stderr come back as text; stdin is a pipe that holds text or bytes."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120} | options
        if "stdin_file" in options:
            options["stdin"] = options.pop("stdin_file")
        else:
            options["input"] = data
        done = subprocess.run(self.command(*arguments), **options)
        done.stdout = (done.stdout or b"").decode()
        done.stderr = (done.stderr or b"").decode()
        return done

    def succeed(self, *arguments, **options) -> str:
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def text(self, *arguments, **options) -> str:
        """What a person sees."""
        return self.succeed("--output-format", "text", *arguments, **options)

    def answers(self, *arguments, **options) -> list[dict]:
        return read_lines(self.succeed(*arguments, **options))

    def fail_with(self, exit_code: int, pattern: str, *arguments, **options):
        """Expects exactly one sentence on stderr besides notes, prefixed with the tool's name."""
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        lines = [line for line in done.stderr.splitlines() if ": note: " not in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], f"^{self.tool}: ")
        self.assertRegex(lines[0], pattern)
        return done

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.dir / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def read_to_end(terminal: int) -> bytes:
    """All that was written to a terminal that no process has open any more."""
    content = b""
    with contextlib.suppress(OSError):  # the end
        while part := os.read(terminal, 1 << 16):
            content += part
    return content


def read_lines(text: str) -> list[dict]:
    def no_constant(name):
        raise ValueError(f"{name} is not JSON")

    return [json.loads(line, parse_constant=no_constant) for line in text.splitlines()]


def floats(values) -> np.ndarray:
    """The float32 values that the JSON numbers were written from."""
    return np.array(values, np.float64).astype(np.float32)


def main():
    ToolTest.bin = Path(sys.argv.pop(1)).resolve()
    unittest.main()
