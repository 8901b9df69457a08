# SPDX-License-Identifier: Apache-2.0
"""The library's own functions: a model directory to a Model, a Tokenizer for text alone."""
from __future__ import annotations

import dataclasses
import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_infer import _core, results
from bert_infer._core import Encoding

Text = Union[str, "tuple[str, str | None]", "list[str]"]
"""A text, or a pair of texts."""
Path = Union[str, "os.PathLike[str]"]
Matrix = NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class Options:
    """How a model is loaded; bert_infer.h has the details (but kept_memory and progress are not for
    Python).

    precision     "auto" (f32, unless the directory holds int8 weights), "f32", "bf16" or "int8"
    backend       "auto", "onednn" or "panels": what multiplies
    workers       batches computed at the same time, each on `threads` threads; 0 for both takes all
    threads       threads of each worker; if it is given and workers is not, there is one worker
    batch_tokens  at most this many tokens at a time (a longer input runs alone)
    max_length    truncates inputs to this many tokens; 0 takes what the directory names
    prompt        the name of a prompt in config_sentence_transformers.json; "" takes its default
    adapter       a LoRA adapter to add: the name of one of the model's own, or a folder of PEFT's
    """
    precision: str = "auto"
    backend: str = "auto"
    workers: int = 0
    threads: int = 0
    batch_tokens: int = 4096
    max_length: int = 0
    prompt: str = ""
    adapter: str = ""


def find_model(name: Path) -> str:
    """The directory of a model: `name` itself if it is one, otherwise that of ORG/NAME or
    ORG/NAME@REVISION in Hugging Face's cache on this machine (HF_HUB_CACHE, or hub in HF_HOME, or
    ~/.cache/huggingface/hub). Nothing is downloaded. Raises Error if there is neither."""
    return os.fsdecode(_core.find_model(os.fsencode(name)))


def at_revision(name: Path, revision: str | None) -> Path:
    """NAME@REVISION, as find_model takes it; a directory has no revisions and stays as it is."""
    if revision is None or os.path.isdir(name):
        return name
    return f"{os.fspath(name)}@{revision}"


def max_sim(query: ArrayLike, document: ArrayLike) -> float:
    """The sum, over the query's vectors [Q, V], of the greatest dot product with one of the document's
    [D, V] (Khattab and Zaharia 2020)."""
    return _core.max_sim(np.ascontiguousarray(query, np.float32),
                         np.ascontiguousarray(document, np.float32))


def whole(name: str, value: Any) -> int:
    """The argument as an int. The binding's own error would quote all the inputs beside it."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or abs(number) >= 2**31:
        raise TypeError(f"{name}: found {type(value).__name__}, expected an int of 32 bits")
    return number


def word(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: found {type(value).__name__}, expected a str")
    return value


OPTION_NAMES = frozenset(field.name for field in dataclasses.fields(Options))


@dataclasses.dataclass(frozen=True)
class Info:
    """What a model is; bert_infer.h explains each."""
    architecture: str
    family: str
    files: list[str]
    tokenizer: str
    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocabulary: int
    task: str
    """"embed", "classify", "choose", "fill_mask", "tag", "answer", "detect", "sparse" or
    "multi_vector"."""
    max_length: int
    has_logits: bool
    has_token_logits: bool
    has_pooler: bool
    has_chat_template: bool
    labels: list[str]
    scores: str
    """"softmax", "sigmoid" or "raw": how logits become probabilities."""
    pooling: str
    embedding: int
    """Size of embed's vectors; 0 if the model has none."""
    has_sparse: bool
    token_vector: int
    """Size of multi_vector's vectors; 0 if the model has none."""
    similarity: str
    """How inputs are compared: "cosine", "dot", "euclidean", "manhattan", "maxsim" or "meanmaxsim"."""
    precision: str
    backend: str
    workers: int
    threads: int
    notes: list[str]


class Tokenizer:
    """Text to ids, from the tokenizer's files alone. Many threads may use one at once. A pickle holds
    what it was loaded from.

    max_length truncates inputs to this many tokens; 0 takes the limit that the files name, if any.
    """

    def __init__(self, directory: Path, max_length: int = 0) -> None:
        directory = os.path.abspath(find_model(directory))
        self._core = _core.Tokenizer(os.fsencode(directory), whole("max_length", max_length))
        self._reduced: tuple[Any, ...] = type(self), (directory, max_length)

    @classmethod
    def load(cls, directory: Path, max_length: int = 0) -> Tokenizer:
        """The same as Tokenizer(directory, max_length)."""
        return cls(directory, max_length)

    @classmethod
    def _of(cls, model: Model) -> Tokenizer:
        tokenizer = cls.__new__(cls)
        tokenizer._core = model._core.tokenizer()
        tokenizer._reduced = cls._of, (model,)
        return tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reduced

    def encode(self, inputs: Iterable[Text], threads: int = 0) -> list[Encoding]:
        """Encodes N inputs, in order, on this many threads (0: as many as the process may use)."""
        return self._core.encode(inputs, whole("threads", threads))

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Ids to text, as Hugging Face's fast tokenizers decode them."""
        return self._core.decode([whole("ids", id) for id in ids], bool(skip_special_tokens))

    def token(self, id: int) -> str:
        """The token with an id, as the vocabulary spells it ("##ing")."""
        return self._core.token(whole("id", id))

    def continues_word(self, id: int) -> bool:
        """Whether the token continues the word before it."""
        return self._core.continues_word(whole("id", id))

    @property
    def mask_id(self) -> int:
        """The mask token's id; -1 if there is none."""
        return self._core.mask_id

    @property
    def notes(self) -> list[str]:
        """What a user should know about loading, one sentence each."""
        return self._core.notes


class Model:
    """A loaded model. It never changes, so many threads may use it at once, and the GIL is
    released while it computes. A pickle holds its directory and options, from which it is loaded
    again. `directory` may also be ORG/NAME, as find_model takes it.

    Inputs are texts, pairs of texts, or encodings (from `tokenize`, or made of ids). An input gives
    the same bits regardless of what else is in the call, of the batch size and of the number of
    threads.

        model = Model(bert_infer.demo_model(), precision="int8")
        logits = model.run([("A man plays.", "Somebody plays.")])    # [1, C]
    """

    def __init__(self, directory: Path, options: Options | None = None, **settings: Any) -> None:
        unknown = sorted(settings.keys() - OPTION_NAMES)
        if unknown:
            raise TypeError(f"unknown options {', '.join(unknown)}, "
                            f"expected some of {', '.join(sorted(OPTION_NAMES))}")
        if not isinstance(options, (Options, type(None))):
            raise TypeError(f"options: found {type(options).__name__}, expected Options or keyword "
                            "arguments")
        self.directory = os.path.abspath(find_model(directory))
        self.options = dataclasses.replace(options or Options(), **settings)
        self._core = _core.Model(os.fsencode(self.directory), dataclasses.asdict(self.options))
        self._info = Info(**self._core.info())

    @classmethod
    def load(cls, directory: Path, options: Options | None = None, **settings: Any) -> Model:
        """The same as Model(directory, options, ...)."""
        return cls(directory, options, **settings)

    def __reduce__(self) -> tuple[type[Model], tuple[str, Options]]:
        return type(self), (self.directory, self.options)

    def __repr__(self) -> str:
        return f"Model({self.directory!r}, {self.options})"

    @property
    def info(self) -> Info:
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, with its max_length and prompt."""
        return Tokenizer._of(self)

    def tokenize(self, inputs: Iterable[Text], role: str | None = None) -> list[Encoding]:
        """[N], truncated as the model's inputs are. role: "query" or "document", as multi_vector reads
        them."""
        if role is None:
            return self._core.tokenize(inputs)
        return self._core.tokenize_as(inputs, word("role", role))

    def run(self, inputs: Iterable[Text | Encoding]) -> Matrix:
        """Raw logits, [N, C], of classification, next sentence prediction or multiple choice."""
        return self._core.run(inputs)

    def run_tokens(self, inputs: Iterable[Text | Encoding]) -> list[Matrix]:
        """Raw logits of each token, [N] of [S, C] (of the vocabulary for a masked language model)."""
        return self._core.run_tokens(inputs)

    def embed(self, inputs: Iterable[Text | Encoding]) -> Matrix:
        """One vector per input, [N, info.embedding], pooled as info.pooling says."""
        return self._core.embed(inputs)

    def hidden(self, inputs: Iterable[Text | Encoding],
               layers: Sequence[int] = ()) -> list[results.Hidden]:
        """Last hidden states and pooler outputs, [N], and the hidden states at the given layers: 0 is
        the first layer's input, L (or -1) the last hidden state."""
        at = [whole("layers", layer) for layer in layers]
        return [results.Hidden(*found) for found in self._core.hidden(inputs, at)]

    def attention(self, inputs: Iterable[Text | Encoding],
                  layers: Sequence[int]) -> list[list[NDArray[np.float32]]]:
        """Attention probabilities, [N], of each given layer (0 to L - 1, or -L to -1) [A, S, S]: how
        much each token attends to each."""
        return self._core.attention(inputs, [whole("layers", layer) for layer in layers])

    def sparse(self, inputs: Iterable[Text | Encoding]) -> list[results.SparseVector]:
        """Weights of the vocabulary, [N], of SPLADE models and BGE-M3."""
        return [results.SparseVector(*found) for found in self._core.sparse(inputs)]

    def multi_vector(self, inputs: Iterable[Text | Encoding], role: str) -> list[Matrix]:
        """Vectors of the tokens, [N] of [tokens, info.token_vector], of ColBERT models and BGE-M3.
        role: "query" or "document"; each has its own marker, padding and skipped tokens. Encodings
        are used as they are: `tokenize` with the role adds its prompt, marker and padding."""
        return self._core.multi_vector(inputs, word("role", role))

    def fill_mask(self, inputs: Iterable[Text | Encoding], k: int = 5) -> list[list[results.Blank]]:
        """The k most probable tokens for each mask token of each input, [N]."""
        return [[results.blank(found) for found in blanks]
                for blanks in self._core.fill_mask(inputs, whole("k", k))]

    def tag(self, inputs: Iterable[Text], aggregation: str = "auto", stride: int = 128, *,
            labels: Iterable[str] = (), threshold: float = 0.5, nested: bool = False,
            multi_label: bool = False) -> list[results.Tags]:
        """The labelled words and entities of each input, [N]. aggregation: "none", "simple", "first",
        "average" or "max", as in Hugging Face's pipeline, or "auto": "first", or for BIOES labels (B-,
        I-, E- and S-KIND) the most probable spans. A text that does not fit is read in windows that
        overlap by `stride` tokens. A GLiNER finds the entities of `labels` with a probability
        greater than `threshold`; nested: one may lie within another; multi_label: the same words may
        have several labels."""
        return [results.tags(found) for found in self._core.tag(
            inputs, word("aggregation", aggregation), whole("stride", stride), labels,
            float(threshold), bool(nested), bool(multi_label))]

    def answer(self, inputs: Iterable[Text], stride: int = 128, most_tokens: int = 15,
               top_k: int = 1) -> list[results.Answer]:
        """The part of each second text that answers the first, [N], of at most `most_tokens`; top_k:
        with the next best, so many answers at most."""
        return [results.answer(found) for found in self._core.answer(
            inputs, whole("stride", stride), whole("most_tokens", most_tokens), whole("top_k", top_k))]

    def zero_shot(self, texts: Iterable[str], hypotheses: Iterable[str],
                  multi_label: bool = False) -> list[tuple[Matrix, list[int]]]:
        """For each text, [N]: the probabilities [hypotheses] that it entails each hypothesis, and their
        indices, the most probable first. multi_label: judges each hypothesis by itself; otherwise
        they exclude each other. Needs an entailment (NLI) model."""
        return self._core.zero_shot(texts, hypotheses, "{}", bool(multi_label))

    def choose(self, inputs: Iterable[tuple[str, Sequence[str]]]) -> list[results.Choice]:
        """The choice that goes best with each text, [N], of inputs (text, choices)."""
        return [results.Choice(*found) for found in self._core.choose(inputs)]

    def probabilities(self, logits: ArrayLike) -> Matrix:
        """[N, C], one probability per logit, or the logits themselves if info.scores is "raw"."""
        return self._core.probabilities(np.ascontiguousarray(logits, np.float32), False)

    def release_memory(self) -> None:
        """Gives back memory that is kept for the next call."""
        self._core.release_memory()
