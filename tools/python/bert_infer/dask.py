# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores on a Dask cluster; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bert_infer.cross_encoder import CrossEncoder
from bert_infer.sentence_transformer import SentenceTransformer
from bert_infer.workers import add_embeddings, add_scores, load_once, scores_of


def encode(data: Any, model: str, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """Of a bag of texts, a bag of its embeddings, arrays [E]; of a dask.dataframe, the same with the
    embeddings of `column` as another column. Nothing is computed yet. A partition is one call.

    model     a directory or name, the same on every worker
    options   of SentenceTransformer: {"precision": "int8", "threads": 1}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    options = options or {}
    if not hasattr(data, "columns"):
        return data.map_partitions(_embeddings, model, options, settings)
    return data.map_partitions(add_embeddings, model, column, to, options, settings,
                               meta=_with(data, to))


def predict(data: Any, model: str, columns: Sequence[str] = ("first", "second"), to: str = "scores",
            options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """Of a bag of pairs of texts, a bag of their scores, arrays [C]; of a dask.dataframe, the same
    with the scores of two columns as another column. Otherwise as encode().

    options   of CrossEncoder
    settings  of CrossEncoder.predict
    """
    options = options or {}
    if not hasattr(data, "columns"):
        return data.map_partitions(_scores, model, options, settings)
    return data.map_partitions(add_scores, model, tuple(columns), to, options, settings,
                               meta=_with(data, to))


def _with(frame: Any, to: str) -> Any:
    return frame._meta.assign(**{to: None}).astype({to: object})


def _embeddings(texts: Any, model: str, options: dict[str, Any],
                settings: dict[str, Any]) -> list[Any]:
    return list(load_once(SentenceTransformer, model, options).encode(list(texts), **settings))


def _scores(pairs: Any, model: str, options: dict[str, Any], settings: dict[str, Any]) -> list[Any]:
    return list(scores_of(load_once(CrossEncoder, model, options), list(pairs), settings))
