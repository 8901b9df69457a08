# SPDX-License-Identifier: Apache-2.0
"""The encoder's states."""
from __future__ import annotations

from typing import Any, ClassVar

from bert_infer.pipelines.base import Pipeline, require_texts


class FeatureExtraction(Pipeline):
    """The last hidden state of each text, as lists of lists [1][S][H].

    return_tensors  True gives a NumPy array [1, S, H]
    """
    task = "feature-extraction"
    parameters: ClassVar = {"return_tensors": False}

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        require_texts(items)
        states = [hidden.states[None] for hidden in self.model.hidden(self.unprompted(items))]
        return states if settings["return_tensors"] else [state.tolist() for state in states]
