#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the demo model's accuracy through bert-infer, or how much its data leaks.

    evaluate.py --bert-infer build/release/bin/bert-infer [--wordnet DIR]
        accuracy | leakage | sample | FILE

accuracy: 5,000 pairs of each held-out split. leakage: what the second sentence alone, or word
overlap alone, tells about the label. sample: 500 new pairs; exits with 0 if at least 95 % are right.
FILE: the pairs of a file with lines of first TAB second TAB label."""
import argparse
import collections
import json
import math
import os
import random
import subprocess
import sys

from pairs import LABELS, Generator
from sentences.lexicon import words_of

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "demo")


def predict(tool: str, model: str, pairs) -> list:
    """The label that bert-infer gives each pair."""
    lines = "".join(json.dumps({"first": p[0], "second": p[1]}) + "\n" for p in pairs)
    done = subprocess.run([tool, "-m", model, "-i", "-", "--input-format", "jsonl"], input=lines,
                          text=True, stdout=subprocess.PIPE, check=True)
    out = [LABELS.index(json.loads(line)["label"]) for line in done.stdout.splitlines()]
    if len(out) != len(pairs):
        raise RuntimeError("%s: %d answers, expected %d" % (tool, len(out), len(pairs)))
    return out


def table(pairs, answers) -> str:
    """Accuracy and a confusion matrix in Markdown; rows are the true labels."""
    cells = collections.Counter((p[2], a) for p, a in zip(pairs, answers))
    right = sum(cells[i, i] for i in range(3))
    lines = [
        "%d of %d right: %.1f %%" % (right, len(pairs), 100 * right / len(pairs)), "",
        "| true \\ answered | " + " | ".join(LABELS) + " |", "|---|---|---|---|"
    ]
    lines += [
        "| %s | " % LABELS[i] + " | ".join(str(cells[i, j])
                                           for j in range(3)) + " |"
        for i in range(3)
    ]
    return "\n".join(lines)


def by_family(pairs, answers) -> str:
    total, right = collections.Counter(), collections.Counter()
    for p, a in zip(pairs, answers):
        total[p[3]] += 1
        right[p[3]] += p[2] == a
    return ", ".join(
        "%s %.1f" % (f.replace("_pair", ""), 100 * right[f] / total[f]) for f in sorted(total))


def regression(rows, labels, features: int) -> float:
    """Accuracy of a multinomial logistic regression, trained on three quarters, tested on the rest.

    rows: a list of (feature, value) for each pair."""
    rng, cut = random.Random(0), len(rows) * 3 // 4
    weights = [[0.0] * features for _ in LABELS]
    scores = lambda row: [sum(w[i] * v for i, v in row) for w in weights]
    order = list(range(cut))
    for epoch in range(6):
        rng.shuffle(order)
        rate = 0.05 / (1 + epoch)
        for n in order:
            s = scores(rows[n])
            top = max(s)
            e = [math.exp(x - top) for x in s]
            for k, w in enumerate(weights):
                step = rate * ((labels[n] == k) - e[k] / sum(e))
                for i, v in rows[n]:
                    w[i] += step * v
    hits = sum(
        max(range(3), key=scores(row).__getitem__) == label
        for row, label in zip(rows[cut:], labels[cut:]))
    return hits / (len(rows) - cut)


def overlap(first: str, second: str) -> list:
    a, b = words_of(first), words_of(second)
    x, y = set(a), set(b)
    both, missing = len(x & y), len(y - x)
    values = [
        1,
        len(a) / 10,
        len(b) / 10, both / 5, both / len(y), both / len(x), both / len(x | y), missing == 0,
        missing == 1, missing == 2, missing > 2,
        len(x - y) == 0,
        len(x - y) == 1, x == y, a == b
    ]
    return [(i, float(v)) for i, v in enumerate(values)]


def leakage(pairs):
    labels, names = [p[2] for p in pairs], {}
    second = []
    for p in pairs:
        words = words_of(p[1])
        second.append([
            (names.setdefault(f, len(names)), 1.0)
            for f in sorted(set(words) | {a + " " + b for a, b in zip(words, words[1:])}) +
            ["#%d" % len(words)]
        ])
    print("second sentence alone (its words, pairs of words and length) is right in %.1f %%" %
          (100 * regression(second, labels, len(names))))
    print("overlap of words alone (counts, shares, lengths) is right in %.1f %%" %
          (100 * regression([overlap(*p[:2]) for p in pairs], labels, 15)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", metavar="accuracy|leakage|sample|FILE")
    parser.add_argument("--bert-infer", default="bert-infer", metavar="PATH")
    parser.add_argument("--model", default=MODEL, metavar="DIR")
    parser.add_argument("--wordnet", default="", metavar="DIR")
    parser.add_argument("--count", type=int, default=0)
    args = parser.parse_args()
    draw = lambda split, seed, n: [
        g.draw() for g in [Generator(seed, split, args.wordnet)] for _ in range(args.count or n)
    ]
    if args.what == "leakage":
        leakage(draw("train", 77, 40000))
    elif args.what == "sample":
        pairs = draw("tenth", 2026, 500)
        answers = predict(args.bert_infer, args.model, pairs)
        print(table(pairs, answers))
        return 0 if sum(p[2] == a for p, a in zip(pairs, answers)) >= 0.95 * len(pairs) else 1
    elif args.what != "accuracy":
        rows = [line.split("\t") for line in open(args.what).read().splitlines()]
        pairs = [(first, second, LABELS.index(label), "") for first, second, label in rows]
        print(table(pairs, predict(args.bert_infer, args.model, pairs)))
    else:
        for split in ("tenth", "words", "templates"):
            pairs = draw(split, 99, 5000)
            answers = predict(args.bert_infer, args.model, pairs)
            print("### %s\n\n%s\n\nBy family: %s.\n" %
                  (split, table(pairs, answers), by_family(pairs, answers)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
