#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""BERT in NumPy and float64: the truth that the tests compare the engine with.

Written from Devlin et al. 2019 and the published behaviour of Hugging Face transformers, and apart
from the engine: it shares no code with it. Reads an unmodified Hugging Face directory and writes
one .safetensors file, inputs end to end and never padded (T tokens, N inputs, H hidden, C labels):

  ids [T] I64, type_ids [T] I64, starts [N + 1] I64
  embeddings [T, H]              output of the embeddings' LayerNorm
  layer.0 ... layer.{L-1} [T, H] output of each encoder layer
  pooler [N, H]                  where the checkpoint has a pooler
  logits [N, C]                  where the architecture has a classification or a next-sentence head
  embedding [N, H]               sentence embedding as modules.json says; without it, the mean
  __metadata__ "inputs"          JSON array of [first] or [first, second], where all are texts

  reference.py -m DIR -o FILE --inputs pairs.tsv
  reference.py -m DIR -o FILE --random 5 --lengths 3,31,512 --seed 1

Text is tokenized from vocab.txt by reference_inputs.py, which is right for ordinary text and says
what it leaves out; where that matters, give ids. On Debian, libopenblas0-pthread makes NumPy four
times as fast as its plain BLAS, which matters from BERT-base on.
"""
import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference_inputs import Input, WordPiece, random_inputs, read_inputs, read_json
from tensor_file import FormatError, TensorFile, write_tensors

NEXT_SENTENCE = ("BertForNextSentencePrediction", "BertForPreTraining")
# A masked-language-model checkpoint serves as an encoder; its vocabulary logits are left out.
ARCHITECTURES = ("BertModel", "BertForMaskedLM", "BertForSequenceClassification") + NEXT_SENTENCE


@dataclass
class Config:
    directory: Path
    architecture: str
    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    labels: int
    activation: str
    epsilon: float


def read_config(directory: Path) -> Config:
    path = directory / "config.json"
    config = read_json(path)

    def number(key: str, default: int | None = None) -> int:
        value = config.get(key, default)
        if type(value) is not int or value < 1:
            raise FormatError(f"{path}: {key} is {value}, expected a positive integer")
        return value

    def expect(key: str, allowed: tuple, default=None):
        value = config.get(key, default)
        if value not in allowed:
            raise FormatError(f"{path}: {key} is {value!r}, expected one of "
                              f"{', '.join(map(repr, allowed))}")
        return value

    expect("model_type", ("bert",), "bert")
    expect("position_embedding_type", ("absolute",), "absolute")
    expect("is_decoder", (False,), False)
    architectures = config.get("architectures") or ["BertModel"]
    if architectures[0] not in ARCHITECTURES:
        raise FormatError(f"{path}: architectures is {architectures}, expected one of "
                          f"{', '.join(ARCHITECTURES)}")
    # transformers writes id2label only where it is not the default, two labels.
    labels = len(config["id2label"]) if config.get("id2label") else number("num_labels", 2)
    hidden, heads = number("hidden_size"), number("num_attention_heads")
    if hidden % heads:
        raise FormatError(f"{path}: hidden_size is {hidden}, expected a multiple of "
                          f"num_attention_heads, {heads}")
    return Config(directory, architectures[0], number("num_hidden_layers"), hidden, heads,
                  number("intermediate_size"), number("vocab_size"),
                  number("max_position_embeddings", 512), number("type_vocab_size", 2), labels,
                  expect("hidden_act", tuple(ACTIVATIONS), "gelu"),
                  float(config.get("layer_norm_eps", 1e-12)))


class Checkpoint:
    """The tensors of a directory, one file or sharded, under transformers' present names."""

    def __init__(self, directory: Path):
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
            name = stored.removeprefix("bert.")
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
                                    "relu": lambda x: np.maximum(x, 0)}


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, starts: np.ndarray, heads: int):
    """softmax(q k^T / sqrt(D)) v within each sequence and head; [T, H] each."""
    size = q.shape[1] // heads
    context = np.empty_like(q)
    for begin, end in zip(starts, starts[1:]):
        for column in range(0, q.shape[1], size):
            part = np.s_[begin:end, column:column + size]
            scores = q[part] @ k[part].T / math.sqrt(size)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            context[part] = weights / weights.sum(1, keepdims=True) @ v[part]
    return context


def encode(config: Config, checkpoint: Checkpoint, inputs: list[Input]) -> dict[str, np.ndarray]:
    """The inputs and the output of each stage from embeddings to the last layer."""
    ids = np.concatenate([x.ids for x in inputs]).astype("<i8")
    type_ids = np.concatenate([x.type_ids for x in inputs]).astype("<i8")
    starts = np.cumsum([0] + [len(x.ids) for x in inputs]).astype("<i8")
    positions = np.concatenate([np.arange(len(x.ids)) for x in inputs])
    hidden, eps = config.hidden, config.epsilon

    e = "embeddings."
    x = (checkpoint.get(e + "word_embeddings.weight", config.vocabulary, hidden)[ids]
         + checkpoint.get(e + "position_embeddings.weight", config.positions, hidden)[positions]
         + checkpoint.get(e + "token_type_embeddings.weight", config.types, hidden)[type_ids])
    x = checkpoint.layer_norm(x, e + "LayerNorm", eps)
    stages = {"ids": ids, "type_ids": type_ids, "starts": starts, "embeddings": x}
    for i in range(config.layers):
        p = f"encoder.layer.{i}."
        q, k, v = (checkpoint.linear(x, f"{p}attention.self.{name}", hidden)
                   for name in ("query", "key", "value"))
        context = attention(q, k, v, starts, config.heads)
        dense = checkpoint.linear(context, p + "attention.output.dense", hidden)
        x = checkpoint.layer_norm(x + dense, p + "attention.output.LayerNorm", eps)
        wide = checkpoint.linear(x, p + "intermediate.dense", config.intermediate)
        dense = checkpoint.linear(ACTIVATIONS[config.activation](wide), p + "output.dense", hidden)
        x = checkpoint.layer_norm(x + dense, p + "output.LayerNorm", eps)
        stages[f"layer.{i}"] = x
    return stages


def finish(config: Config, checkpoint: Checkpoint, stages: dict[str, np.ndarray]) -> None:
    """Adds what follows the encoder: pooler, logits, embedding."""
    states, starts = stages[f"layer.{config.layers - 1}"], stages["starts"]
    head = None
    if config.architecture == "BertForSequenceClassification":
        head, labels = "classifier", config.labels
    elif config.architecture in NEXT_SENTENCE:
        head, labels = "cls.seq_relationship", 2
    if head or "pooler.dense.weight" in checkpoint.tensors:
        first = states[starts[:-1]]
        stages["pooler"] = np.tanh(checkpoint.linear(first, "pooler.dense", config.hidden))
    if head:
        stages["logits"] = checkpoint.linear(stages["pooler"], head, labels)
    stages["embedding"] = sentence_embedding(config.directory, states, starts)


# In the order in which sentence-transformers concatenates them where several are on.
POOLING: dict[str, Callable] = {"pooling_mode_cls_token": lambda x: x[0],
                                "pooling_mode_max_tokens": lambda x: x.max(0),
                                "pooling_mode_mean_tokens": lambda x: x.mean(0),
                                "pooling_mode_mean_sqrt_len_tokens":
                                    lambda x: x.sum(0) / math.sqrt(len(x))}


def sentence_embedding(directory: Path, states: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """What sentence-transformers' encode() returns; the mean where there is no modules.json."""
    poolings, normalize = [POOLING["pooling_mode_mean_tokens"]], False
    path = directory / "modules.json"
    for module in read_json(path, list) if path.exists() else []:
        kind = module["type"].rsplit(".", 1)[-1]
        if kind == "Pooling":
            poolings = read_pooling(directory / module["path"] / "config.json")
        elif kind == "Normalize":
            normalize = True
        elif kind != "Transformer":
            raise FormatError(f"{path}: type is {module['type']}, expected Transformer, Pooling or "
                              "Normalize")
    rows = np.array([np.concatenate([pool(states[begin:end]) for pool in poolings])
                     for begin, end in zip(starts, starts[1:])])
    # The floor is that of torch.nn.functional.normalize, which sentence-transformers calls.
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows / norms if normalize else rows


def read_pooling(path: Path) -> list[Callable]:
    modes = [k for k, v in read_json(path).items() if k.startswith("pooling_mode_") and v is True]
    unknown = set(modes) - set(POOLING)
    if unknown or not modes:
        raise FormatError(f"{path}: {', '.join(sorted(unknown)) or 'no pooling_mode'} is true, "
                          f"expected some of {', '.join(POOLING)}")
    return [pool for mode, pool in POOLING.items() if mode in modes]


def write_reference(path: Path, stages: dict[str, np.ndarray], inputs: list[Input], dtype: str,
                    kept: str, writer: str) -> None:
    if kept == "logits":
        last = "logits" if "logits" in stages else "embedding"
        stages = {name: stages[name] for name in ("ids", "type_ids", "starts", last)}
    stages = {name: values if name in ("ids", "type_ids", "starts") else values.astype(dtype)
              for name, values in stages.items()}
    metadata = {"written_by": writer}
    if all(x.texts for x in inputs):
        metadata["inputs"] = json.dumps([x.texts for x in inputs], ensure_ascii=False)
    write_tensors(path, stages, metadata)


def compute(directory: Path, inputs: list[Input]) -> dict[str, np.ndarray]:
    config, checkpoint = read_config(directory), Checkpoint(directory)
    stages = encode(config, checkpoint, inputs)
    finish(config, checkpoint, stages)
    return stages


def integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-m", "--model", type=Path, required=True, help="Hugging Face directory")
    parser.add_argument("-o", "--output", type=Path, required=True, help=".safetensors to write")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--inputs", type=Path, help=".tsv, or JSON Lines of texts or ids")
    source.add_argument("--random", type=int, metavar="N", help="N inputs of random ids")
    parser.add_argument("--lengths", type=integers, default=[3, 17, 31, 33, 128],
                        help="of the random inputs, in turn: 3,17,512")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--max-length", type=int, help="tokens a text is truncated to")
    parser.add_argument("--stages", choices=["all", "logits"], default="all",
                        help="logits: only the inputs and the logits (without a head: embedding)")
    return parser


def main() -> None:
    parser = arguments("Writes reference outputs of a BERT model, computed in float64.")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f64", help="as stored")
    args = parser.parse_args()
    try:
        config = read_config(args.model)
        if args.random is not None:
            inputs = random_inputs(config, args.random, args.lengths, args.seed)
        else:
            tokenizer = WordPiece(args.model, config.positions, args.max_length)
            inputs = read_inputs(config, args.inputs, tokenizer.encode)
        stages = compute(args.model, inputs)
        write_reference(args.output, stages, inputs, {"f32": "<f4", "f64": "<f8"}[args.dtype],
                        args.stages, "tools/reference.py, float64")
    except (FormatError, OSError) as error:
        sys.exit(f"reference.py: {error}")


if __name__ == "__main__":
    main()
