# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores on a Spark cluster; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bert_infer.workers import Job


def encode(frame: Any, model: str, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """A pyspark DataFrame with the embeddings of a column's texts as another column, arrays of float.
    The others stay as they are, and there must be no null among the texts. Spark calls it with
    spark.sql.execution.arrow.maxRecordsPerBatch rows at a time.

    model     a directory or name, the same on every worker
    options   of SentenceTransformer: {"precision": "int8", "threads": 1}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    return _map(frame, Job.encode(model, column, to, options, settings))


def predict(frame: Any, model: str, columns: Sequence[str] = ("first", "second"), to: str = "scores",
            options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """A pyspark DataFrame with the scores of pairs, the texts of two columns, as another column,
    arrays [C] of float. Otherwise as encode().

    options   of CrossEncoder
    settings  of CrossEncoder.predict
    """
    return _map(frame, Job.predict(model, columns, to, options, settings))


def _map(frame: Any, job: Job) -> Any:
    from pyspark.sql import types  # type: ignore[import-not-found, unused-ignore]

    if not hasattr(frame, "mapInArrow"):
        raise TypeError(f"frame is a {type(frame).__module__}.{type(frame).__name__}, expected a "
                        "pyspark DataFrame")
    job.check_columns(frame.columns)
    for name in frame.columns:  # Spark does not tell them apart
        if name.lower() == job.to.lower():
            raise ValueError(f"the column {name!r} is there already, and Spark takes {job.to!r} for it")
    added = types.StructField(job.to, types.ArrayType(types.FloatType(), containsNull=False))
    # mapInArrow() looks columns up by their names, and would not find "a.b", or one of two.
    names, numbers = list(frame.columns), [f"column {i}" for i in range(len(frame.columns))]
    numbered = frame.toDF(*numbers)
    schema = types.StructType([*numbered.schema.fields, added])

    def over_batches(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield renamed(with_answers(renamed(batch, names), job), [*numbers, job.to])

    return numbered.mapInArrow(over_batches, schema).toDF(*names, job.to)


def renamed(batch: Any, names: Sequence[str]) -> Any:
    """The same pyarrow.RecordBatch, whose columns have other names."""
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]

    fields = [field.with_name(name) for field, name in zip(batch.schema, names)]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def with_answers(batch: Any, job: Job) -> Any:
    """A pyarrow.RecordBatch with another column."""
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]

    answers = job.of_arrow(job.load(), batch)
    rows, size = answers.shape
    lists = pa.ListArray.from_arrays(
        pa.array([size * row for row in range(rows + 1)], pa.int32()), pa.array(answers.ravel()),
        type=pa.list_(pa.field("element", pa.float32(), nullable=False)))
    return pa.RecordBatch.from_arrays([*batch.columns, lists],
                                      schema=batch.schema.append(pa.field(job.to, lists.type)))
