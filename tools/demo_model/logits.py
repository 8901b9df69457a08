#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes PyTorch's logits of 1,000 pairs not used in training, for bert-regress.

    tools/demo_model/logits.py tests/demo/logits.safetensors
"""
import argparse
import itertools
import json
import os
import sys

import torch

import bert
from pairs import Generator
from vocabulary import WordPiece

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "demo")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", metavar="FILE")
    parser.add_argument("--model", default=MODEL, metavar="DIR")
    parser.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    with open(os.path.join(args.model, "vocab.txt")) as f:
        vocabulary = f.read().split("\n")[:-1]
    tokenizer, model = WordPiece(vocabulary), bert.Classifier(len(vocabulary)).load(args.model)
    generator = Generator(1000, "tenth")
    inputs = []
    while len(inputs) < args.count:
        first, second, _, _ = generator.draw()
        if len(tokenizer.pair(first, second)[0]) <= bert.POSITIONS:
            inputs.append([first, second])
    encoded = [tokenizer.pair(*pair) for pair in inputs]
    with torch.no_grad():
        logits = torch.cat(
            [model(torch.tensor([ids]), torch.tensor([types])) for ids, types in encoded])
    starts = [0, *itertools.accumulate(len(ids) for ids, _ in encoded)]
    tensors = {
        "ids": torch.tensor(sum((e[0] for e in encoded), []), dtype=torch.int16),
        "type_ids": torch.tensor(sum((e[1] for e in encoded), []), dtype=torch.uint8),
        "starts": torch.tensor(starts, dtype=torch.int32),
        "logits": logits
    }
    bert.write_safetensors(args.output, tensors, {"inputs": json.dumps(inputs)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
