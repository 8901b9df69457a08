# SPDX-License-Identifier: Apache-2.0
"""A newer family's checkpoint, and the arithmetic that encoders and heads share."""
import numpy as np

from newer.config import NewerConfig
from reference_tensors import ACTIVATIONS, Checkpoint
from tensor_file import FormatError


class Tensors:
    """A checkpoint with the sizes read from the tensors, and biases where they are stored."""

    def __init__(self, config: NewerConfig):
        self.checkpoint = Checkpoint(config.directory, config.prefixes[0])
        for prefix in config.prefixes[1:]:
            self.checkpoint.tensors = {name.removeprefix(prefix): entry for name, entry in
                                       self.checkpoint.tensors.items()}
        self.epsilon = config.epsilon

    def __contains__(self, name: str) -> bool:
        return name in self.checkpoint.tensors

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise FormatError(f"{self.checkpoint.path}: {name} is missing")
        file, stored = self.checkpoint.tensors[name]
        return self.checkpoint.get(name, *file.shape(stored))

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        y = x @ self[name + ".weight"].T
        return y + self[name + ".bias"] if name + ".bias" in self else y

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        y = centred / np.sqrt(variance + self.epsilon) * self[name + ".weight"]
        return y + self[name + ".bias"] if name + ".bias" in self else y


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def activation(name: str):
    return {"silu": silu, "swiglu": silu}.get(name) or ACTIVATIONS[name]


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)
