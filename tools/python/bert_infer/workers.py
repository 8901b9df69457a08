# SPDX-License-Identifier: Apache-2.0
"""What the recipes for Dask, Spark and Ray share: a model that each process loads once, and the
embeddings of a table's column."""
from __future__ import annotations

import threading
from typing import Any

from bert_infer.sentence_transformer import SentenceTransformer

_loaded: dict[str, SentenceTransformer] = {}
_loading = threading.Lock()


def load_once(model: str, options: dict[str, Any]) -> SentenceTransformer:
    """The model of a directory or name, with SentenceTransformer's options. Threads of one process
    share it."""
    key = repr((model, sorted(options.items())))
    with _loading:
        if key not in _loaded:
            _loaded[key] = SentenceTransformer(model, **options)
        return _loaded[key]


def add_embeddings(frame: Any, model: str, column: str, to: str, options: dict[str, Any],
                   settings: dict[str, Any]) -> Any:
    """A pandas frame with the embeddings of a column's texts as another column of arrays [E].
    `settings` are those of SentenceTransformer.encode."""
    if to in frame.columns:
        raise ValueError(f"the column {to!r} is there already")
    embeddings = load_once(model, options).encode(frame[column].tolist(), **settings)
    return frame.assign(**{to: list(embeddings)})
