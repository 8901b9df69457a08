# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores with Ray Data; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_infer.cross_encoder import CrossEncoder
from bert_infer.sentence_transformer import SentenceTransformer
from bert_infer.workers import scores_of


class Encoder:
    """An actor that holds a model and adds its embeddings to batches, dicts of columns."""

    def __init__(self, model: str, column: str, to: str, options: dict[str, Any],
                 settings: dict[str, Any]) -> None:
        self.model = SentenceTransformer(model, **options)
        self.column, self.to, self.settings = column, to, settings

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        texts = np.asarray(batch[self.column]).tolist()
        return {**batch, self.to: self.model.encode(texts, **self.settings)}


class Scorer:
    """An actor that holds a classifier and adds the scores of pairs to batches."""

    def __init__(self, model: str, columns: Sequence[str], to: str, options: dict[str, Any],
                 settings: dict[str, Any]) -> None:
        self.model = CrossEncoder(model, **options)
        self.columns, self.to, self.settings = columns, to, settings

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        pairs = list(zip(*(np.asarray(batch[column]).tolist() for column in self.columns)))
        return {**batch, self.to: scores_of(self.model, pairs, self.settings)}


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
    return _map(dataset, Encoder, actors, batch_size, num_cpus, model, column, to, options, settings)


def predict(dataset: Any, model: str, actors: int, columns: Sequence[str] = ("first", "second"),
            to: str = "scores", options: dict[str, Any] | None = None, batch_size: int = 1024,
            num_cpus: float = 1, **settings: Any) -> Any:
    """A ray.data.Dataset with the scores of pairs, the texts of two columns, as another column, [C]
    float32. Otherwise as encode().

    options   of CrossEncoder
    settings  of CrossEncoder.predict
    """
    return _map(dataset, Scorer, actors, batch_size, num_cpus, model, tuple(columns), to, options,
                settings)


def _map(dataset: Any, kind: type[Any], actors: int, batch_size: int, num_cpus: float, model: str,
         columns: Any, to: str, options: dict[str, Any] | None, settings: dict[str, Any]) -> Any:
    from ray.data import ActorPoolStrategy  # type: ignore[import-not-found, unused-ignore]

    options = {"threads": max(1, int(num_cpus)), **(options or {})}
    return dataset.map_batches(
        kind, fn_constructor_args=(model, columns, to, options, settings), batch_format="numpy",
        batch_size=batch_size, num_cpus=num_cpus, compute=ActorPoolStrategy(size=actors))
