# SPDX-License-Identifier: Apache-2.0
"""Embeddings with Ray Data; docs/cluster.md has an example."""
from __future__ import annotations

from typing import Any

import numpy as np

from bert_infer.sentence_transformer import SentenceTransformer


class Encoder:
    """An actor that holds a model and adds its embeddings to batches, dicts of columns."""

    def __init__(self, model: str, column: str, to: str, options: dict[str, Any],
                 settings: dict[str, Any]) -> None:
        self.model = SentenceTransformer(model, **options)
        self.column, self.to, self.settings = column, to, settings

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        texts = np.asarray(batch[self.column]).tolist()
        return {**batch, self.to: self.model.encode(texts, **self.settings)}


def encode(dataset: Any, model: str, actors: int, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, batch_size: int = 1024, num_cpus: float = 1,
           **settings: Any) -> Any:
    """A ray.data.Dataset with the embeddings of a column's texts as another column, [E] float32.

    model     a directory or name, the same on every machine
    actors    how many processes each load the model, with num_cpus processors of Ray's count and as
              many threads, unless the options say otherwise
    options   of SentenceTransformer: {"precision": "int8"}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    from ray.data import ActorPoolStrategy  # type: ignore[import-not-found, unused-ignore]

    options = {"threads": max(1, int(num_cpus)), **(options or {})}
    return dataset.map_batches(
        Encoder, fn_constructor_args=(model, column, to, options, settings), batch_format="numpy",
        batch_size=batch_size, num_cpus=num_cpus, compute=ActorPoolStrategy(size=actors))
