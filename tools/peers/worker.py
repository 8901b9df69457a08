# SPDX-License-Identifier: Apache-2.0
"""A process that holds one engine: worker.py ENGINE MODEL PRECISION THREADS CALIBRATION.json

Of several engines and precisions, with commas between them, each is loaded and answers a short input before the
next one, and the last one is held. Reads commands, a line of JSON each, and answers each by a line:
  {"time": [ids, type_ids]}            -> {"ms": median of at least 5 runs (fewer if they take 20 s) and 0.3 s,
                                                  after one more}
  {"states": [ids, type_ids], "to": F} -> the last hidden states in F (.npy), [N, S, H]
  {"embed": texts, "to": F}            -> {"seconds": ...}, embeddings in F
  {"memory": null}                     -> {"peak": bytes}
Its first line, when it is loaded and has answered a short input, has the engine's version.
"""
import json
import os
import resource
import statistics
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = sys.argv[4]
for quiet in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS"):
    os.environ[quiet] = "1"
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever an engine prints is no answer

import numpy as np  # noqa: E402

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "reference")]
from engines import ENGINES  # noqa: E402


def say(**values) -> None:
    answers.write(json.dumps(values) + "\n")
    answers.flush()


def run_timed(engine, batch: list) -> float:
    engine.states(*batch)
    times = []
    while sum(times) < 0.3 or (len(times) < 5 and sum(times) < 20):
        start = time.perf_counter()
        engine.states(*batch)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def answer(engine, command: dict) -> None:
    if "time" in command:
        say(ms=run_timed(engine, command["time"]))
    elif "states" in command:
        np.save(command["to"], engine.states(*command["states"]))
        say()
    elif "embed" in command:
        engine.embed(command["embed"][:40])
        begin = time.perf_counter()
        embeddings = engine.embed(command["embed"])
        seconds = time.perf_counter() - begin
        np.save(command["to"], embeddings)
        say(seconds=seconds)
    else:
        say(peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> None:
    names, model, precisions, threads, calibration = sys.argv[1:]
    for name, precision in zip(names.split(","), precisions.split(","), strict=True):
        engine = ENGINES[name](Path(model), precision, int(threads), json.loads(Path(calibration).read_text()))
        engine.states([[101, 2023, 2003, 102]], [[0, 0, 0, 0]])
    say(version=engine.version)
    for line in sys.stdin:
        answer(engine, json.loads(line))


if __name__ == "__main__":
    main()
