# SPDX-License-Identifier: Apache-2.0
"""What Model's functions return, as bert_infer.h has it."""
from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Hidden(NamedTuple):
    """The encoder's output for one input."""
    states: NDArray[np.float32]
    """[S, H], the last hidden state."""
    pooler: NDArray[np.float32] | None
    """[H], or None if the checkpoint has no pooler."""
    layers: list[NDArray[np.float32]]
    """[S, H] for each requested layer."""


class SparseVector(NamedTuple):
    """The tokens of the vocabulary that an input has a weight for, by ascending id."""
    ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    """Greater than 0, as many as ids."""


class Fill(NamedTuple):
    """A token that may stand for a mask token."""
    id: int
    token: str
    probability: float


class Blank(NamedTuple):
    """A mask token of an input and the tokens most likely to stand there, most probable first."""
    token: int
    """Its index in the encoding."""
    fills: list[Fill]


class Span(NamedTuple):
    """A labelled part of a text."""
    text: int
    """0 for the first text, 1 for the second."""
    begin: int
    end: int
    """In characters of the text, [begin, end)."""
    string: str
    label: str
    probability: float


class Tags(NamedTuple):
    """The labelled words of one input, and the entities that they make."""
    words: list[Span]
    """Or tokens, as the aggregation says."""
    entities: list[Span]
    windows: int
    tokens: int
    """In all windows."""
    truncated: bool


class AnswerSpan(NamedTuple):
    """A part of the second text that answers the first, [begin, end) in its characters."""
    begin: int
    end: int
    string: str
    score: float


class Answer(NamedTuple):
    """The part of the second text that answers the first best, [begin, end) in its characters."""
    begin: int
    end: int
    string: str
    score: float
    no_answer: float
    """The score of there being none: that of [CLS], the least over all windows."""
    windows: int
    tokens: int
    """In all windows."""
    others: list[AnswerSpan]
    """The next best, with top_k."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """The choice that goes best with a text; logits and probabilities: [choices]."""
    index: int
    logits: NDArray[np.float32]
    probabilities: NDArray[np.float32]
    tokens: int
    truncated: bool


def blank(found: tuple[int, list[tuple[int, str, float]]]) -> Blank:
    return Blank(found[0], [Fill(*fill) for fill in found[1]])


def tags(found: tuple[Any, ...]) -> Tags:
    words, entities, *rest = found
    return Tags([Span(*span) for span in words], [Span(*span) for span in entities], *rest)


def answer(found: tuple[Any, ...]) -> Answer:
    begin, end, string, score, no_answer, windows, tokens, others = found
    return Answer(begin, end, string, score, no_answer, windows, tokens,
                  [AnswerSpan(*other) for other in others])
