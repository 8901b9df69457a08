# SPDX-License-Identifier: Apache-2.0
"""Embeddings on a Dask cluster; docs/cluster.md has an example."""
from __future__ import annotations

from typing import Any

from bert_infer.workers import add_embeddings, load_once


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
    types = data._meta.assign(**{to: None}).astype({to: object})
    return data.map_partitions(add_embeddings, model, column, to, options, settings, meta=types)


def _embeddings(texts: Any, model: str, options: dict[str, Any],
                settings: dict[str, Any]) -> list[Any]:
    return list(load_once(model, options).encode(list(texts), **settings))
