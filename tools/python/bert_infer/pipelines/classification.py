# SPDX-License-Identifier: Apache-2.0
"""Labels of texts and pairs of texts: those of the model, or any, through a model of entailment."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from bert_infer._core import Error
from bert_infer.cross_encoder import saved_activation, sigmoid, softmax
from bert_infer.model import Matrix, Model, Text
from bert_infer.pipelines.base import Pipeline, check_positive
from bert_infer.prompted_model import read_json

FUNCTIONS: dict[str, Callable[[Matrix], Matrix]] = {
    "sigmoid": sigmoid, "softmax": softmax, "none": lambda logits: logits}
NOT_GIVEN: Any = ...  # stays the same object when copied or pickled


def read_text(item: Any, index: int) -> Text:
    """A text or pair, from what transformers takes: a str, {"text", "text_pair"} or [[text, text]]."""
    if isinstance(item, dict):
        unknown = sorted(item.keys() - {"text", "text_pair"})
        if unknown or "text" not in item:
            raise ValueError(f"inputs[{index}]: found {', '.join(sorted(item))}, expected text and "
                             "perhaps text_pair")
        pair = item.get("text_pair")
        return item["text"], None if pair == "" else pair  # transformers takes "" for no second text
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], list):
        texts: list[str] = item[0]
        return (texts[0], None) if len(texts) == 2 and texts[1] == "" else texts
    if not isinstance(item, str):
        raise ValueError(f"inputs[{index}]: found {type(item).__name__}, expected a text or "
                         '{"text": ..., "text_pair": ...}')
    return item


def entails(label: str) -> bool:
    return label.lower().startswith("entail")


class TextClassification(Pipeline):
    """{"label", "score"} of each text: the best, or with top_k a list of the best, or of all (None).

    top_k              how many labels
    function_to_apply  "sigmoid", "softmax" or "none" instead of what the model's directory says
    max_length         truncates texts to this many tokens; if that is less than the model's limit, the
                       model is loaded again, and kept until another length is asked for
    """
    task = "text-classification"
    parameters: ClassVar = {"top_k": NOT_GIVEN, "function_to_apply": None, "max_length": None}
    none_counts = frozenset({"top_k", "max_length"})

    def check_model(self) -> None:
        self.model.run([])
        self._shorter: Model | None = None
        self._function = self._own_function()

    def _own_function(self) -> str | None:
        """The pipeline's function if the directory names CrossEncoder's, which may differ; else None."""
        if saved_activation(self.model.directory) is None:
            return None
        problem = read_json(self.model.directory, "config.json").get("problem_type")
        if problem == "regression":
            return "none"
        one = len(self.model.info.labels) == 1
        return "sigmoid" if one or problem == "multi_label_classification" else "softmax"

    def check(self, settings: dict[str, Any]) -> None:
        if settings["top_k"] is not NOT_GIVEN:
            check_positive(settings, "top_k")
        check_positive(settings, "max_length")
        function = settings["function_to_apply"]
        if function is not None and str(function).lower() not in FUNCTIONS:
            raise ValueError(f"function_to_apply is {function!r}, expected one of "
                             f"{', '.join(FUNCTIONS)}")

    def __call__(self, inputs: Any, **settings: Any) -> Any:
        found = super().__call__(inputs, **settings)
        # As in transformers: the answer to one text is in a list, unless the call names top_k.
        return [found] if isinstance(inputs, str) and "top_k" not in settings else found

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        model = self._limited(settings["max_length"])
        texts = [read_text(item, i) for i, item in enumerate(items)]
        logits = model.run(self.unprompted(texts, model))
        function = (settings["function_to_apply"] or self._function or "").lower()
        scores = FUNCTIONS[function](logits) if function else self.model.probabilities(logits)
        return [self._labelled(row, settings["top_k"]) for row in scores]

    def _limited(self, length: int | None) -> Model:
        if length is None or length >= self.model.info.max_length:
            return self.model
        limited = self._shorter
        if limited is None or limited.info.max_length != length:
            limited = Model(self.model.directory, self.model.options, max_length=length)
            self._shorter = limited
        return limited

    def _labelled(self, scores: Matrix, top_k: Any) -> Any:
        count = 1 if top_k is NOT_GIVEN else top_k
        order = np.argsort(-scores, kind="stable")[:count]
        labelled = [{"label": self.model.info.labels[i], "score": float(scores[i])} for i in order]
        return labelled[0] if top_k is NOT_GIVEN else labelled


class ZeroShotClassification(Pipeline):
    """{"sequence", "labels", "scores"} of each text, best first, with a model of entailment.

    candidate_labels     a list, or one text with commas; needed
    hypothesis_template  a text with {} for the label
    multi_label          whether each label is judged by itself
    """
    task = "zero-shot-classification"
    parameters: ClassVar = {"candidate_labels": None,
                            "hypothesis_template": "This example is {}.", "multi_label": False}
    none_counts = frozenset({"hypothesis_template", "multi_label"})

    def check_model(self) -> None:
        self.model.zero_shot([], ["label"])
        ids = read_json(self.model.directory, "config.json").get("label2id")
        if not isinstance(ids, dict):
            return
        # transformers looks for the label there, and takes the last one if it finds none.
        labels = self.model.info.labels
        own = next(i for i, label in enumerate(labels) if entails(label))
        saved = next((id for label, id in ids.items() if entails(label)), len(labels) - 1)
        if saved != own:
            raise Error(f"{self.model.directory}/config.json: label2id: found {saved!r} for the "
                        f"label of entailment, expected {own}, as in id2label")

    def check(self, settings: dict[str, Any]) -> None:
        labels = settings["candidate_labels"]
        if isinstance(labels, str):
            labels = [label.strip() for label in labels.split(",") if label.strip()]
        settings["candidate_labels"] = [] if labels is None else list(labels)
        template = settings["hypothesis_template"]
        try:
            has_label = template.format("label") != template
        except (AttributeError, LookupError, ValueError):  # no str; "{0[a]}", "{} {}", "{"
            has_label = False
        if not has_label:
            raise ValueError(f"hypothesis_template is {template!r}, expected {{}} for the label")

    def __call__(self, sequences: Any,  # type: ignore[override]  # transformers' name
                 candidate_labels: Any = None, **settings: Any) -> Any:
        if candidate_labels is not None:
            settings["candidate_labels"] = candidate_labels
        return super().__call__(sequences, **settings)

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        labels = settings["candidate_labels"]
        if not labels:
            raise ValueError("candidate_labels: expected at least one")
        hypotheses = [settings["hypothesis_template"].format(label) for label in labels]
        found = []
        for item, (scores, _) in zip(items, self.model.zero_shot(items, hypotheses,
                                                                  settings["multi_label"])):
            best = np.argsort(scores)[::-1]  # of equal ones the last first, as in transformers
            found.append({"sequence": item, "labels": [labels[i] for i in best],
                          "scores": scores[best].tolist()})
        return found
