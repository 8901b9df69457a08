# SPDX-License-Identifier: Apache-2.0
"""Sentence embeddings, under the names of sentence-transformers."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_infer import _core
from bert_infer.model import Matrix, Path, Text, whole
from bert_infer.prompted_model import (
    SETTINGS,
    PromptedModel,
    listed,
    refuse_device,
    renamed,
    to_tensor,
)

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def checked_columns(truncate_dim: int | None) -> int | None:
    if truncate_dim is None:
        return None
    if whole("truncate_dim", truncate_dim) < 1:
        raise ValueError(f"truncate_dim is {truncate_dim}, expected at least 1")
    return truncate_dim


class SentenceTransformer(PromptedModel):
    """An encoder of sentences, with the pooling, prompts and limits that its directory names.

    model_name_or_path   a model directory, or ORG/NAME in Hugging Face's cache on this machine; a NAME
                         alone is looked for among sentence-transformers' models first
    prompts              texts to put before inputs, by name; they override the directory's
    default_prompt_name  of the prompt to use where a call names none; by default that of the option
                         `prompt`, else the directory's
    similarity_fn_name   "cosine", "dot", "euclidean" or "manhattan", for `similarity`
    truncate_dim         keep this many columns of the embeddings
    device               "cpu" or None
    revision             a branch, a tag or a commit of the model in the cache ("main")
    options              those of Options: precision="int8", threads=2, max_length=128, ...

    A pickle holds the arguments; the model is loaded again from its path.
    """

    default_prompts: ClassVar[dict[str, str]] = {"query": "", "document": ""}
    organization: ClassVar[str] = "sentence-transformers"

    def __init__(self, model_name_or_path: Path, *, prompts: dict[str, str] | None = None,
                 default_prompt_name: str | None = None, similarity_fn_name: str | None = None,
                 truncate_dim: int | None = None, device: Any = None,
                 max_length: int | None = None, revision: str | None = None, **options: Any) -> None:
        refuse_device(device)
        super().__init__(model_name_or_path, prompts, default_prompt_name, max_length, revision,
                         **options)
        self.similarity_fn_name = (
            similarity_fn_name or self.settings.get("similarity_fn_name") or "cosine")
        self.truncate_dim = self._columns(truncate_dim)
        if self.truncate_dim is None:
            self.truncate_dim = self.settings.get("truncate_dim")

    @property
    def similarity_fn_name(self) -> str:
        """How `similarity` compares: "cosine", "dot", "euclidean" or "manhattan". It can be set."""
        return self._similarity

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: str) -> None:
        name = getattr(name, "value", name)  # of sentence-transformers' SimilarityFunction
        if name not in SIMILARITIES:
            raise ValueError(f"similarity_fn_name is {name!r}, expected one of "
                             f"{', '.join(SIMILARITIES)}")
        self._similarity: str = name

    def _columns(self, truncate_dim: int | None) -> int | None:
        columns, size = checked_columns(truncate_dim), self.model.info.embedding
        if columns is not None and columns > size and self.settings.get("truncate_dim") == size:
            raise ValueError(f"truncate_dim is {columns}, but {SETTINGS} leaves {size} columns")
        return columns

    def get_embedding_dimension(self) -> int:
        """The number of columns of `encode`'s embeddings."""
        size = self.model.info.embedding
        return size if self.truncate_dim is None else min(size, self.truncate_dim)

    get_sentence_embedding_dimension = get_embedding_dimension

    @renamed(sentences="inputs")
    def encode(self, inputs: str | Sequence[Text] | NDArray[Any], prompt_name: str | None = None,
               prompt: str | None = None, batch_size: int = 32,
               show_progress_bar: bool | None = None,
               output_value: str = "sentence_embedding", precision: str = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool = False, truncate_dim: int | None = None) -> Any:
        """The embeddings of texts, [N, E] float32, or [E] of a single str; E: get_embedding_dimension().

        prompt_name, prompt   a text to put before each input, by name or itself
        batch_size            does not change results: the engine makes its own batches
        show_progress_bar     a count on stderr
        output_value          "token_embeddings" gives each input's last hidden state, [N] of [S, H]
        normalize_embeddings  to Euclidean length 1, after truncate_dim
        convert_to_numpy      False gives a list of N arrays [E]
        convert_to_tensor     gives a torch.Tensor of the same memory; needs torch
        """
        refuse_device(device)
        if precision != "float32":
            raise ValueError(f"precision is {precision!r}, expected \"float32\"")
        if output_value not in ("sentence_embedding", "token_embeddings"):
            raise ValueError(f"output_value is {output_value!r}, expected \"sentence_embedding\" or "
                             "\"token_embeddings\"")
        single = isinstance(inputs, str)
        texts: Sequence[Text] = [inputs] if isinstance(inputs, str) else listed(inputs, "texts")
        calls = self._calls(texts, self._prompt(prompt, prompt_name), batch_size, show_progress_bar)
        if output_value == "token_embeddings":
            states: list[Any] = [hidden.states for part in calls for hidden in self.model.hidden(part)]
            states = [to_tensor(state) for state in states] if convert_to_tensor else states
            return states[0] if single else states
        embeddings = self._embeddings([self.model.embed(part) for part in calls],
                                      truncate_dim, normalize_embeddings)
        if convert_to_tensor:
            tensor = to_tensor(embeddings)
            return tensor[0] if single else tensor
        if single:
            return embeddings[0]
        return embeddings if convert_to_numpy else list(embeddings)

    def _embeddings(self, parts: list[Matrix], truncate_dim: int | None, normalize: bool) -> Matrix:
        size = self.model.info.embedding
        columns = self._columns(truncate_dim if truncate_dim is not None else self.truncate_dim)
        if not parts:
            return np.empty((0, min(size, columns or size)), np.float32)
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if columns is not None and columns < size:
            whole = np.ascontiguousarray(whole[:, :columns])
        if normalize:
            _core.normalize(whole)
        return whole

    @renamed(sentences="inputs")
    def encode_query(self, inputs: str | Sequence[Text] | NDArray[Any],
                     prompt_name: str | None = None, prompt: str | None = None,
                     batch_size: int = 32, show_progress_bar: bool | None = None,
                     **settings: Any) -> Any:
        """`encode` with the prompt "query", if there is one and the call names none."""
        return self._encode_as(["query"], inputs, prompt_name, prompt, batch_size=batch_size,
                               show_progress_bar=show_progress_bar, **settings)

    @renamed(sentences="inputs")
    def encode_document(self, inputs: str | Sequence[Text] | NDArray[Any],
                        prompt_name: str | None = None, prompt: str | None = None,
                        batch_size: int = 32, show_progress_bar: bool | None = None,
                        **settings: Any) -> Any:
        """`encode` with the first of the prompts "document", "passage" and "corpus" that there is."""
        return self._encode_as(["document", "passage", "corpus"], inputs, prompt_name, prompt,
                               batch_size=batch_size, show_progress_bar=show_progress_bar,
                               **settings)

    def _encode_as(self, names: Iterable[str], inputs: Any, prompt_name: str | None,
                   prompt: str | None, **settings: Any) -> Any:
        if prompt_name is None and prompt is None:
            prompt_name = next((name for name in names if name in self.prompts), None)
        return self.encode(inputs, prompt_name, prompt, **settings)

    def similarity(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Matrix:
        """How similar each of N embeddings is to each of M others, [N, M] float32, by
        similarity_fn_name; distances are negative."""
        a, b = self._both(embeddings1, embeddings2)
        if self.similarity_fn_name in ("cosine", "dot"):
            return np.asarray(a @ b.T)
        distances = np.empty((len(a), len(b)), np.float32)
        for i, row in enumerate(a):
            distances[i] = -self._distance(b - row)
        return distances

    def similarity_pairwise(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Matrix:
        """How similar each of N embeddings is to the other at the same index, [N] float32; a number for
        two vectors [E]. One embedding is compared with all N."""
        a, b = self._both(embeddings1, embeddings2)
        if len(a) != len(b) and 1 not in (len(a), len(b)):
            raise ValueError(f"found {len(a)} embeddings and {len(b)}, expected as many")
        if self.similarity_fn_name in ("cosine", "dot"):
            scores = np.asarray((a * b).sum(1, dtype=np.float32))
        else:
            scores = -self._distance(a - b)
        single = np.ndim(embeddings1) == 1 and np.ndim(embeddings2) == 1
        return np.asarray(scores[0]) if single else scores

    def _distance(self, difference: Matrix) -> Matrix:
        if self.similarity_fn_name == "manhattan":
            return np.asarray(np.abs(difference).sum(1))
        return np.asarray(np.linalg.norm(difference, axis=1))

    def _both(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> tuple[Matrix, Matrix]:
        a, b = self._rows(embeddings1), self._rows(embeddings2)
        if a.shape[-1] != b.shape[-1]:  # NumPy would repeat a single column
            raise ValueError(f"found embeddings of {a.shape[-1]} and of {b.shape[-1]} columns, expected "
                             "as many")
        return a, b

    def _rows(self, embeddings: ArrayLike) -> Matrix:
        rows = np.array(embeddings, np.float32, order="C")
        if rows.ndim not in (1, 2):
            raise ValueError(f"found embeddings of {rows.ndim} dimensions, expected a matrix or a "
                             "vector")
        rows = np.atleast_2d(rows)
        if self.similarity_fn_name == "cosine":
            _core.normalize(rows)
        return rows
