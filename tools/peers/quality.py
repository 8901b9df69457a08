# SPDX-License-Identifier: Apache-2.0
"""How sentence embeddings in a lower precision differ from those in f32."""
from pathlib import Path

import numpy as np

import sentences

COUNT, QUERIES, TOP = 10_000, 500, 10
PAIRS = Path(__file__).resolve().parents[2] / "tests" / "demo" / "everyday.tsv"


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))


def nearest(embeddings: np.ndarray) -> list[set]:
    """The TOP nearest other sentences of each of the first QUERIES."""
    scores = embeddings[:QUERIES] @ embeddings.T
    scores[np.arange(QUERIES), np.arange(QUERIES)] = -np.inf
    return [set(row) for row in np.argpartition(-scores, TOP)[:, :TOP].tolist()]


def measure(comparison, precisions: list[str], threads: int) -> None:
    """Prints a row for each engine and precision. All are compared with bert-infer's f32."""
    pairs = [line.split("\t")[:2] for line in PAIRS.read_text().splitlines()]
    texts = sentences.sentences(COUNT) + [text for pair in pairs for text in pair]
    base = found = None
    print(f"| {COUNT} sentences, {len(pairs)} pairs | cosine, mean | least | Spearman of pairs | "
          f"top {TOP} in common |\n|---|---|---|---|---|")
    for precision in ["f32", *(p for p in precisions if p != "f32")]:
        for engine in comparison.contestants(precision, threads):
            comparison.progress.say(f"{precision}: {engine.name}")
            _, embeddings, _ = engine.embed(texts)
            engine.close()
            embeddings = embeddings.astype(np.float64)
            embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
            similar = (embeddings[COUNT::2] * embeddings[COUNT + 1::2]).sum(1)
            neighbours = nearest(embeddings[:COUNT])
            if base is None:
                base, found = (embeddings, similar), neighbours
            cosines = (embeddings * base[0]).sum(1)
            spearman = np.corrcoef(ranks(similar), ranks(base[1]))[0, 1]
            common = np.mean([len(a & b) / TOP for a, b in zip(neighbours, found)])
            comparison.progress.say("")
            print(f"| {engine.name} {engine.version} {precision} | {cosines.mean():.5f} | "
                  f"{cosines.min():.5f} | {spearman:.5f} | {100 * common:.1f} % |", flush=True)
