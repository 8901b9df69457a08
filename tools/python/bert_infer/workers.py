# SPDX-License-Identifier: Apache-2.0
"""What the recipes for Dask, Spark and Ray share: models that each process loads once, and their
answers as another column of a table."""
from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from bert_infer.cross_encoder import CrossEncoder
from bert_infer.sentence_transformer import SentenceTransformer

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


def scores_of(model: CrossEncoder, pairs: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Of pairs of texts, [N, C] float32, for one label too. `settings` are those of
    CrossEncoder.predict."""
    return model.predict(pairs, **settings).reshape(len(pairs), model.num_labels)


def add_embeddings(frame: Any, model: str, column: str, to: str, options: dict[str, Any],
                   settings: dict[str, Any]) -> Any:
    """A pandas frame with the embeddings of a column's texts as another column of arrays [E].
    `settings` are those of SentenceTransformer.encode."""
    check_new(frame.columns, to)
    loaded = load_once(SentenceTransformer, model, options)
    return frame.assign(**{to: list(loaded.encode(frame[column].tolist(), **settings))})


def add_scores(frame: Any, model: str, columns: Sequence[str], to: str, options: dict[str, Any],
               settings: dict[str, Any]) -> Any:
    """A pandas frame with the scores of pairs, the texts of two columns, as another column of arrays
    [C]."""
    check_new(frame.columns, to)
    loaded = load_once(CrossEncoder, model, options)
    pairs = list(zip(*(frame[column].tolist() for column in columns)))
    return frame.assign(**{to: list(scores_of(loaded, pairs, settings))})


def check_new(columns: Any, to: str) -> None:
    if to in columns:
        raise ValueError(f"the column {to!r} is there already")
