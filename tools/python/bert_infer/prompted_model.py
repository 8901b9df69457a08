# SPDX-License-Identifier: Apache-2.0
"""What SentenceTransformer and CrossEncoder share: prompts and arguments of sentence-transformers."""
from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from bert_infer._core import Encoding
from bert_infer.model import Model, Path, Text, Tokenizer

SETTINGS = "config_sentence_transformers.json"
# Texts to a call, for each of batch_size: between calls Ctrl-C and the progress bar get their turn.
# The engine makes its own batches, by tokens.
BATCHES_PER_CALL = 64


def refuse_device(device: Any) -> None:
    if device is not None and str(device) != "cpu":
        raise ValueError(f"device is {device!r}, expected \"cpu\" or None")


def to_tensor(array: Any) -> Any:
    """The same memory as a torch.Tensor, for those who have torch and ask for it."""
    import torch  # type: ignore[import-not-found, unused-ignore]
    return torch.from_numpy(array)


class PromptedModel:
    """A model with the prompts of its config_sentence_transformers.json."""
    default_prompts: ClassVar[dict[str, str]] = {}

    def __init__(self, path: Path, prompts: dict[str, str] | None, default_prompt_name: str | None,
                 max_length: int | None, **options: Any) -> None:
        self.model = Model(path, max_length=max_length or 0, **options)
        self.settings = self._read_settings()
        saved = {name: prompt or "" for name, prompt in (self.settings.get("prompts") or {}).items()}
        self.prompts: dict[str, str] = {**self.default_prompts, **saved, **(prompts or {})}
        loaded_with = self.model.options.prompt or self.settings.get("default_prompt_name") or None
        self.default_prompt_name: str | None = default_prompt_name or loaded_with
        self._prompt(None, self.default_prompt_name)  # fails if it names none
        # The model's own tokenizer puts the prompt that it was loaded with before a text by itself.
        self._tokenizer = self._own_tokenizer() if loaded_with else self.model.tokenizer

    def _read_settings(self) -> dict[str, Any]:
        try:
            with open(os.path.join(self.model.directory, SETTINGS), encoding="utf-8") as file:
                settings: dict[str, Any] = json.load(file)
                return settings
        except FileNotFoundError:
            return {}

    def _own_tokenizer(self, max_length: int | None = None) -> Tokenizer:
        return Tokenizer(self.model.directory, max_length or self.model.info.max_length)

    def _prompt(self, prompt: str | None, name: str | None) -> str:
        if prompt is not None:
            return prompt
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
        if batch_size <= 0:
            raise ValueError(f"batch_size is {batch_size}, expected at least 1")
        step = batch_size * BATCHES_PER_CALL
        for start in range(0, len(inputs), step):
            part = inputs[start:start + step]
            if prompt:
                part = [prefixed(prompt, item) for item in part]
            try:
                encodings = self._tokenizer.encode(part)
            except TypeError as error:  # which counts from the part's first input
                raise TypeError(counted_from(start, str(error))) from None
            yield encodings
            if show_progress_bar:
                done = min(start + step, len(inputs))
                print(f"\r{done} of {len(inputs)} inputs", end="" if done < len(inputs) else "\n",
                      file=sys.stderr, flush=True)


def counted_from(start: int, message: str) -> str:
    return re.sub(r"^inputs\[(\d+)\]", lambda found: f"inputs[{start + int(found[1])}]", message)


def prefixed(prompt: str, item: Text) -> Text:
    if isinstance(item, str):
        return prompt + item
    first, *rest = item
    return [prompt + first, *rest]
