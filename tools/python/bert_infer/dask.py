# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores on a Dask cluster; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bert_infer.workers import Job


def encode(data: Any, model: str, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """For a bag of texts, a bag of their embeddings, arrays [E] float32; for a dask.dataframe, the same
    frame with such arrays for `column` as another column. Nothing is computed yet. A partition is one
    call; there must be no null among its texts. The new column has the dtype object:
    to_parquet(path, schema={"embedding": pyarrow.list_(pyarrow.float32())}) saves it.

    model     a directory or name, the same on every worker
    options   of SentenceTransformer: {"precision": "int8", "threads": 1}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    return _map(data, Job.encode(model, column, to, options, settings))


def predict(data: Any, model: str, columns: Sequence[str] = ("first", "second"), to: str = "scores",
            options: dict[str, Any] | None = None, **settings: Any) -> Any:
    """For a bag of pairs of texts, a bag of their scores, arrays [C]; for a dask.dataframe, the same
    frame with the scores of two columns as another column. Otherwise as encode().

    options   of CrossEncoder
    settings  of CrossEncoder.predict
    """
    return _map(data, Job.predict(model, columns, to, options, settings))


def _map(data: Any, job: Job) -> Any:
    from dask.bag import Bag  # type: ignore[import-not-found, import-untyped, unused-ignore]

    is_bag: bool = isinstance(data, Bag)  # which mypy must not follow into Dask's untyped functions
    if is_bag:
        return data.map_partitions(_of_bag, job)
    if not hasattr(data, "_meta") or getattr(data, "ndim", 0) != 2:
        raise TypeError(f"data is a {type(data).__module__}.{type(data).__name__}, expected a dask.bag "
                        "or a dask.dataframe")
    job.check_columns(list(data.columns))
    meta = data._meta.assign(**{job.to: None}).astype({job.to: object})
    return data.map_partitions(_of_frame, job, meta=meta)


def _of_bag(partition: Any, job: Job) -> list[Any]:
    inputs = list(partition)
    nulls = sum(item is None or (isinstance(item, (list, tuple)) and None in item) for item in inputs)
    if nulls:
        raise ValueError(f"the bag has a null in {nulls} of {len(inputs)} items, expected texts")
    return list(job.answers(job.load(), inputs))


def _of_frame(frame: Any, job: Job) -> Any:
    for column in job.columns:
        job.check_nulls(column, int(frame[column].isna().sum()), len(frame))
    answers = job.of_columns(job.load(), *(frame[column].tolist() for column in job.columns))
    return frame.assign(**{job.to: list(answers)})
