#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the README's commands: readme_test.py BUILD_DIR README MODEL

It skips ./tools/demo, the build, and ./tools/test, which would run this test again.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = ("./tools/demo", "./tools/test", "cmake --preset")


def main() -> None:
    build, readme, model = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    blocks = re.findall(r"```console\n(.*?)```", readme.read_text(), re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 8, f"found only {commands}"
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        (here / "pairs.tsv").write_text("A man plays.\tThe man is playing music.\nOne text.\n")
        (here / "pairs.jsonl").write_text('{"first": "A dog.", "second": "A cat."}\n')
        (here / "tools").symlink_to(readme.parent / "tools")
        (here / "build").mkdir()
        (here / "build" / "release").symlink_to(build)
        (here / "questions.tsv").write_text("Who plays?\tA man is playing the guitar.\n")
        (here / "passages.tsv").write_text("".join(f"who plays\ta man {i}\n" for i in range(100)))
        models = Path(model).parent
        heads = {"MASKED_LM": "bert-mlm", "NER": "bert-tokens", "QA": "bert-qa",
                 "CHOICE": "bert-choice", "RERANKER": "one-label", "ENCODER": "st-mean"}
        environment = {**os.environ, **{name: str(models / head) for name, head in heads.items()},
                       "MODEL": model, "PREFIX": str(here / "prefix"),
                       "PATH": f"{build / 'bin'}:/usr/bin:/bin"}
        for command in commands:
            if command.startswith(SKIPPED):
                continue
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=here,
                                  env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{command}\nfailed ({done.returncode}): {done.stderr}")
            if "$RERANKER" in command:
                scores = [float(line.split("\t")[0]) for line in done.stdout.splitlines()]
                assert len(scores) == 10 and scores == sorted(scores, reverse=True), done.stdout
        for output in ("scores.tsv", "answers.jsonl", "embeddings.npy", "states.safetensors"):
            assert (here / output).stat().st_size > 0, output


if __name__ == "__main__":
    main()
