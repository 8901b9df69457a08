# SPDX-License-Identifier: Apache-2.0
"""Scores of pairs of texts, under the names of sentence-transformers."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bert_infer.model import Matrix, Path
from bert_infer.prompted_model import (
    SETTINGS,
    PromptedModel,
    listed,
    read_json,
    refuse_device,
    renamed,
    to_tensor,
)


def softmax(logits: Matrix) -> Matrix:
    """The softmax of each row."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def sigmoid(logits: Matrix) -> Matrix:
    return np.asarray(1 / (1 + np.exp(-logits)))


def activated(activation: Callable[[Any], Any], logits: Matrix) -> Any:
    """activation(logits) as a NumPy array; torch's functions and modules get a tensor."""
    torch = sys.modules.get("torch")
    is_torch = (getattr(activation, "__module__", None) or "").partition(".")[0] == "torch"
    if torch is not None and (is_torch or isinstance(activation, torch.nn.Module)):
        return activation(to_tensor(logits)).detach().numpy()
    return np.asarray(activation(logits))


def saved_activation(directory: str) -> str | None:
    """What sentence-transformers' CrossEncoder has saved in the directory of a loaded model: "Sigmoid",
    "Identity" or None. Its newest versions write a file of their own, older ones to config.json."""
    config = read_json(directory, "config.json")
    older = config.get("sentence_transformers") or {}
    path = (read_json(directory, SETTINGS).get("activation_fn") or older.get("activation_fn")
            or config.get("sbert_ce_default_activation_function"))
    return path.rpartition(".")[2] if path else None


class CrossEncoder(PromptedModel):
    """A classifier of pairs of texts, such as a reranker.

    model_name_or_path  as in SentenceTransformer; a NAME alone is looked for among cross-encoder's
    max_length          truncates pairs to this many tokens; it can be set later too
    activation_fn       turns logits [N, C] into scores, where a call names no other: a function of a
                        NumPy array, or one of torch's. By default what the directory names, else a
                        sigmoid for one label and the logits for several
    prompts, default_prompt_name, revision  as in SentenceTransformer
    options             those of Options: precision="int8", threads=2, ...
    """
    organization: ClassVar[str] = "cross-encoder"

    @renamed(model_name="model_name_or_path", automodel_args="model_kwargs",
             tokenizer_args="tokenizer_kwargs", config_args="config_kwargs", cache_dir="cache_folder",
             default_activation_function="activation_fn")
    def __init__(self, model_name_or_path: Path, *, max_length: int | None = None,
                 activation_fn: Callable[[Any], Any] | None = None,
                 prompts: dict[str, str] | None = None, default_prompt_name: str | None = None,
                 num_labels: int | None = None, device: Any = None, revision: str | None = None,
                 **options: Any) -> None:
        refuse_device(device)
        super().__init__(model_name_or_path, prompts, default_prompt_name, max_length, revision,
                         **options)
        self.model.run([])  # fails if the model has no head for it
        self.activation_fn = activation_fn
        self._saved_activation = saved_activation(self.model.directory)
        if num_labels not in (None, self.num_labels):
            raise ValueError(f"num_labels is {num_labels}, but the model has {self.num_labels}")

    max_length = PromptedModel.max_seq_length

    @property
    def num_labels(self) -> int:
        return len(self.model.info.labels)

    @renamed(sentences="inputs", activation_fct="activation_fn", num_workers=None)
    def predict(self, inputs: Sequence[Any] | NDArray[Any], prompt_name: str | None = None,
                prompt: str | None = None, batch_size: int = 32,
                show_progress_bar: bool | None = None,
                activation_fn: Callable[[Any], Any] | None = None,
                apply_softmax: bool | None = False, convert_to_numpy: bool = True,
                convert_to_tensor: bool = False, device: Any = None) -> Any:
        """The scores of pairs, [N] float32 for one label and [N, C] for several; of a single pair
        the same without N.

        activation_fn      what makes scores of logits [N, C] (see the class)
        apply_softmax      of several labels' scores
        convert_to_numpy   False gives a list
        convert_to_tensor  gives a torch.Tensor of the same memory; needs torch
        The others are as in SentenceTransformer.encode; a prompt goes before the first text.
        """
        refuse_device(device)
        pairs = listed(inputs, "pairs of texts")
        single = len(pairs) > 0 and isinstance(pairs[0], str)
        if single:
            pairs = [pairs]
        for i, pair in enumerate(pairs):  # of which the tokenizer takes None for no second text
            if isinstance(pair, (list, tuple)) and any(text is None for text in pair):
                raise TypeError(f"inputs[{i}]: found None, expected a pair of texts")
        calls = self._calls(pairs, self._prompt(prompt, prompt_name), batch_size, show_progress_bar)
        parts = [self.model.run(part) for part in calls]
        if not parts:
            scores: Any = np.empty(0 if self.num_labels == 1 else (0, self.num_labels), np.float32)
        else:
            logits = parts[0] if len(parts) == 1 else np.concatenate(parts)
            scores = self._scores(logits, activation_fn or self.activation_fn, apply_softmax)
        if convert_to_tensor:
            scores = to_tensor(scores)
        elif not convert_to_numpy:
            scores = list(scores)
        return scores[0] if single else scores

    def _scores(self, logits: Matrix, activation: Callable[[Any], Any] | None,
                apply_softmax: bool | None) -> Any:
        if activation is not None:
            scores = activated(activation, logits)
        else:
            if self.num_labels == 1:
                scores = self.model._core.probabilities(logits, True)
            else:
                has_sigmoid = self._saved_activation == "Sigmoid"
                scores = self.model.probabilities(logits) if has_sigmoid else logits
        if self.num_labels == 1 and scores.ndim > 1:
            scores = scores[:, 0]
        return softmax(scores) if apply_softmax and scores.ndim > 1 else scores

    @renamed(activation_fct="activation_fn", num_workers=None, apply_softmax=None,
             convert_to_numpy=None, convert_to_tensor=None)
    def rank(self, query: str, documents: Sequence[str], top_k: int | None = None,
             return_documents: bool = False, prompt_name: str | None = None,
             prompt: str | None = None, batch_size: int = 32,
             show_progress_bar: bool | None = None,
             activation_fn: Callable[[Any], Any] | None = None,
             device: Any = None) -> list[dict[str, Any]]:
        """The documents by their score with the query, best first: {"corpus_id", "score"} and, with
        return_documents, "text". Needs a model with one label."""
        if self.num_labels != 1:
            raise ValueError(f"rank needs a model with one label, this one has {self.num_labels}: "
                             "use predict")
        documents = listed(documents, "documents")
        scores = self.predict([(query, document) for document in documents], prompt_name, prompt,
                              batch_size, show_progress_bar, activation_fn, device=device)
        ranked = [{"corpus_id": i, "score": score} for i, score in enumerate(scores.tolist())]
        if return_documents:
            for result in ranked:
                result["text"] = documents[result["corpus_id"]]
        ranked.sort(key=lambda result: result["score"], reverse=True)
        return ranked[:top_k]
