# SPDX-License-Identifier: Apache-2.0
"""Embeddings on a Spark cluster; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bert_infer.workers import add_embeddings


def encode(frame: Any, model: str, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """A pyspark DataFrame with the embeddings of a column's texts as another column, arrays of float.
    Spark calls it with spark.sql.execution.arrow.maxRecordsPerBatch rows at a time.

    model     a directory or name, the same on every worker
    options   of SentenceTransformer: {"precision": "int8", "threads": 1}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    from pyspark.sql import types  # type: ignore[import-not-found, unused-ignore]

    if to in frame.columns:
        raise ValueError(f"the column {to!r} is there already")
    added = types.StructField(to, types.ArrayType(types.FloatType(), containsNull=False))
    schema = types.StructType([*frame.schema.fields, added])
    return frame.mapInPandas(_over_batches(model, column, to, options or {}, settings), schema)


def _over_batches(*arguments: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def embed(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield add_embeddings(batch, *arguments)

    return embed
