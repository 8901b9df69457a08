#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the demo model from scratch, first the vocabulary, then the classifier.

The pairs are generated during training.

    apt-get install python3-torch libopenblas0-openmp wordnet-base
    tools/demo_model/train.py --output models/demo

The same seed on the same machine gives the same bits. Debian's default libblas takes twenty times
as long as OpenBLAS."""
import argparse
import collections
import multiprocessing
import os
import random
import sys
import time

# Debian 12's OpenBLAS does not recognise newer processors and falls back to its slowest kernels.
if "OPENBLAS_CORETYPE" not in os.environ and os.path.exists("/proc/cpuinfo"):
    flags = open("/proc/cpuinfo").read()
    if "avx2" in flags:
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512bw" in flags else "Haswell"

import torch
import torch.nn.functional as F

import bert
from pairs import Generator
from sentences.lexicon import words_of
from sentences.wordnet import wordnet_words
from vocabulary import WordPiece, train as train_vocabulary


def make_vocabulary(wordnet: str, size: int, seed: int) -> list:
    """Trained on the words of generated pairs, weighted by frequency, and all words of WordNet's
    pools."""
    counts = collections.Counter()
    generator = Generator(seed, "train", wordnet)
    for _ in range(30000):
        first, second, _, _ = generator.draw()
        counts.update(words_of(first + " " + second))
    counts = collections.Counter({w: 10 + min(n, 1000) for w, n in counts.items()})
    for words in wordnet_words(wordnet).values():
        counts.update(w for w in words if w not in generator.lex.forms)
    return train_vocabulary(counts, size)


def draw_groups(queue, seed, wordnet, tokenizer, size: int, chunk: int):
    """Fills the queue, from its own process and forever, with batches of similar length."""
    generator, rng = Generator(seed, "train", wordnet, unfiltered=100000), random.Random(seed)
    while True:
        drawn = []
        for _ in range(size * chunk):
            first, second, label, _ = generator.draw()
            ids, types = tokenizer.pair(first, second)
            if len(ids) <= bert.POSITIONS:
                drawn.append((len(ids), ids, types, label))
        drawn.sort(key=lambda d: d[0])
        groups = [drawn[i:i + size] for i in range(0, len(drawn), size)]
        rng.shuffle(groups)
        for group in groups:
            queue.put(group)


def collate(group):
    longest = max(d[0] for d in group)
    ids = torch.tensor([d[1] + [0] * (longest - d[0]) for d in group])
    types = torch.tensor([d[2] + [0] * (longest - d[0]) for d in group])
    mask = None
    if any(d[0] < longest for d in group):
        lengths = torch.tensor([d[0] for d in group])
        mask = (torch.arange(longest)[None, :] >= lengths[:, None])[:, None, None, :] * -1e9
    return ids, types, mask, torch.tensor([d[3] for d in group])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", required=True, metavar="DIR")
    parser.add_argument("--wordnet", default="/usr/share/wordnet", metavar="DIR")
    parser.add_argument("--steps", type=int, default=30000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--vocabulary", type=int, default=7500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.wordnet, "data.noun")):
        print("train.py: %s/data.noun: not found; install Debian's wordnet-base" % args.wordnet,
              file=sys.stderr)
        return 1
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    torch.use_deterministic_algorithms(True)
    vocabulary = make_vocabulary(args.wordnet, args.vocabulary, args.seed)
    run(args, vocabulary)
    return 0


def run(args, vocabulary):
    tokenizer = WordPiece(vocabulary)
    model = bert.Classifier(len(vocabulary))
    decayed = [p for p in model.parameters() if p.dim() == 2 and p.shape[0] != len(vocabulary)]
    undecayed = [p for p in model.parameters() if p.dim() != 2 or p.shape[0] == len(vocabulary)]
    optimizer = torch.optim.AdamW([{
        "params": decayed,
        "weight_decay": 0.01
    }, {
        "params": undecayed,
        "weight_decay": 0.0
    }], lr=args.rate, betas=(0.9, 0.98))
    queue = multiprocessing.Queue(300)
    source = multiprocessing.Process(
        target=draw_groups, daemon=True,
        args=(queue, args.seed + 1, args.wordnet, tokenizer, args.batch, 100))
    source.start()
    start, loss_sum, right, seen = time.time(), 0.0, 0, 0
    for step in range(1, args.steps + 1):
        ids, types, mask, labels = collate(queue.get())
        share = min(1.0, step / 400, (args.steps - step + 1) / (0.35 * args.steps))
        for group in optimizer.param_groups:
            group["lr"] = args.rate * share
        logits = model(ids, types, mask)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss_sum += loss.item() * len(labels)
        right += (logits.argmax(1) == labels).sum().item()
        seen += len(labels)
        if step % 250 == 0:
            print(
                "step %d loss %.4f accuracy %.4f seconds %.0f" %
                (step, loss_sum / seen, right / seen, time.time() - start), flush=True)
            loss_sum, right, seen = 0.0, 0, 0
        if step % 2000 == 0 or step == args.steps:
            bert.save(args.output, model, vocabulary)
    source.terminate()


if __name__ == "__main__":
    sys.exit(main())
