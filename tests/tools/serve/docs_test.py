#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/serving.md, on free ports. Usage: docs_test.py BIN_DIR"""
import json
import os
import re
import signal
import socket
import subprocess

from serving import ROOT, ToolTest, main

EXPECTED = [  # of the commands with curl, what their answers hold
    "entailment", "embedding", "score", "entity_group", "answer", "token_str",
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Docs(ToolTest):
    tool = "bert-serve"

    def test_commands(self):
        heads = {"ENCODER": ("--head", "none"), "RERANKER": ("--labels", "1"),
                 "NER": ("--head", "tokens", "--labels", "3", "--label-names", "O,B-WHO,I-WHO"),
                 "QA": ("--head", "qa"), "MASKED_LM": ("--head", "mlm")}
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        for name, options in heads.items():
            environment[name] = str(self.make_model(name, *options))
        page = (ROOT / "docs" / "serving.md").read_text()
        blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
        commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
        ports = {port: str(free_port()) for port in ("3000", "3001")}
        answers = []
        for command in commands:
            command = re.sub("|".join(ports), lambda found: ports[found[0]], command)
            if command.endswith("&"):
                self.start(command.removesuffix("&"), environment)
                continue
            done = subprocess.run(["bash", "-euc", command], env=environment, capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, 0, (command, done.stderr))
            answers.append(done.stdout)
        self.assertEqual(len(answers), len(EXPECTED))
        for answer, expected in zip(answers, EXPECTED):
            json.loads(answer)
            self.assertIn(expected, answer)

    def start(self, command: str, environment: dict):
        process = subprocess.Popen(["bash", "-c", "exec " + command], env=environment,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        for line in process.stderr:
            if line == "bert-serve: ready\n":
                return
        self.fail(command)

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()

    def test_every_route_of_the_page_is_there(self):
        page = (ROOT / "docs" / "serving.md").read_text()
        source = "".join(path.read_text() for path in (ROOT / "tools/serve/routes").rglob("*.cc"))
        for route in re.findall(r"(?<=[`/ ])(/(?:v[12]/)?[a-z_]+)(?=`)", page):
            self.assertIn(f'"{route}"', source)


if __name__ == "__main__":
    main()
