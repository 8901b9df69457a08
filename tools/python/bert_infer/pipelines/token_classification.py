# SPDX-License-Identifier: Apache-2.0
"""Labelled tokens, words and entities."""
from __future__ import annotations

from typing import Any, ClassVar

from bert_infer._core import Encoding
from bert_infer.pipelines.base import Pipeline, check_positive, require_texts
from bert_infer.results import Span, Tags

UNKNOWN = ("[UNK]", "<unk>")
AGGREGATIONS = ("none", "simple", "first", "average", "max")


def strategy_of(settings: dict[str, Any]) -> str:
    strategy = settings["aggregation_strategy"]
    return str(getattr(strategy, "value", strategy)).lower()  # of transformers' AggregationStrategy


class TokenClassification(Pipeline):
    """The entities of each text: {"entity", "score", "index", "word", "start", "end"} for each
    labelled token or, if tokens are aggregated, {"entity_group", "score", "word", "start", "end"}.
    start and end count characters of the text. A text of any length is read in windows.

    aggregation_strategy  "none", "simple", "first", "average" or "max"
    ignore_labels         labels that are left out, ["O"] by default
    stride                tokens by which windows overlap (128)
    """
    task = "token-classification"
    parameters: ClassVar = {"aggregation_strategy": "none", "ignore_labels": None, "stride": None}

    def check_model(self) -> None:
        self.model.tag([])
        self._tokenizer = self.model.tokenizer

    def check(self, settings: dict[str, Any]) -> None:
        check_positive(settings, "stride", 0)
        strategy = strategy_of(settings)
        if strategy not in AGGREGATIONS:
            raise ValueError(f"aggregation_strategy is {settings['aggregation_strategy']!r}, expected "
                             f"one of {', '.join(AGGREGATIONS)}")
        ignored = settings["ignore_labels"]
        if isinstance(ignored, str):
            raise ValueError(f"ignore_labels is {ignored!r}, expected a list of labels")
        if (strategy != "none" and ignored is not None and "O" not in ignored
                and "O" in self.model.info.labels):
            raise ValueError(f"ignore_labels is {ignored!r}, expected O, one of the model's labels, "
                             "among them unless aggregation_strategy is none")

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        require_texts(items)
        strategy = strategy_of(settings)
        stride = 128 if settings["stride"] is None else settings["stride"]
        ignored = ["O"] if settings["ignore_labels"] is None else settings["ignore_labels"]
        tagged = self.model.tag(items, strategy, stride)
        return [self._entities(text, encoding, tags, strategy, ignored)
                for text, encoding, tags in zip(items, self.whole(items), tagged)]

    def _entities(self, text: str, encoding: Encoding, tags: Tags, strategy: str,
                  ignored: list[str]) -> list[dict[str, Any]]:
        spans = tags.entities if "O" in ignored or strategy != "none" else tags.words
        found = []
        offsets = encoding.offsets.tolist()
        next_token = encoding.first[0]
        for span in spans:
            tokens, next_token = self._tokens_of(span, encoding, offsets, next_token)
            if strategy == "none":
                next_token += 1
            if span.label in ignored:
                continue
            where = {"start": span.begin, "end": span.end}
            if strategy == "none":
                token = tokens[0]
                found.append({"entity": span.label, "score": span.probability, "index": token,
                              "word": self._spelled(text, encoding, token), **where})
            else:
                found.append({"entity_group": span.label, "score": span.probability,
                              "word": self._word(text, encoding, tokens), **where})
        return found

    def _tokens_of(self, span: Span, encoding: Encoding, offsets: list[list[int]],
                   start: int) -> tuple[list[int], int]:
        """The tokens of a span, at or after token `start`, and where to look for the next span's."""
        end = encoding.first[1]
        while start < end and offsets[start][1] <= span.begin:
            start += 1
        tokens = [start]
        while tokens[-1] + 1 < end and offsets[tokens[-1] + 1][0] < span.end:
            tokens.append(tokens[-1] + 1)
        return tokens, start

    def _is_unknown(self, encoding: Encoding, token: int) -> bool:
        return self._tokenizer.token(int(encoding.ids[token])) in UNKNOWN

    def _spelled(self, text: str, encoding: Encoding, token: int) -> str:
        """As the vocabulary spells it or, if it is not in there, as the text does."""
        if self._is_unknown(encoding, token):
            begin, end = encoding.offsets[token].tolist()
            return text[begin:end]
        return self._tokenizer.token(int(encoding.ids[token]))

    def _word(self, text: str, encoding: Encoding, tokens: list[int]) -> str:
        """The tokens' text, with what is not in the vocabulary as the text spells it."""
        ids = encoding.ids[tokens].tolist()
        decoded = self._tokenizer.decode(ids, skip_special_tokens=False)
        unknown = [token for token in tokens if self._is_unknown(encoding, token)]
        if not unknown:
            return decoded
        # All are decoded at once, as each may change the white space around others.
        mark = self._tokenizer.token(int(encoding.ids[unknown[0]]))
        parts = decoded.split(mark)
        if len(parts) != len(unknown) + 1:  # known tokens spell the mark, too
            return text[encoding.offsets[tokens[0]][0]:encoding.offsets[tokens[-1]][1]]
        spelled = [self._spelled(text, encoding, token) for token in unknown]
        return "".join(part + word for part, word in zip(parts, [*spelled, ""]))
