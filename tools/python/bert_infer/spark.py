# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores on a Spark cluster; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_infer.workers import add_embeddings, add_scores, check_new


def encode(frame: Any, model: str, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """A pyspark DataFrame with the embeddings of a column's texts as another column, arrays of float.
    Spark calls it with spark.sql.execution.arrow.maxRecordsPerBatch rows at a time.

    model     a directory or name, the same on every worker
    options   of SentenceTransformer: {"precision": "int8", "threads": 1}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    return _map(frame, to, add_embeddings, model, column, to, options or {}, settings)


def predict(frame: Any, model: str, columns: Sequence[str] = ("first", "second"), to: str = "scores",
            options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """A pyspark DataFrame with the scores of pairs, the texts of two columns, as another column,
    arrays [C] of float. Otherwise as encode().

    options   of CrossEncoder
    settings  of CrossEncoder.predict
    """
    return _map(frame, to, add_scores, model, tuple(columns), to, options or {}, settings)


def _map(frame: Any, to: str, add: Callable[..., Any], *arguments: Any) -> Any:
    from pyspark.sql import types  # type: ignore[import-not-found, unused-ignore]

    check_new(frame.columns, to)
    added = types.StructField(to, types.ArrayType(types.FloatType(), containsNull=False))
    schema = types.StructType([*frame.schema.fields, added])

    def over_batches(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield add(batch, *arguments)

    return frame.mapInPandas(over_batches, schema)
