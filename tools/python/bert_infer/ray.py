# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores with Ray Data; docs/cluster.md has an example."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bert_infer.workers import Job


class Worker:
    """An actor that holds a model and adds its answers to batches, pyarrow.Tables."""

    def __init__(self, job: Job) -> None:
        self.job, self.model = job, job.kind(job.model, **job.options)

    def __call__(self, batch: Any) -> Any:
        from ray.data.extensions import ArrowTensorArray  # type: ignore[import-not-found, unused-ignore]

        self.job.check_columns(batch.column_names)  # which are not always known before
        answers = self.job.of_arrow(self.model, batch)
        return batch.append_column(self.job.to, ArrowTensorArray.from_numpy(answers))


def encode(dataset: Any, model: str, actors: int, column: str = "text", to: str = "embedding",
           options: dict[str, Any] | None = None, batch_size: int = 1024, num_cpus: float = 1,
           **settings: Any) -> Any:
    """A ray.data.Dataset with the embeddings of a column's texts as another column, [E] float32. The
    others stay as they are, and there must be no null among the texts.

    model     a directory or name, the same on every machine
    actors    how many processes each load the model, with num_cpus processors of Ray's count and as
              many threads, unless the options say otherwise. Leave Ray at least one processor to read
              the dataset: if the actors have them all, it waits without end
    options   of SentenceTransformer: {"precision": "int8"}, ...
    settings  of SentenceTransformer.encode: normalize_embeddings=True, ...
    """
    options = {"threads": max(1, int(num_cpus)), **(options or {})}
    return _map(dataset, Job.encode(model, column, to, options, settings), actors, batch_size, num_cpus)


def predict(dataset: Any, model: str, actors: int, columns: Sequence[str] = ("first", "second"),
            to: str = "scores", options: dict[str, Any] | None = None, batch_size: int = 1024,
            num_cpus: float = 1, **settings: Any) -> Any:
    """A ray.data.Dataset with the scores of pairs, the texts of two columns, as another column, [C]
    float32. Otherwise as encode().

    options   of CrossEncoder
    settings  of CrossEncoder.predict
    """
    options = {"threads": max(1, int(num_cpus)), **(options or {})}
    return _map(dataset, Job.predict(model, columns, to, options, settings), actors, batch_size,
                num_cpus)


def _map(dataset: Any, job: Job, actors: int, batch_size: int, num_cpus: float) -> Any:
    from ray.data import ActorPoolStrategy  # type: ignore[import-not-found, unused-ignore]

    if not hasattr(dataset, "map_batches"):
        raise TypeError(f"dataset is a {type(dataset).__module__}.{type(dataset).__name__}, expected a "
                        "ray.data.Dataset")
    there = dataset.columns(fetch_if_missing=False)
    if there is not None:
        job.check_columns(there)
    return dataset.map_batches(
        Worker, fn_constructor_args=(job,), batch_format="pyarrow", batch_size=batch_size,
        num_cpus=num_cpus, compute=ActorPoolStrategy(size=actors))
