# SPDX-License-Identifier: Apache-2.0
"""transformers' pipelines: the same names, arguments and answers, for the tasks of an encoder."""
from __future__ import annotations

import os
from typing import Any

from bert_infer.model import OPTION_NAMES, Model, Path, at_revision, find_model
from bert_infer.pipelines.base import Pipeline
from bert_infer.pipelines.classification import TextClassification, ZeroShotClassification
from bert_infer.pipelines.feature_extraction import FeatureExtraction
from bert_infer.pipelines.fill_mask import FillMask
from bert_infer.pipelines.question_answering import QuestionAnswering
from bert_infer.pipelines.token_classification import TokenClassification
from bert_infer.prompted_model import refuse_device

__all__ = ["Pipeline", "pipeline"]
TASKS: dict[str, type[Pipeline]] = {
    kind.task: kind for kind in (TextClassification, TokenClassification, QuestionAnswering, FillMask,
                                 FeatureExtraction, ZeroShotClassification)}
# transformers' arguments, and their values that change nothing here.
WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "config": (None,), "device_map": (None, "auto"), "dtype": (None, "auto"), "framework": (None, "pt"),
    "model_kwargs": (None, {}), "torch_dtype": (None, "auto")}
ALIASES = {"sentiment-analysis": "text-classification", "ner": "token-classification"}


def pipeline(task: str, model: Path | Model, *, tokenizer: Path | None = None, device: Any = None,
             revision: str | None = None, **settings: Any) -> Any:
    """A callable for one of the tasks "text-classification" (or "sentiment-analysis"),
    "token-classification" ("ner"), "question-answering", "fill-mask", "feature-extraction" and
    "zero-shot-classification".

    model      a model directory, ORG/NAME in Hugging Face's cache on this machine, or a loaded Model
    tokenizer  None or the model's directory or name
    device     "cpu", -1 or None
    revision   a branch, a tag or a commit of the model in the cache ("main")
    settings   defaults for the calls' arguments, and Options: precision="int8", threads=2, ...

        classify = pipeline("text-classification", "path/to/model", top_k=None)
        classify(["A fine film.", {"text": "A man plays.", "text_pair": "Somebody plays."}])
    """
    refuse_device(None if device == -1 else device)
    kind = TASKS.get(ALIASES.get(task, task))
    if kind is None:
        raise ValueError(f"task is {task!r}, expected one of {', '.join([*TASKS, *ALIASES])}")
    for name, values in WITHOUT_EFFECT.items():
        if settings.get(name) in values:
            settings.pop(name, None)
    options = {name: settings.pop(name) for name in OPTION_NAMES & settings.keys()}
    if isinstance(model, Model):
        if options:
            raise TypeError(f"{', '.join(sorted(options))}: the model is loaded already")
        if revision is not None and tokenizer is None:
            raise TypeError("revision: the model is loaded already")
        loaded = model
    else:
        loaded = Model(at_revision(model, revision), **options)
    if tokenizer is not None and (os.path.abspath(find_model(at_revision(tokenizer, revision)))
                                  != loaded.directory):
        raise ValueError(f"tokenizer is {tokenizer!r}, expected the model's directory or None")
    return kind(loaded, **settings)
