#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random combinations of a tokenizer.json's components against Python's tokenizers; skipped without them.

    tests/tokenizer/parts/combinations_test.py COMPARE_ENCODINGS [--combinations N] [--lines N] [--seed S]

Compares ids, segment ids, offsets and strings of nasty lines, singly and in pairs, whole and truncated, and what
random ids decode to. A definition
or a line that tokenizers refuse must be refused here; one that is refused here alone must be for a reason of REFUSED.
"""
import argparse
import collections
import contextlib
import functools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "tokenizer" / "oracle"), str(Path(__file__).resolve().parent)]
try:
    import tokenizers
except ImportError as error:
    python = ROOT / "build" / "peers" / "bin" / "python"
    if python.exists() and Path(sys.prefix) != ROOT / "build" / "peers":
        os.execv(python, [str(python), *sys.argv])
    print(f"skipped: {error}; tools/peers/setup installs what this test compares with")
    sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PEERS") == "1" else 77)
import compare_with_oracle as oracle
from random_definition import Definitions

# What is refused here on purpose, by what the message has in it.
REFUSED = ["when normalised", "post_processor"]
# 0.23.3 counts a pair's texts otherwise than 0.23.2 before it truncates them.
TRUNCATES_PAIRS = tokenizers.__version__ == "0.23.2"


def lines(rng: random.Random, definition: dict, count: int):
    vocab = definition["model"]["vocab"]
    words = list(vocab) if isinstance(vocab, dict) else [piece for piece, _ in vocab]
    special = [token["content"] for token in definition["added_tokens"]] or ["[SEP]"]
    nasty = oracle.Nasty(rng, words, special)
    functions = oracle.kinds(nasty)
    # The system's Oniguruma may not know the newest characters; \\p{L} and \\p{N} do not depend on it.
    is_old = any(escape in json.dumps(definition["pre_tokenizer"]) + json.dumps(definition["normalizer"])
                 for escape in (r"\\w", r"\\d", r"\\b", r"\\X", r"\\p{P}", "(?i"))
    known = lambda text: "".join(c for c in text if not is_old or unicodedata.category(c) != "Cn")
    for _ in range(count):
        item = {"first": known(rng.choice(functions)())}
        if rng.random() < 0.1:
            item["first"] = rng.choice(["", " ", "\n", "  a ", " " * 40 + "a", "the  ABC\r\n\r\n  12345!"])
        if rng.random() < 0.25:
            item["second"] = known(rng.choice(functions)())
        if rng.random() < 0.3 and (TRUNCATES_PAIRS or "second" not in item):
            item["max_length"] = rng.randint(12, 30)
        yield item


@contextlib.contextmanager
def no_stderr():
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def expect(tokenizer, item: dict, direction: str) -> dict:
    if "max_length" in item:
        tokenizer.enable_truncation(item["max_length"], direction=direction)
    else:
        tokenizer.no_truncation()
    try:
        found = tokenizer.encode(item["first"], item.get("second"))
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"panic" if type(error).__name__ == "PanicException" else "error": str(error)}
    ids = found.ids + random.Random(item["first"]).choices(range(tokenizer.get_vocab_size()), k=8)
    ids = [i for i in ids if tokenizer.id_to_token(i) is not None]
    try:
        text = {"decode": ids, "decoded": tokenizer.decode(ids, False), "without_special": tokenizer.decode(ids)}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text = {}
    return text | {"ids": found.ids, "type_ids": found.type_ids, "tokens": found.tokens,
            "offsets": [end for offset in found.offsets for end in offset]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--combinations", type=int, default=150)
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stop", action="store_true", help="keep the first definition that differs")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    counts = collections.Counter()
    for seed in range(options.seed, options.seed + options.combinations):
        rng = random.Random(seed)
        definition = Definitions(rng).definition()
        text = json.dumps(definition)
        try:
            tokenizer = tokenizers.Tokenizer.from_str(text)
        except BaseException:
            counts["definitions that tokenizers refuse"] += 1
            with tempfile.TemporaryDirectory() as scratch:
                Path(scratch, "tokenizer.json").write_text(text)
                run = subprocess.run([options.program, scratch], text=True, capture_output=True, input="")
            if run.returncode != 1:
                counts["different"] += 1
                print(f"seed {seed}: exit {run.returncode}, where tokenizers refuse the definition")
            continue
        direction = ((definition["truncation"] or {}).get("direction") or "Right").lower()
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "tokenizer.json").write_text(text)
            ours = functools.partial(subprocess.run, [options.program, scratch], text=True, capture_output=True)
            run = ours(input="")  # first, as tokenizers hang on some of what is refused here
            if run.returncode == 0:
                with no_stderr():  # tokenizers' panics
                    items = [item | expect(tokenizer, item, direction)
                             for item in lines(rng, definition, options.lines)]
                counts["lines on which tokenizers panic"] += sum("panic" in item for item in items)
                # Of what is truncated, the rest is not read here: an error there is no error.
                items = [item for item in items
                         if "panic" not in item and not ("error" in item and "max_length" in item)]
                run = ours(input="".join(json.dumps(item) + "\n" for item in items))
        if run.returncode:
            is_meant = run.returncode == 1 and any(reason in run.stderr for reason in REFUSED)
            counts["refused" if is_meant else "different"] += 1
            if not is_meant:
                print(f"seed {seed}: exit {run.returncode}: {run.stderr.strip()}")
            continue
        counts["combinations"] += 1
        for compared, different in json.loads(run.stdout).values():
            counts["lines"] += compared
            counts["different"] += different
            if different:
                print(f"seed {seed}: {different} of {compared} lines differ")
                print({key: definition[key] for key in ("normalizer", "pre_tokenizer", "post_processor", "truncation")},
                      {k: v for k, v in definition["model"].items() if k not in ("vocab", "merges")})
                print(run.stderr[:1500])
        counts["lines that tokenizers refuse"] += sum("error" in item for item in items)
        if counts["different"] and options.stop:
            Path("/tmp/different.json").write_text(text)
            break
    print(dict(counts))
    # One definition in ten is refused on purpose.
    is_idle = not counts["lines"] or counts["refused"] > options.combinations // 4
    sys.exit(1 if counts["different"] or is_idle else 0)


if __name__ == "__main__":
    main()
