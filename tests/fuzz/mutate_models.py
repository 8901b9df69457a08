#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs bert-infer on mutants of whole model directories:

    tests/fuzz/mutate_models.py build/asan/bin/bert-infer MODELS --count 1000 --seed 1

MODELS is a folder of models, such as build/asan/tests/fixtures. Of a random one, one to three files are
mutated: bytes flipped, inserted, cut or swapped with another file's, JSON values replaced, or the file
replaced by a link to nothing, to itself, to a device or to another file, by a FIFO, a socket, a device,
a folder or a Git LFS pointer, or removed. The program must then answer with JSON, or end with 1 and a
message of bounded length without control characters: never crash, hang or be stopped by a sanitizer.
The mutants that it fails on are kept in --findings. Exit status: 1 if there are any.
"""
import argparse
import json
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

POINTER = (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n")
VALUES = [None, True, -1, 0, 1, 2 ** 31, 2 ** 63, 2 ** 70, 1e308, 0.5, "", "\x1b[31m", "x" * 5000, "\u202e", [],
          [[]], {}, {"a": {"b": []}}, "../../etc/passwd"]
LINES = b"a man is walking\ttwo [MASK] dogs <mask>\n\xc3\xa9 " + b"the dog " * 100 + b"\tnobody\n"
ARGUMENTS = [[], [], [], ["--task", "tokens"], ["--task", "embed"], ["--task", "hidden"],
             ["--precision", "int8"], ["--precision", "bf16"], ["--max-length", "7"]]
MOST_OF_A_MESSAGE = 800  # characters, the program's name and escapes included


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 4, 30])):
        if data:
            data[position(data, rng) % len(data)] ^= 1 << rng.randrange(8)


def insert(data: bytearray, rng: random.Random) -> None:
    at = position(data, rng)
    data[at:at] = rng.choice([rng.randbytes(rng.randrange(1, 40)), b"\xff" * 8, b"\0" * 8, b"[" * 3000,
                              data[:200], b"\x1b]0;x\x07"])


def cut(data: bytearray, rng: random.Random) -> None:
    begin = position(data, rng)
    del data[begin:rng.choice([len(data), begin + 1, begin + rng.randrange(1, 200)])]


def position(data: bytearray, rng: random.Random) -> int:
    """Mostly near the beginning, where headers are."""
    return rng.randrange(min(len(data), rng.choice([16, 300, 5000, 1 << 40])) + 1) if data else 0


def places(value, found: list) -> list:
    """Every (container, key) of a JSON document."""
    for key in (value if isinstance(value, dict) else range(len(value))):
        found.append((value, key))
        if isinstance(value[key], (dict, list)):
            places(value[key], found)
    return found


def change_json(data: bytearray, rng: random.Random) -> None:
    try:
        document = json.loads(data)
        container, key = rng.choice(places(document, []))
    except (ValueError, IndexError, TypeError):
        return flip(data, rng)
    action = rng.randrange(4)
    if action == 0:
        del container[key]
    elif action == 1 and isinstance(container, dict):
        container[rng.choice([str(key) + "_", "num_labels", "\x1b[2J"])] = rng.choice(VALUES)
    else:
        container[key] = rng.choice(VALUES)
    data[:] = json.dumps(document, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")


def change_bytes(path: Path, rng: random.Random) -> str:
    change = rng.choice([flip, insert, cut] + [change_json] * (4 if path.suffix == ".json" else 0))
    data = bytearray(path.read_bytes())
    change(data, rng)
    path.write_bytes(data)
    return change.__name__


def replace(path: Path, rng: random.Random) -> str:
    """By something that is not the file that it should be."""
    others = [other for other in path.parent.iterdir() if other != path]
    path.unlink()
    kinds = {
        "nothing": lambda: None,
        "dangling link": lambda: path.symlink_to("absent"),
        "loop": lambda: path.symlink_to(path.name),
        "link to a device": lambda: path.symlink_to(rng.choice(["/dev/zero", "/dev/null", "/dev/full",
                                                                "/dev/urandom", "/dev/tty", "/proc/self/mem"])),
        "link to its folder": lambda: path.symlink_to("."),
        "another file": lambda: path.symlink_to(rng.choice(others).name) if others else None,
        "FIFO": lambda: os.mkfifo(path),
        "socket": lambda: make_socket(path),
        "folder": path.mkdir,
        "empty": path.touch,
        "Git LFS pointer": lambda: path.write_bytes(POINTER),
        "random bytes": lambda: path.write_bytes(rng.randbytes(rng.randrange(5000))),
    }
    if os.geteuid() == 0:
        kinds["device"] = lambda: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, rng.choice([3, 5, 8])))
    else:
        kinds["unreadable"] = lambda: (path.touch(), path.chmod(0))
    kind = rng.choice(list(kinds))
    kinds[kind]()
    return kind


def make_socket(path: Path) -> None:
    here = os.open(path.parent, os.O_RDONLY)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def mutate(model: Path, rng: random.Random) -> list[str]:
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        files = sorted(path for path in model.rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            break
        path = rng.choice(files)
        try:
            change = (replace if rng.random() < 0.4 else change_bytes)(path, rng)
        except OSError as error:  # the folder of a removed file, say
            change = str(error)
        done.append(f"{path.relative_to(model)}: {change}")
    return done


def verdict(done: subprocess.CompletedProcess) -> str:
    """What is wrong with a run, or ""."""
    errors = done.stderr.decode(errors="surrogateescape")
    if done.returncode not in (0, 1) or "Sanitizer" in errors or "runtime error" in errors:
        return f"exit status {done.returncode}"
    if re.search(r"[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\U0010ffff]|\u202e", errors):
        return "control characters in a message"
    if any(len(line) > MOST_OF_A_MESSAGE for line in errors.splitlines()):
        return "a message without bounds"
    if done.returncode == 1 and not errors.splitlines()[-1].startswith("bert-infer: "):
        return "no message"
    try:
        for line in done.stdout.splitlines():
            json.loads(line)
    except ValueError:
        return "no JSON"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, default=Path("findings"))
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    models = sorted({path.parent for name in ("config.json", "bert_config.json")
                     for path in options.models.rglob(name) if "Pooling" not in path.parent.name
                     and "Dense" not in path.parent.name})
    if not models:
        parser.error(f"{options.models}: there are no models in it")
    outcomes, kinds, findings = Counter(), Counter(), 0
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.seed, options.seed + options.count):
            rng = random.Random(number)
            mutant = Path(scratch) / f"mutant{number}"
            shutil.copytree(rng.choice(models), mutant)
            changes = mutate(mutant, rng)
            command = [options.program, "-m", mutant, *rng.choice(ARGUMENTS)]
            try:
                done = subprocess.run(command, input=LINES, capture_output=True, timeout=options.timeout)
                wrong = verdict(done)
                outcomes["answers" if done.returncode == 0 else "refused"] += 1
            except subprocess.TimeoutExpired as expired:
                wrong, done = f"no end in {options.timeout} s", expired
            kinds.update(change.split(": ")[-1] for change in changes)
            if wrong:
                findings += 1
                options.findings.mkdir(exist_ok=True)
                shutil.move(mutant, options.findings / f"mutant{number}")
                print(f"mutant {number}: {wrong}: {'; '.join(changes)}: {' '.join(map(str, command[3:]))}\n"
                      f"{(done.stderr or b'')[-3000:].decode(errors='replace')}", flush=True)
            else:
                shutil.rmtree(mutant)
    print(f"{options.count} mutants of {len(models)} models: {dict(outcomes)}, {findings} findings; "
          f"mutations: {dict(kinds.most_common())}")
    if options.count >= 40 and not (outcomes["answers"] and outcomes["refused"]):
        sys.exit("expected mutants that are answered and others that are refused")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
