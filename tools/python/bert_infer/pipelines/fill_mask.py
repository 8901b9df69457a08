# SPDX-License-Identifier: Apache-2.0
"""The tokens that mask tokens stand for."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from bert_infer._core import Encoding, Error
from bert_infer.pipelines.base import Pipeline, check_positive, require_texts
from bert_infer.prompted_model import read_json
from bert_infer.results import Blank, Fill

# What a tokenizer's clean_up_tokenization_spaces takes the white space from, in this order.
CLEANED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
CLEANS_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"


class FillMask(Pipeline):
    """{"score", "token", "token_str", "sequence"} for the best fills of a text's mask token, best
    first; of a text with several, a list of that for each.

    top_k    how many fills
    targets  words; only their tokens may be fills
    """
    task = "fill-mask"
    parameters: ClassVar = {"top_k": 5, "targets": None}

    def check_model(self) -> None:
        self.model.fill_mask([])
        self._tokenizer = self.model.tokenizer
        self._ids: dict[str, int] = {}
        self._pad_id = self._find_pad()
        settings = read_json(self.model.directory, "tokenizer_config.json")
        self._cleans = bool(settings.get("clean_up_tokenization_spaces")
                            and (self.model.info.tokenizer != "BPE" or settings.get(CLEANS_BPE)))

    def check(self, settings: dict[str, Any]) -> None:
        check_positive(settings, "top_k")

    def __call__(self, inputs: Any, **settings: Any) -> Any:
        found = super().__call__(inputs, **settings)
        return found[0] if isinstance(inputs, (list, tuple)) and len(inputs) == 1 else found

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        require_texts(items)
        targets = settings["targets"]
        wanted = None if targets is None else self._target_ids(targets)
        count = settings["top_k"] if wanted is None else self.model.info.vocabulary
        encodings = self.model.tokenize(items)
        found = []
        for i, blanks in enumerate(self.model.fill_mask(encodings, count)):
            if not blanks:
                raise Error(f"input {i}: found no mask token")
            filled = [[self._filled(encodings[i], blank, fill, len(blanks) == 1)
                       for fill in best(blank, wanted, settings["top_k"])] for blank in blanks]
            found.append(filled[0] if len(filled) == 1 else filled)
        return found

    def _filled(self, encoding: Encoding, blank: Blank, fill: Fill, alone: bool) -> dict[str, Any]:
        ids = np.array(encoding.ids)
        ids[blank.token] = fill.id
        ids = ids[ids != self._pad_id]
        # Where there are other masks, they are shown, and so are all special tokens but padding.
        return {"score": fill.probability, "token": fill.id,
                "token_str": self._decoded([fill.id], skip_special_tokens=False),
                "sequence": self._decoded(ids, skip_special_tokens=alone)}

    def _decoded(self, ids: Iterable[int], skip_special_tokens: bool) -> str:
        try:
            text = self._tokenizer.decode(ids, skip_special_tokens)
        except Error:  # the last rows of a model's embeddings may have no token
            text = self._tokenizer.decode([id for id in ids if self._has_token(id)],
                                          skip_special_tokens)
        if self._cleans:
            for before in CLEANED:
                text = text.replace(before, before.strip())
        return text

    def _has_token(self, id: int) -> bool:
        try:
            self._tokenizer.token(int(id))
        except Error:
            return False
        return True

    def _find_pad(self) -> int:
        """The id of the padding token, which is left out of sequences; -1 if there is none."""
        spelled = ["[PAD]", "<pad>"]  # unless a file names it
        for name in "special_tokens_map.json", "tokenizer_config.json":
            token = read_json(self.model.directory, name).get("pad_token")
            token = token.get("content") if isinstance(token, dict) else token
            spelled = [token, *spelled] if token else spelled
        for token, encoding in zip(spelled, self.whole(spelled)):
            begin, end = encoding.first
            if end == begin + 1 and self._tokenizer.token(int(encoding.ids[begin])) == token:
                return int(encoding.ids[begin])
        return -1

    def _vocabulary(self) -> dict[str, int]:
        ids = {}
        for id in range(self.model.info.vocabulary):
            if self._has_token(id):
                ids[self._tokenizer.token(id)] = id
        return ids

    def _target_ids(self, targets: str | list[str]) -> set[int]:
        """The words' ids; for a word that is not in the vocabulary, its first token's."""
        if not self._ids:
            self._ids = self._vocabulary()
        words = [targets] if isinstance(targets, str) else list(targets)
        found = set()
        for word, encoding in zip(words, self.whole(words)):
            begin, end = encoding.first
            if word in self._ids:
                found.add(self._ids[word])
            elif end > begin:
                found.add(int(encoding.ids[begin]))
        if not found:
            raise ValueError("targets: expected at least one word")
        return found


def best(blank: Blank, wanted: set[int] | None, count: int) -> list[Fill]:
    fills = [fill for fill in blank.fills if wanted is None or fill.id in wanted]
    return fills[:count]
