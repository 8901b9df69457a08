#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""BERT and its relatives in NumPy and float64: the ground truth for the engine.

Written from the papers (Devlin et al. 2019 and those of DistilBERT, ELECTRA, ALBERT, RoBERTa and
MPNet; the families after those are in newer/) and the published behaviour of Hugging Face
transformers, sharing no code with the engine.
Reads an unmodified Hugging Face directory and writes one .safetensors file, with the inputs end to
end and never padded (T tokens, N inputs, H hidden, C labels, V vocabulary):

  ids [T] I64, type_ids [T] I64, starts [N + 1] I64
  embeddings [T, H]              input of the first layer: normalised, and projected to H
  layer.0 ... layer.{L-1} [T, H] output of each encoder layer
  pooler [N, H]                  if the checkpoint has a pooler
  logits                         if the architecture has a head:
         [N, C]                  sequence classification; next sentence, C = 2
         [N, 1]                  multiple choice: each prompt and choice is an input
         [T, C]                  token classification; question answering, C = 2: start and end;
                                 ELECTRA's pretraining, C = 1
         [T, V]                  masked language model; BERT's and ALBERT's pretraining
  next_sentence [N, 2]           the other head of those two; ALBERT's is sentence order
  embedding [N, H]               sentence embedding as modules.json says; without it, the mean, or of Chinese
                                 CLIP [N, P] the first token's hidden state, projected
  sparse [N, V], vectors [T, D]  of models for search: see retrieval_reference.py
  unattended [N] I64             if any: so many tokens at the input's end no token attends to
  __metadata__ "inputs"          JSON array of [first] or [first, second], if all are texts

  reference.py -m DIR -o FILE --inputs pairs.tsv
  reference.py -m DIR -o FILE --random 5 --lengths 3,31,512 --seed 1

Text is tokenized from vocab.txt by reference_inputs.py, which handles ordinary text and documents
what it leaves out; where that matters, give ids. On Debian, libopenblas0-pthread makes NumPy four
times as fast as the default BLAS, which matters from BERT-base on.
"""
import argparse
import functools
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from newer.config import NewerConfig
from newer.reference import compute_newer
from reference_config import Config, read_config
from reference_heads import add_heads
from reference_inputs import Input, WordPiece, random_inputs, read_inputs, read_json, with_prompt
from reference_tensors import ACTIVATIONS, Checkpoint
from retrieval_reference import add_retrieval
from tensor_file import FormatError, write_tensors

Scores = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, starts: np.ndarray, heads: int,
              more_scores: Scores | None, attended: list[int], window: int | None = None):
    """softmax(q k^T / sqrt(D) + more_scores) v for each sequence and head; q, k, v: [T, H].

    more_scores(q, k, head): [S, S], terms that depend on relative positions. attended: how many
    of a sequence's first tokens any of its tokens attends to; window: how far it does so to each
    side."""
    size = q.shape[1] // heads
    context = np.empty_like(q)
    for begin, end, keys in zip(starts, starts[1:], attended, strict=False):
        for head in range(heads):
            part = np.s_[begin:end, head * size:(head + 1) * size]
            scores = q[part] @ k[part].T / math.sqrt(size)
            if more_scores:
                scores += more_scores(q[part], k[part], head)
            scores[:, keys:] = -np.inf
            if window is not None:
                scores[np.abs(distances(len(scores))) > window] = -np.inf
            weights = np.exp(scores - scores.max(1, keepdims=True))
            context[part] = weights / weights.sum(1, keepdims=True) @ v[part]
    return context


def distances(tokens: int) -> np.ndarray:
    """[S, S]: the query's position (row) minus the key's (column)."""
    return np.subtract.outer(np.arange(tokens), np.arange(tokens))


def relative_keys(config: Config, checkpoint: Checkpoint, layer: str) -> Scores:
    """Shaw et al. 2018; relative_key_query: Huang et al. 2020, method 4."""
    size, last = config.hidden // config.heads, config.positions - 1
    table = checkpoint.get(layer + "attention.self.distance_embedding.weight", 2 * last + 1, size)

    def scores(q: np.ndarray, k: np.ndarray, _: int) -> np.ndarray:
        index = distances(len(q)) + last
        out = np.take_along_axis(q @ table.T, index, 1)
        if config.position_type == "relative_key_query":
            out += np.take_along_axis(table @ k.T, index, 0)
        return out / math.sqrt(size)

    return scores


def buckets(distance: np.ndarray) -> np.ndarray:
    """Raffel et al. 2020 (T5), 32 buckets: 16 for keys before the query and 16 for keys after it.
    Of each 16, distances below 8 have one each; from 8 on the bucket is
    8 + 8 log(distance / 8) / log(128 / 8), rounded down and at most 15. That equals
    2 + log2(distance^2), computed here from the exponent, because logarithms may round a power of
    two either way. transformers' float32 formula gives the same bucket for every distance."""
    absolute = np.abs(distance)
    logarithmic = 2 + np.frexp(np.maximum(absolute, 1).astype(float) ** 2)[1] - 1
    return np.where(absolute < 8, absolute, np.minimum(logarithmic, 15)) + 16 * (distance < 0)


def relative_bias(config: Config, checkpoint: Checkpoint) -> Scores:
    """MPNet: one table for all layers, not divided by sqrt(D)."""
    name = "encoder.relative_attention_bias.weight"
    table = checkpoint.get(name, config.buckets, config.heads)
    return lambda q, _, head: table[buckets(distances(len(q))), head]


def position_ids(ids: np.ndarray, padding: int | None) -> np.ndarray:
    """Rows of the position embeddings for one input. RoBERTa counts tokens other than the padding
    id, starting at padding + 1; padding ids, even inside a text, use row padding."""
    if padding is None:
        return np.arange(len(ids))
    return np.where(ids == padding, padding, padding + np.cumsum(ids != padding))


def embed(config: Config, checkpoint: Checkpoint, inputs: list[Input]) -> np.ndarray:
    """[T, H]: the input of the first layer."""
    e, width = "embeddings.", config.embedding
    ids = np.concatenate([x.ids for x in inputs]).astype("<i8")
    x = checkpoint.get(e + "word_embeddings.weight", config.vocabulary, width)[ids]
    if config.position_type == "absolute":
        positions = np.concatenate([position_ids(np.array(x.ids), config.padding) for x in inputs])
        table = checkpoint.get(e + "position_embeddings.weight", config.positions, width)
        x += table[positions]
    if config.types:
        type_ids = np.concatenate([x.type_ids for x in inputs])
        x += checkpoint.get(e + "token_type_embeddings.weight", config.types, width)[type_ids]
    if config.tasks:
        x += checkpoint.get(e + "task_type_embeddings.weight", config.tasks, width)[0]
    if config.family.norms_embeddings:
        x = checkpoint.layer_norm(x, e + "LayerNorm", config.epsilon)
    # ALBERT and RemBERT always project, ELECTRA only where the widths differ.
    projection = config.family.projection
    if projection and (projection.startswith("encoder.") or width != config.hidden):
        x = checkpoint.linear(x, projection, config.hidden)
    return x


def encode(config: Config, checkpoint: Checkpoint, inputs: list[Input]) -> dict[str, np.ndarray]:
    """The inputs and the output of each stage from embeddings to the last layer."""
    starts = np.cumsum([0] + [len(x.ids) for x in inputs]).astype("<i8")
    family, hidden, eps = config.family, config.hidden, config.epsilon
    x = embed(config, checkpoint, inputs)
    stages = {"ids": np.concatenate([x.ids for x in inputs]).astype("<i8"),
              "type_ids": np.concatenate([x.type_ids for x in inputs]).astype("<i8"),
              "starts": starts, "embeddings": x}
    more_scores = relative_bias(config, checkpoint) if config.buckets else None
    for i, p in enumerate(config.layer_names):
        if config.position_type != "absolute":
            more_scores = relative_keys(config, checkpoint, p)
        normed = checkpoint.layer_norm(x, p + family.attention_norm, eps) if family.final_norm else x
        q, k, v = (checkpoint.linear(normed, p + name, hidden) for name in family.attention[:3])
        attended = [len(x.ids) - x.unattended for x in inputs]
        window = config.windows[i] if config.windows else None
        context = attention(q, k, v, starts, config.heads, more_scores, attended, window)
        dense = checkpoint.linear(context, p + family.attention[3], hidden)
        x = x + dense
        if not family.final_norm:
            x = checkpoint.layer_norm(x, p + family.attention_norm, eps)
        normed = checkpoint.layer_norm(x, p + family.norm, eps) if family.final_norm else x
        wide = checkpoint.linear(normed, p + family.wide, config.intermediate)
        x = x + checkpoint.linear(ACTIVATIONS[config.activation](wide), p + family.narrow, hidden)
        last = family.final_norm if i + 1 == len(config.layer_names) else None
        if norm := last if family.final_norm else p + family.norm:
            x = checkpoint.layer_norm(x, norm, eps)
        # ALBERT's layer of several inner ones: the last one's output stays.
        stages[f"layer.{i * config.layers // len(config.layer_names)}"] = x
    return stages


# In the order in which sentence-transformers concatenates them if several are enabled.
POOLING: dict[str, Callable] = {"pooling_mode_cls_token": lambda x: x[0],
                                "pooling_mode_max_tokens": lambda x: x.max(0),
                                "pooling_mode_mean_tokens": lambda x: x.mean(0),
                                "pooling_mode_mean_sqrt_len_tokens":
                                    lambda x: x.sum(0) / math.sqrt(len(x)),
                                "pooling_mode_lasttoken": lambda x: x[-1]}


def sentence_embedding(directory: Path, states: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """What sentence-transformers' encode() returns; the mean if there is no modules.json."""
    poolings, normalize = [POOLING["pooling_mode_mean_tokens"]], False
    path = directory / "modules.json"
    for module in read_json(path, list) if path.exists() else []:
        kind = module["type"].rsplit(".", 1)[-1]
        if kind == "Pooling":
            poolings = read_pooling(directory / module["path"] / "config.json")
        elif kind == "Normalize":
            normalize = True
        elif kind == "LogitScore":  # of a causal language model
            poolings = [POOLING["pooling_mode_lasttoken"]]
        elif kind != "Transformer":
            raise FormatError(f"{path}: type is {module['type']}, expected Transformer, Pooling or "
                              "Normalize")
    rows = np.array([np.concatenate([pool(states[begin:end]) for pool in poolings])
                     for begin, end in zip(starts, starts[1:])])
    # sentence-transformers calls torch.nn.functional.normalize, whose floor is 1e-12.
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    settings = directory / "config_sentence_transformers.json"
    is_truncated = path.exists() and settings.exists()
    width = read_json(settings).get("truncate_dim") if is_truncated else None
    return (rows / norms if normalize else rows)[:, :width]


def read_pooling(path: Path) -> list[Callable]:
    modes = [k for k, v in read_json(path).items() if k.startswith("pooling_mode_") and v is True]
    unknown = set(modes) - set(POOLING)
    if unknown or not modes:
        raise FormatError(f"{path}: {', '.join(sorted(unknown)) or 'no pooling_mode'} is true, "
                          f"expected some of {', '.join(POOLING)}")
    return [pool for mode, pool in POOLING.items() if mode in modes]


def write_reference(path: Path, stages: dict[str, np.ndarray], inputs: list[Input], dtype: str,
                    kept: str, writer: str, max_length: int | None = None) -> None:
    """max_length: of the inputs, if they are texts and this is not the model's own."""
    if kept == "logits":
        last = "logits" if "logits" in stages else "embedding"
        stages = {name: stages[name] for name in ("ids", "type_ids", "starts", last)}
    stages = {name: values if values.dtype.kind == "i" else values.astype(dtype)
              for name, values in stages.items()}
    metadata = {"written_by": writer}
    if all(x.texts for x in inputs):
        metadata["inputs"] = json.dumps([x.texts for x in inputs], ensure_ascii=False)
        if max_length:
            metadata["max_length"] = str(max_length)
    write_tensors(path, stages, metadata)


def compute(directory: Path, inputs: list[Input]) -> dict[str, np.ndarray]:
    config = read_config(directory)
    if isinstance(config, NewerConfig):
        stages = compute_newer(config, inputs)
    else:
        checkpoint = Checkpoint(directory, config.family.prefix)
        stages = encode(config, checkpoint, inputs)
        add_heads(config, checkpoint, stages)
    last = stages[f"layer.{config.layers - 1}"]
    if any(x.unattended for x in inputs):
        stages["unattended"] = np.array([x.unattended for x in inputs], "<i8")
    if add_retrieval(directory, config, last, stages) and "embedding" not in stages:
        stages["embedding"] = sentence_embedding(directory, last, stages["starts"])
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
                        help="lengths of the random inputs, used in turn, e.g. 3,17,512")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs")
    parser.add_argument("--max-length", type=int,
                        help="truncate texts to this many tokens, as bert-regress will then, too")
    parser.add_argument("--stages", choices=["all", "logits"], default="all",
                        help="logits: only the inputs and the logits (without a head, embedding)")
    return parser


def tokenize_with(config: Config, max_length: int | None) -> Callable:
    """Reads vocab.txt at the first text; inputs of ids do not need it."""
    tokenizer = functools.cache(lambda: WordPiece(config.directory, config.longest, max_length))
    return with_prompt(config, lambda texts: tokenizer().encode(texts))


def main() -> None:
    parser = arguments("Writes reference outputs of a BERT model, computed in float64.")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f64", help="stored type")
    args = parser.parse_args()
    try:
        config = read_config(args.model)
        if args.random is not None:
            if args.random < 1:
                raise FormatError(f"--random is {args.random}, expected at least 1")
            inputs = random_inputs(config, args.random, args.lengths, args.seed)
        else:
            inputs = read_inputs(config, args.inputs, tokenize_with(config, args.max_length))
        stages = compute(args.model, inputs)
        write_reference(args.output, stages, inputs, {"f32": "<f4", "f64": "<f8"}[args.dtype],
                        args.stages, "tools/reference/reference.py, float64",
                        args.max_length and min(args.max_length, config.longest))
    except (FormatError, OSError) as error:
        sys.exit(f"reference.py: {error}")


if __name__ == "__main__":
    main()
