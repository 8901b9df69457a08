# SPDX-License-Identifier: Apache-2.0
"""Sparse vectors and vectors of tokens in float64, for reference.py.

Written from Formal et al. 2021 (SPLADE), Khattab and Zaharia 2020 (ColBERT), Chen et al. 2024
(BGE-M3) and the published code. Adds to the stages:

  sparse [N, V]    of a directory with a SpladePooling module, or with BGE-M3's sparse_linear.pt
  vectors [T, D]   of each token, before any is left out: of modules for token embeddings, of
                   HF_ColBERT's linear.weight, or of BGE-M3's colbert_linear.pt
"""
import pickle
import zipfile
from pathlib import Path

import numpy as np

from reference_inputs import read_json
from reference_tensors import Checkpoint
from tensor_file import FormatError, TensorFile

Stages = dict[str, np.ndarray]


class Storage(pickle.Unpickler):
    """Understands a dict of float32 tensors, as torch.save writes it, and nothing else."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive
        (name,) = (x for x in archive.namelist() if x.endswith("/data.pkl"))
        self.root = name.removesuffix("data.pkl")
        super().__init__(archive.open(name))

    def find_class(self, module: str, name: str):
        known = {"_rebuild_tensor_v2": lambda values, offset, shape, strides, *_:
                 np.lib.stride_tricks.as_strided(values[offset:], shape, [4 * s for s in strides]),
                 "_rebuild_parameter": lambda tensor, *_: tensor, "OrderedDict": Tensors,
                 "FloatStorage": np.dtype("<f4")}
        if name not in known:
            raise FormatError(f"{self.archive.filename}: {module}.{name} is not a float32 tensor")
        return known[name]

    def persistent_load(self, key: tuple) -> np.ndarray:
        _, dtype, name, _, _ = key
        return np.frombuffer(self.archive.read(f"{self.root}data/{name}"), dtype)


class Tensors(dict):
    """An OrderedDict, of which torch also keeps _metadata."""


def read_linear(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with zipfile.ZipFile(path) as archive:
        tensors = Storage(archive).load()
        return tensors["weight"].astype(np.float64), tensors["bias"].astype(np.float64)


def normalized(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def splade(logits: np.ndarray, starts: np.ndarray, settings: dict) -> np.ndarray:
    weights = np.log1p(np.maximum(logits, 0))
    if settings["activation_function"] == "log1p_relu":
        weights = np.log1p(weights)
    reduce = {"max": np.max, "sum": np.sum}[settings["pooling_strategy"]]
    return np.array([reduce(weights[a:b], axis=0) for a, b in zip(starts, starts[1:])])


def token_weights(path: Path, states: np.ndarray, stages: Stages, vocabulary: int,
                  ignored: list[int]) -> np.ndarray:
    """[N, V]: for each id, the greatest weight of a token with that id."""
    weight, bias = read_linear(path)
    each = np.maximum(states @ weight[0] + bias[0], 0)
    rows = np.zeros((len(stages["starts"]) - 1, vocabulary))
    for row, begin, end in zip(rows, stages["starts"], stages["starts"][1:]):
        np.maximum.at(row, stages["ids"][begin:end], each[begin:end])
    rows[:, ignored] = 0
    return rows


def dense(folder: Path, x: np.ndarray) -> np.ndarray:
    settings, file = read_json(folder / "config.json"), TensorFile(folder / "model.safetensors")
    read = lambda name: file.read(name).astype(np.float64)  # noqa: E731
    y = x @ read("linear.weight").T + (read("linear.bias") if settings["bias"] else 0)
    if settings["activation_function"].endswith("Tanh"):
        y = np.tanh(y)
    if settings.get("use_residual"):
        y = y + (x @ read("residual.weight").T if "residual.weight" in file.entries else x)
    return y


def special_ids(directory: Path) -> list[int]:
    """Those of the tokens that BGE-M3 leaves out."""
    words = (directory / "vocab.txt").read_text(encoding="utf-8").splitlines()
    names = read_json(directory / "tokenizer_config.json")
    keys = ("cls_token", "sep_token", "unk_token", "pad_token")
    return [words.index(names[key]) for key in keys if key in names]


def logit_score(directory: Path, settings: dict, last: np.ndarray) -> np.ndarray:
    """Of the last token's logits, one minus another; lm_head may be the word embeddings."""
    tensors = Checkpoint(directory, "model.").tensors
    name = "lm_head.weight" if "lm_head.weight" in tensors else "embed_tokens.weight"
    file, stored = tensors[name]
    logits = last @ file.read(stored).astype(np.float64).T
    other = settings.get("false_token_id")
    score = logits[:, settings["true_token_id"]] - (0 if other is None else logits[:, other])
    return score[:, None]


def add_retrieval(directory: Path, config, states: np.ndarray, stages: Stages) -> bool:
    """Whether there is a vector of the whole input too."""
    path = directory / "modules.json"
    modules = read_json(path, list) if path.exists() else []
    folders = {m["type"].rsplit(".", 1)[-1]: directory / m["path"] for m in modules}
    if "LogitScore" in folders:
        stages["logits"] = logit_score(directory, read_json(folders["LogitScore"] / "config.json"),
                                       states[stages["starts"][1:] - 1])
        return True
    if "SpladePooling" in folders:
        settings = read_json(folders["SpladePooling"] / "config.json")
        stages["sparse"] = splade(stages["logits"], stages["starts"], settings)
        return False
    if (directory / "sparse_linear.pt").exists():
        stages["sparse"] = token_weights(directory / "sparse_linear.pt", states, stages,
                                         config.vocabulary, special_ids(directory))
        weight, bias = read_linear(directory / "colbert_linear.pt")
        stages["vectors"] = normalized(states @ weight.T + bias)
        return True
    content = read_json(directory / "config.json")
    if content["architectures"] == ["HF_ColBERT"] and not modules:
        linear = Checkpoint(directory).tensors["linear.weight"]
        stages["vectors"] = normalized(states @ linear[0].read("linear.weight").astype(float).T)
        return False
    if "MultiVectorMask" not in folders:
        return True
    for module in modules:
        if module["type"].endswith("Dense"):
            states = dense(directory / module["path"], states)
    stages["vectors"] = normalized(states) if "Normalize" in folders else states
    return False
