# SPDX-License-Identifier: Apache-2.0
"""bert-infer and its peers behind one interface: a process each, with the same model.

    start            seconds from the process' start to its first answer
    time(shapes)     milliseconds for each shape
    states(inputs)   the last hidden states of each input, [S, H]
    embed(texts)     (seconds, embeddings, peak memory in bytes)
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tensor_file import TensorFile

PEERS = Path(__file__).resolve().parent
SHORT = {"ids": [101, 2023, 2003, 102], "type_ids": [0, 0, 0, 0]}


def peak_memory(process: subprocess.Popen) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def run(command: list, **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"compare: {Path(command[0]).name} failed: {done.stderr.strip()}")
    return done.stdout


def lengths_of(shape: str) -> list[int]:
    """Of "8x128", or of "lengths:17,31"."""
    if shape.startswith("lengths:"):
        return [int(length) for length in shape.removeprefix("lengths:").split(",")]
    batch, length = shape.split("x")
    return [int(length)] * int(batch)


class BertInfer:
    name = "bert-infer"

    def __init__(self, programs: Path, model: Path, precision: str, threads: int, backend: str,
                 scratch: Path):
        self.programs, self.scratch = programs, scratch
        self.options = ["-m", model, "--precision", precision, "--threads", threads,
                        "--backend", backend]
        self.version = run([programs / "bert-infer", "--version"]).split()[1]
        sample, = self.bench(["--runs", 1, "1x1"])
        self.version += f" ({sample['product']})"
        begin = time.perf_counter()
        process = self.stream([])
        self.ask(process, [json.dumps(SHORT)])
        self.start = time.perf_counter() - begin
        process.communicate()

    def bench(self, shapes: list) -> list[dict]:
        lines = run([self.programs / "bert-bench", *self.options, "--json", *shapes]).splitlines()
        return [json.loads(line) for line in lines]

    def stream(self, options: list) -> subprocess.Popen:
        command = [self.programs / "bert-infer", *self.options, "--workers", 1, *options,
                   "--input-format", "jsonl", "-i", "-"]
        return subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, process: subprocess.Popen, lines: list[str]) -> list[dict]:
        if len(lines) == 1:
            process.stdin.write((lines[0] + "\n").encode())
            process.stdin.flush()
            answers = [process.stdout.readline()]
        else:  # the writes of as many lines would block while nobody reads
            path = self.scratch / "lines.jsonl"
            path.write_text("\n".join(lines) + "\n")
            with path.open("rb") as file:
                feeder = subprocess.Popen(["cat"], stdin=file, stdout=process.stdin)
                answers = [process.stdout.readline() for _ in lines]
                feeder.wait()
        return [json.loads(answer) for answer in answers]

    def time(self, shapes: list[str]) -> list[float]:
        return [result["median_ms"] for result in self.bench(shapes)]

    def states(self, inputs: list) -> list[np.ndarray]:
        path = self.scratch / "states.safetensors"
        lines = "".join(json.dumps({"ids": i.ids, "type_ids": i.type_ids}) + "\n" for i in inputs)
        run([self.programs / "bert-infer", *self.options, "--task", "hidden", "--input-format",
             "jsonl", "-o", path], input=lines)
        stored = TensorFile(path)
        hidden, starts = stored.read("hidden"), stored.read("starts")
        return [hidden[a:b] for a, b in zip(starts, starts[1:])]

    def embed(self, texts: list[str]) -> tuple[float, np.ndarray, int]:
        lines = [json.dumps({"first": text}) for text in texts]
        process = self.stream(["--task", "embed"])
        self.ask(process, lines[:1])
        begin = time.perf_counter()
        answers = self.ask(process, lines)
        seconds = time.perf_counter() - begin
        peak = peak_memory(process)
        process.communicate()
        embeddings = np.array([answer["embedding"] for answer in answers], np.float32)
        return seconds, embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True), peak

    def close(self) -> None:
        pass


class Peer:
    """One of engines.ENGINES, in a process of worker.py, which says what several names and precisions mean."""

    def __init__(self, name: str, model: Path, precision: str, threads: int, scratch: Path):
        self.name, self.scratch = name, scratch
        begin = time.perf_counter()
        log = (scratch / f"{name}.log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(PEERS / "worker.py"), name, str(model), precision,
             str(threads), str(scratch / "calibration.json")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            env=os.environ | {"PEERS_SCRATCH": str(scratch)})
        self.version = self.read()["version"]
        self.start = time.perf_counter() - begin

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            log = (self.scratch / f"{self.name}.log").read_text()
            sys.exit(f"compare: {self.name} failed:\n{log}")
        return json.loads(line)

    def ask(self, **command) -> dict:
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self.read()

    def time(self, shapes: list[str]) -> list[float]:
        random = np.random.default_rng(1)
        times = []
        for shape in shapes:
            ids = [random.integers(1000, 30000, n).tolist() for n in lengths_of(shape)]
            types = [[0] * len(row) for row in ids]
            times.append(self.ask(time=[ids, types])["ms"])
        return times

    def states(self, inputs: list) -> list[np.ndarray]:
        to = self.scratch / "states.npy"
        self.ask(states=[[i.ids for i in inputs], [i.type_ids for i in inputs]], to=str(to))
        return [rows[:len(i.ids)] for rows, i in zip(np.load(to), inputs)]

    def embed(self, texts: list[str]) -> tuple[float, np.ndarray, int]:
        to = self.scratch / "embeddings.npy"
        seconds = self.ask(embed=texts, to=str(to))["seconds"]
        return seconds, np.load(to), peak_memory(self.process)

    def close(self) -> None:
        self.process.communicate()
