# SPDX-License-Identifier: Apache-2.0
"""What SentenceTransformer and CrossEncoder share: prompts and arguments of sentence-transformers."""
from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from bert_infer._core import Encoding, Error
from bert_infer.model import Model, Path, Text, Tokenizer, at_revision, find_model, whole, word

SETTINGS = "config_sentence_transformers.json"
# Between calls of the model, Ctrl-C and the progress bar get their turn. The engine makes its own
# batches, by tokens: a call has at most batch_size times TEXTS_PER_CALL texts, and about
# BATCHES_PER_CALL batches for each worker.
TEXTS_PER_CALL, BATCHES_PER_CALL = 64, 4
# Arguments of sentence-transformers and transformers that make no difference: nothing is
# downloaded, and no code is run but the library's own.
WITHOUT_EFFECT = {"local_files_only", "token", "trust_remote_code"}
IN_TEMPLATE = ("the model's chat template gets its prompt on loading: give CrossEncoder prompt=NAME, "
               f"one of {SETTINGS}")
# Arguments that are accepted only if they are None or {}.
ONLY_NONE = {"cache_folder", "config_kwargs", "model_kwargs", "processor_kwargs", "tokenizer_kwargs"}


def refuse_device(device: Any) -> None:
    if device is not None and str(device) != "cpu":
        raise ValueError(f"device is {device!r}, expected \"cpu\" or None")


def to_tensor(array: Any) -> Any:
    """The same memory as a torch.Tensor, for those who have torch and ask for it."""
    import torch  # type: ignore[import-not-found, unused-ignore]
    return torch.from_numpy(array)


Function = TypeVar("Function", bound=Callable[..., Any])


def renamed(**names: str | None) -> Callable[[Function], Function]:
    """Lets a function take arguments by the older names that sentence-transformers still takes; a name
    that stands for None has no effect."""
    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            for older, name in names.items():
                if older not in named:
                    continue
                if name in named:
                    raise TypeError(f"{name} and its older name {older}: expected one of them")
                value = named.pop(older)
                if name is not None:
                    named[name] = value
            return function(*arguments, **named)
        return cast(Function, call)
    return decorate


def refuse_table(inputs: Any) -> None:
    """Refuses a pandas.DataFrame or a mapping: iterated, they give the names of their columns."""
    if isinstance(inputs, Mapping) or hasattr(inputs, "columns"):
        raise TypeError(f"inputs: found {type(inputs).__name__}, expected a list, as one of its columns")


def listed(inputs: Any, kind: str) -> list[Any]:
    if isinstance(inputs, (str, bytes, bytearray, dict)):
        raise TypeError(f"inputs: found one {type(inputs).__name__}, expected a list of {kind}")
    refuse_table(inputs)
    try:
        items = iter(inputs)
    except TypeError:
        raise TypeError(f"inputs: found {type(inputs).__name__}, expected a list of {kind}") from None
    return inputs.tolist() if isinstance(inputs, np.ndarray) else list(items)


def read_json(directory: str, name: str) -> dict[str, Any]:
    """The object in a file of the model's directory; {} if the file is missing."""
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            read: dict[str, Any] = json.load(file)
            return read
    except FileNotFoundError:
        return {}


class PromptedModel:
    """A model with the prompts of its config_sentence_transformers.json."""
    default_prompts: ClassVar[dict[str, str]] = {}
    organization: ClassVar[str] = ""
    """The organization to look for a model in if its name has none."""

    def __init__(self, name: Path, prompts: dict[str, str] | None, default_prompt_name: str | None,
                 max_length: int | None, revision: str | None = None, **options: Any) -> None:
        known = {option: value for option, value in options.items() if option not in WITHOUT_EFFECT
                 and not (option in ONLY_NONE and value in (None, {}))
                 and (option, value) != ("backend", "torch")}  # sentence-transformers' default
        self.model = Model(self._find(at_revision(name, revision)), max_length=max_length or 0, **known)
        self._max_seq_length = self.model.info.max_length
        self.settings = read_json(self.model.directory, SETTINGS)
        for key, prompt in (prompts or {}).items():
            word(f"prompts[{key!r}]", prompt)
        saved = {name: prompt or "" for name, prompt in (self.settings.get("prompts") or {}).items()}
        self.prompts: dict[str, str] = {**self.default_prompts, **saved, **(prompts or {})}
        loaded_with = self.model.options.prompt or self.settings.get("default_prompt_name") or None
        self._loaded_with = loaded_with
        self.default_prompt_name: str | None = default_prompt_name or loaded_with
        if prompts and self.model.info.has_chat_template:
            raise ValueError(f"prompts: {IN_TEMPLATE}")
        self._prompt(None, self.default_prompt_name)  # fails if it names none
        # The model's own tokenizer puts the prompt that it was loaded with before a text by itself.
        own = loaded_with and not self.model.info.has_chat_template
        self._tokenizer = self._own_tokenizer() if own else self.model.tokenizer

    def _find(self, name: Path) -> Path:
        if "/" not in str(name) and not os.path.isdir(name):
            try:
                return find_model(f"{self.organization}/{name}")
            except Error:  # some old models belong to no organization: "bert-base-uncased"
                pass
        return name

    @property
    def max_seq_length(self) -> int:
        """Inputs are truncated to this many tokens. It can be set, up to the number of the model's
        positions; beyond the limit that it was loaded with, the model is loaded again."""
        return self._max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, length: int) -> None:
        if whole("max_seq_length", length) < 1:
            raise ValueError(f"max_seq_length is {length}, expected at least 1")
        has_chat = self.model.info.has_chat_template
        if has_chat or length > self.model.info.max_length:
            self.model = Model(self.model.directory, self.model.options, max_length=length)
        self._tokenizer = self.model.tokenizer if has_chat else self._own_tokenizer(length)
        self._max_seq_length = length

    def _own_tokenizer(self, max_length: int | None = None) -> Tokenizer:
        return Tokenizer(self.model.directory, max_length or self.model.info.max_length)

    def _threads(self) -> int:
        return self.model.info.threads * self.model.info.workers

    def _prompt(self, prompt: str | None, name: str | None) -> str:
        if self.model.info.has_chat_template:  # which has the default one
            if prompt is None and name in (None, self._loaded_with):
                return ""
            raise ValueError(IN_TEMPLATE)
        if prompt is not None:
            return word("prompt", prompt)
        if name is None:
            name = self.default_prompt_name
        if name is None:
            return ""
        if name not in self.prompts:
            raise ValueError(f"prompt_name is {name!r}, expected one of {list(self.prompts)}")
        return self.prompts[name]

    def _calls(self, inputs: Sequence[Text], prompt: str, batch_size: int,
               show_progress_bar: bool | None) -> Iterator[list[Encoding]]:
        """The inputs' encodings in parts, each for one call of the model."""
        if whole("batch_size", batch_size) <= 0:
            raise ValueError(f"batch_size is {batch_size}, expected at least 1")
        step = batch_size * TEXTS_PER_CALL
        most_tokens = self.model.options.batch_tokens * self.model.info.workers * BATCHES_PER_CALL
        done = 0
        for start in range(0, len(inputs), step):
            part = inputs[start:start + step]
            if prompt:
                part = [prefixed(prompt, item) for item in part]
            try:
                encodings = self._tokenizer.encode(part, self._threads())
            except (Error, TypeError, ValueError) as error:
                raise counted_from(start, error) from None
            for call in calls_of(encodings, most_tokens):
                yield call
                done += len(call)
                if show_progress_bar:
                    print(f"\r{done} of {len(inputs)} inputs", end="" if done < len(inputs) else "\n",
                          file=sys.stderr, flush=True)


def calls_of(encodings: Iterable[Encoding], most_tokens: int) -> Iterator[list[Encoding]]:
    call: list[Encoding] = []
    tokens = 0
    for encoding in encodings:
        call.append(encoding)
        tokens += len(encoding)
        if tokens >= most_tokens:
            yield call
            call, tokens = [], 0
    if call:
        yield call


def counted_from(start: int, error: Exception) -> Exception:
    """An error about one input of the part from `start` on, renumbered to count from the first."""
    message, found = re.subn(r"^(inputs\[|texts\[|input )(\d+)",
                             lambda found: f"{found[1]}{start + int(found[2])}", str(error))
    return type(error)(message) if found else error


def prefixed(prompt: str, item: Any) -> Any:
    if isinstance(item, str):
        return prompt + item
    if isinstance(item, (tuple, list)) and item and isinstance(item[0], str):
        return [prompt + item[0], *item[1:]]
    return item  # which the tokenizer refuses
