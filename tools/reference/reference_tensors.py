# SPDX-License-Identifier: Apache-2.0
"""Tensors of a Hugging Face directory in float64, and the layers and activations that use them."""
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from reference_inputs import read_json
from tensor_file import FormatError, TensorFile


class Checkpoint:
    """The tensors of a directory, in one file or sharded, under transformers' current names."""

    def __init__(self, directory: Path, prefix: str = "bert."):
        self.prefix = prefix
        index = directory / "model.safetensors.index.json"
        self.path = directory / "model.safetensors"
        self.tensors: dict[str, tuple[TensorFile, str]] = {}
        if self.path.exists() or not index.exists():
            file = TensorFile(self.path)
            self._add({name: file for name in file.entries})
            return
        self.path = index
        weight_map = read_json(index).get("weight_map")
        if not isinstance(weight_map, dict):
            raise FormatError(f"{index}: weight_map is missing")
        shards = {name: TensorFile(directory / name) for name in sorted(set(weight_map.values()))}
        self._add({name: shards[shard] for name, shard in weight_map.items()})

    def _add(self, files: dict[str, TensorFile]) -> None:
        for stored, file in files.items():
            if stored not in file.entries:
                raise FormatError(f"{self.path}: weight_map: {stored} is not in {file.path.name}")
            name = stored.removeprefix(self.prefix)
            name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
            self.tensors[name.replace("LayerNorm.beta", "LayerNorm.bias")] = (file, stored)

    def get(self, name: str, *shape: int) -> np.ndarray:
        if name not in self.tensors:
            raise FormatError(f"{self.path}: {name} is missing")
        file, stored = self.tensors[name]
        if file.shape(stored) != list(shape):
            raise FormatError(f"{file.path}: {stored} has shape {file.shape(stored)}, expected "
                              f"{list(shape)}")
        if file.entries[stored]["dtype"] not in ("F32", "F16", "BF16"):
            raise FormatError(f"{file.path}: {stored} is {file.entries[stored]['dtype']}, expected "
                              "F32, F16 or BF16")
        return file.read(stored).astype(np.float64)

    def linear(self, x: np.ndarray, name: str, outputs: int) -> np.ndarray:
        weight = self.get(name + ".weight", outputs, x.shape[1])
        return x @ weight.T + self.get(name + ".bias", outputs)

    def layer_norm(self, x: np.ndarray, name: str, epsilon: float) -> np.ndarray:
        centred = x - x.mean(1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + epsilon)
        width = x.shape[1]
        return scaled * self.get(name + ".weight", width) + self.get(name + ".bias", width)


def gelu(x: np.ndarray) -> np.ndarray:
    erf = np.fromiter(map(math.erf, (x / math.sqrt(2)).ravel().tolist()), np.float64, x.size)
    return 0.5 * x * (1 + erf.reshape(x.shape))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS: dict[str, Callable] = {"gelu": gelu, "gelu_new": gelu_tanh,
                                    "gelu_pytorch_tanh": gelu_tanh,
                                    "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh,
                                    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x))}
