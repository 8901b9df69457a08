# SPDX-License-Identifier: Apache-2.0
"""What the recipes for Dask, Spark and Ray share: what is asked of the workers, checked before they
start, and models that each process loads once."""
from __future__ import annotations

import inspect
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bert_infer.cross_encoder import CrossEncoder
from bert_infer.sentence_transformer import SentenceTransformer

# Arguments of encode() and predict() that a column of vectors leaves no choice.
FIXED = {"convert_to_numpy": True, "convert_to_tensor": False, "output_value": "sentence_embedding"}

_loaded: dict[str, Any] = {}
_loading = threading.Lock()


def load_once(kind: type[Any], model: str, options: dict[str, Any]) -> Any:
    """The model of a directory or name, with the options of its kind, SentenceTransformer or
    CrossEncoder. Threads of one process share it."""
    key = repr((kind.__name__, model, sorted(options.items())))
    with _loading:
        if key not in _loaded:
            _loaded[key] = kind(model, **options)
        return _loaded[key]


@dataclass(frozen=True)
class Job:
    """What workers compute, as a new column `to`: embeddings of the texts of one column, with a
    SentenceTransformer, or scores of the pairs of two, with a CrossEncoder. `options` are for the class,
    `settings` for its encode() or predict()."""
    kind: type[Any]
    model: str
    columns: tuple[str, ...]
    to: str
    options: dict[str, Any]
    settings: dict[str, Any]

    @classmethod
    def encode(cls, model: str, column: str, to: str, options: dict[str, Any] | None,
               settings: dict[str, Any]) -> Job:
        return cls(SentenceTransformer, model, (column,), to, options or {}, settings)._checked()

    @classmethod
    def predict(cls, model: str, columns: Sequence[str], to: str, options: dict[str, Any] | None,
                settings: dict[str, Any]) -> Job:
        if isinstance(columns, str) or len(columns) != 2:
            raise ValueError(f"columns is {columns!r}, expected the names of two")
        return cls(CrossEncoder, model, tuple(columns), to, options or {}, settings)._checked()

    def _checked(self) -> Job:
        call = self.kind.encode if self.kind is SentenceTransformer else self.kind.predict
        try:
            inspect.signature(call).bind(None, [], **self.settings)
        except TypeError as error:
            raise TypeError(f"{call.__qualname__}() {error}") from None
        for name, only in FIXED.items():
            if self.settings.get(name, only) != only:
                raise ValueError(f"{name} is {self.settings[name]!r}, but a cluster's answers are NumPy "
                                 "vectors, one for each row: leave it out")
        for name, value in self.options.items():
            if callable(value):  # each task would get a copy, which load_once() takes for another one
                raise ValueError(f"options has a function, {name!r}: give it as an argument of "
                                 f"{call.__name__}()")
        return self

    def check_columns(self, there: Sequence[Any]) -> None:
        """Fails unless a table has the job's columns, once each, and no column `to`."""
        for column in self.columns:
            if there.count(column) != 1:
                found = "more than one" if column in there else "no"
                raise ValueError(f"there is {found} column {column!r} among {list(there)}")
        if self.to in there:
            raise ValueError(f"the column {self.to!r} is there already")

    def check_nulls(self, column: str, nulls: int, rows: int) -> None:
        if nulls:
            raise ValueError(f"column {column!r} has a null in {nulls} of {rows} rows, expected texts")

    def load(self) -> Any:
        return load_once(self.kind, self.model, self.options)

    def answers(self, model: Any, inputs: Sequence[Any]) -> Any:
        """Embeddings of texts, [N, E], or scores of pairs, [N, C] even for one label; float32."""
        if self.kind is SentenceTransformer:
            return model.encode(inputs, **self.settings)
        if any(isinstance(item, str) for item in inputs):  # which predict() would take for a pair's
            raise TypeError("found a text, expected pairs of texts")
        scores = model.predict(inputs, **self.settings)
        labels = model.num_labels
        if scores.shape != (len(inputs), labels) and (labels > 1 or scores.shape != (len(inputs),)):
            raise ValueError(f"the scores have the shape {list(scores.shape)}, expected "
                             f"{[len(inputs), labels]}: activation_fn must keep that of the logits")
        return scores.reshape(len(inputs), labels).astype(np.float32, copy=False)

    def check_texts(self, column: str, values: Sequence[Any]) -> None:
        """Names the column and row of a value that is no text; the model's own error could not."""
        self.check_nulls(column, sum(value is None for value in values), len(values))
        texts = str if len(self.columns) > 1 else (str, list, tuple)  # of one column also pairs
        for row, value in enumerate(values):
            if not isinstance(value, texts):
                raise TypeError(f"column {column!r} has a value of type {type(value).__name__} in row "
                                f"{row} of {len(values)}, expected texts")

    def of_columns(self, model: Any, *columns: list[Any]) -> Any:
        for name, column in zip(self.columns, columns):
            self.check_texts(name, column)
        return self.answers(model, list(zip(*columns)) if len(columns) > 1 else columns[0])

    def of_arrow(self, model: Any, rows: Any) -> Any:
        """The answers for a pyarrow.Table or RecordBatch, [N, E] or [N, C]."""
        return self.of_columns(model, *(rows.column(name).to_pylist() for name in self.columns))
