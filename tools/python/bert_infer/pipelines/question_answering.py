# SPDX-License-Identifier: Apache-2.0
"""The part of a text that answers a question."""
from __future__ import annotations

from typing import Any, ClassVar

from bert_infer.model import Model, whole
from bert_infer.pipelines.base import Pipeline, check_positive
from bert_infer.results import Answer, AnswerSpan

MOST_TOKENS = 384


class QuestionAnswering(Pipeline):
    """{"score", "start", "end", "answer"} of each {"question", "context"}; start and end count
    characters of the context, and are without the white space around the answer.

    doc_stride                tokens by which windows over a long context overlap (128, or half of
                              max_seq_len if that is less)
    max_answer_len            the longest answer, in tokens
    top_k                     with more than 1, a list of so many answers at most, best first, unless
                              there is only one
    handle_impossible_answer  whether the answer may be "", that there is none
    max_seq_len               tokens of a window, question included (384, or the model's limit if that
                              is less); only for pipeline()
    """
    task = "question-answering"
    parameters: ClassVar = {"doc_stride": None, "max_answer_len": 15, "top_k": 1,
                            "handle_impossible_answer": False, "align_to_words": True}

    def __init__(self, model: Model, max_seq_len: int | None = None, **settings: Any) -> None:
        length = min(MOST_TOKENS, model.info.max_length) if max_seq_len is None else max_seq_len
        if whole("max_seq_len", length) < 1:
            raise ValueError(f"max_seq_len is {length}, expected at least 1")
        if length != model.info.max_length:
            model = Model(model.directory, model.options, max_length=length)
        super().__init__(model, **settings)

    def check_model(self) -> None:
        self.model.answer([])

    def check(self, settings: dict[str, Any]) -> None:
        check_positive(settings, "doc_stride", 0)
        check_positive(settings, "max_answer_len")
        check_positive(settings, "top_k")
        if settings["align_to_words"] is not True:
            raise ValueError(f"align_to_words is {settings['align_to_words']!r}, expected True")

    def __call__(self, *inputs: Any, question: Any = None, context: Any = None,
                 **settings: Any) -> Any:
        """Answers question and context (or lists of them), or dicts of the two."""
        if not inputs:
            asked: Any = zipped(question, context)
        elif len(inputs) == 2 and all(isinstance(text, str) for text in inputs):
            asked = [{"question": inputs[0], "context": inputs[1]}]
        else:
            asked = inputs[0] if len(inputs) == 1 else list(inputs)
        found = super().__call__(asked, **settings)
        return found[0] if isinstance(found, list) and len(found) == 1 else found

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        stride = settings["doc_stride"]
        if stride is None:
            stride = min(self.model.info.max_length // 2, 128)
        top_k = settings["top_k"]
        found = []
        for answer in self.model.answer([read_question(item, i) for i, item in enumerate(items)], stride,
                                        settings["max_answer_len"], top_k):
            spans: list[Answer | AnswerSpan] = [answer, *answer.others]
            best: list[dict[str, Any]] = [
                {"score": span.score, "start": span.begin, "end": span.end, "answer": span.string}
                for span in spans]
            if settings["handle_impossible_answer"]:
                best.append({"score": answer.no_answer, "start": 0, "end": 0, "answer": ""})
                best.sort(key=lambda one: -one["score"])  # stable: it stands behind equal ones
            del best[top_k:]
            found.append(best[0] if len(best) == 1 else best)
        return found


def zipped(question: Any, context: Any) -> list[dict[str, Any]]:
    if question is None or context is None:
        raise TypeError("question-answering: expected question and context")
    questions = [question] if isinstance(question, str) else list(question)
    contexts = [context] * len(questions) if isinstance(context, str) else list(context)
    if len(questions) != len(contexts):
        raise ValueError(f"found {len(questions)} questions and {len(contexts)} contexts, expected "
                         "as many")
    return [{"question": q, "context": c} for q, c in zip(questions, contexts)]


def read_question(item: Any, index: int) -> tuple[str, str]:
    if not isinstance(item, dict) or item.keys() != {"question", "context"}:
        raise ValueError(f'inputs[{index}]: expected {{"question": ..., "context": ...}}')
    for name in ("question", "context"):
        if not item[name]:
            raise ValueError(f"inputs[{index}]: {name} is empty")
    return item["question"], item["context"]
