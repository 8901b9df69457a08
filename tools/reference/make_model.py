#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a BERT or related model with random weights, in the layout of the Hugging Face hub.

  make_model.py -o DIR --shape 12,768,12,3072 --vocab-file vocab.txt --labels 3
  make_model.py -o DIR --family albert --embedding-size 64 --head mlm

For tests and timing; its results mean nothing. The weights are distributed so that mistakes show:
attention is far from uniform, and no bias, gain or beta has its neutral value. A tensor depends
only on the seed and its own name and shape, so models that differ in dtype, naming or sharding have
the same weights.
"""
import argparse
import json
import sys
import zlib
from pathlib import Path

import numpy as np

import retrieval_models
from model_families import (FAMILIES, HEADS, POSITION_TYPES, Family, config, decoder_width, layer_names,
                            projection_width, resolve_options)
from model_tokenizers import write_json, write_tokenizer
from newer import models as newer_models
from newer.model_heads import head as newer_head
from tensor_file import FormatError, to_bfloat16, write_tensors

PROBLEMS = ["regression", "single_label_classification", "multi_label_classification"]
POOLINGS = ["cls", "mean", "max", "mean_sqrt_len", "lasttoken"]


class Weights:
    """Random tensors by name; dense weights are [outputs, inputs], as PyTorch stores them."""

    def __init__(self, seed: int, scale: float):
        self.seed, self.scale = seed, scale
        self.tensors: dict[str, np.ndarray] = {}

    def add(self, name: str, shape: tuple[int, ...], spread: float, centre: float = 0) -> None:
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        values = rng.standard_normal(shape, dtype=np.float32)
        values *= np.float32(spread)
        values += np.float32(centre)
        self.tensors[name] = values

    def dense(self, name: str, outputs: int, inputs: int, gain: float, bias: bool = True) -> None:
        """gain: standard deviation of the outputs for inputs of unit variance."""
        self.add(name + ".weight", (outputs, inputs), self.scale * gain / inputs**0.5)
        if bias:
            self.add(name + ".bias", (outputs,), 0.1 * gain)

    def norm(self, name: str, width: int, bias: bool = True) -> None:
        self.add(name + ".weight", (width,), 0.1, 1)
        if bias:
            self.add(name + ".bias", (width,), 0.1)

    def embeddings(self, args: argparse.Namespace, family: Family, vocab: int) -> None:
        e, hidden, width = family.prefix + "embeddings.", args.shape[1], args.embedding_size
        self.add(e + "word_embeddings.weight", (vocab, width), 0.05)
        positions = 0 if args.no_positions else 0.03
        self.add(e + "position_embeddings.weight", (args.positions, width), positions)
        if args.position_type == "sinusoidal":
            self.tensors[e + "position_embeddings.weight"] = sinusoids(args.positions, width)
        if family.types:
            self.add(e + "token_type_embeddings.weight", (args.types, width), 0.03)
        if args.family == "ernie":
            self.add(e + "task_type_embeddings.weight",
                     (family.settings["task_type_vocab_size"], width), 0.03)
        if family.norms_embeddings:
            self.norm(e + "LayerNorm", width)
        if family.final_norm:
            self.norm(family.prefix + family.final_norm, width)
        if args.family in ("albert", "rembert"):
            self.dense(family.prefix + "encoder.embedding_hidden_mapping_in", hidden, width, 1)
        elif width != hidden:
            self.dense(family.prefix + "embeddings_project", hidden, width, 1)
        if args.family == "mpnet":
            self.add(family.prefix + "encoder.relative_attention_bias.weight",
                     (family.settings["relative_attention_num_buckets"], args.shape[2]), 1)

    def layer(self, args: argparse.Namespace, family: Family, p: str) -> None:
        _, hidden, heads, intermediate = args.shape
        q, k, v, o, norm, wide, narrow, last = (p + part for part in family.parts)
        # Scores q k / sqrt(D) then have standard deviation 1.7: each token attends to a few others.
        self.dense(q, hidden, hidden, 1.3)
        self.dense(k, hidden, hidden, 1.3)
        self.dense(v, hidden, hidden, 1)
        if args.position_type.startswith("relative_key"):
            self.add(p + "attention.self.distance_embedding.weight",
                     (2 * args.positions - 1, hidden // heads), 1)
        if args.family == "longformer":  # for tokens that attend to all others, of which there are none
            for part in (q, k, v):
                self.dense(part + "_global", hidden, hidden, 1.3)
        self.dense(o, hidden, hidden, 1)
        self.norm(norm, hidden)
        self.dense(wide, intermediate, hidden, 1.5)
        self.dense(narrow, hidden, intermediate, 0.8)
        self.norm(last, hidden)

    def outliers(self, args: argparse.Namespace, family: Family) -> None:
        """Makes some channels of the hidden state 10 to 40 times larger, as in trained checkpoints,
        by scaling the gains of the norms and the weight rows that write to them."""
        rng = np.random.default_rng([self.seed, args.outliers])
        channels = rng.choice(args.shape[1], args.outliers, replace=False)
        for p in layer_names(args):
            for name in (family.parts[4], family.parts[7], family.parts[6]):
                factors = rng.uniform(10, 40, args.outliers).astype(np.float32)
                weight = self.tensors[f"{p}{name}.weight"]
                weight[channels] *= factors.reshape(-1, *[1] * (weight.ndim - 1))

    def head(self, args: argparse.Namespace, family: Family, vocab: int) -> None:
        hidden = args.shape[1]
        if family.pooler and args.head in family.pooled and not args.no_pooler:
            self.dense(family.prefix + family.pooler, hidden, hidden, 1)
        sizes = {"H": hidden, "E": args.embedding_size, "O": decoder_width(args), "V": vocab, "C": args.labels,
                 "P": projection_width(args)}
        for part in filter(None, family.heads.get(args.head, "").split("; ")):
            kind, name, outputs, *rest = part.split()
            size = sizes.get(outputs) or int(outputs)
            if kind in ("dense", "matrix"):
                self.dense(name, size, sizes[rest[0]], float(rest[1]), kind == "dense")
            elif kind == "norm":
                self.norm(name, size)
            else:
                self.add(name, (size,), 0.1)
        if args.family == "chinese_clip":  # the part for images
            self.add("logit_scale", (), 1)
            self.dense("visual_projection", sizes["P"], 4, 1, False)
            self.norm("vision_model.pre_layrnorm", 4)
        if args.decoder == "stored":
            words = self.tensors[family.prefix + "embeddings.word_embeddings.weight"]
            self.tensors[family.decoder] = words
            if family.decoder_bias:
                bias = family.decoder_bias.replace("decoder.", "")
                self.tensors[family.decoder_bias] = self.tensors[bias]
        elif args.decoder == "untied":
            self.add(family.decoder, (vocab, decoder_width(args)), 0.05)


def sinusoids(positions: int, width: int) -> np.ndarray:
    """Vaswani et al. 2017, section 3.5: sines in the even columns, cosines in the odd."""
    angles = np.arange(positions)[:, None] / 10000 ** (2 * (np.arange(width) // 2) / width)
    return np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles)).astype(np.float32)


def prefix_of(args: argparse.Namespace) -> str:
    if args.family in newer_models.CLASSES:
        return newer_models.PREFIXES[args.family]
    return FAMILIES[args.family].prefix


def stored_name(name: str, args: argparse.Namespace) -> str:
    if not args.prefix:
        name = name.removeprefix(prefix_of(args))
    if args.names == "gamma":
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        name = name.replace("LayerNorm.bias", "LayerNorm.beta")
    return name


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "BF16":
        return to_bfloat16(values)
    return values.astype({"F32": "<f4", "F16": "<f2"}[dtype])


def write_weights(args: argparse.Namespace, vocab: int) -> None:
    weights = Weights(args.seed, args.scale)
    if args.family in newer_models.CLASSES:
        content = newer_config(args, vocab)
        newer_models.encoder(weights, args, content, vocab)
        newer_head(weights, args, content, vocab)
    else:
        family = FAMILIES[args.family]
        weights.embeddings(args, family, vocab)
        for p in layer_names(args):
            weights.layer(args, family, p)
        weights.outliers(args, family)
        weights.head(args, family, vocab)
    weights.tensors |= retrieval_models.head_weights(args, vocab)
    tensors = {stored_name(k, args): stored(v, args.dtype) for k, v in weights.tensors.items()}
    if args.names == "gamma" or args.position_ids:
        buffer = stored_name(prefix_of(args) + "embeddings.position_ids", args)
        tensors[buffer] = np.arange(args.positions)[None]
    if not args.sharded:
        write_tensors(args.output / "model.safetensors", tensors, {"format": "pt"})
        return
    names, count = list(tensors), args.sharded
    weight_map = {}
    for i in range(count):
        shard = f"model-{i + 1:05}-of-{count:05}.safetensors"
        part = names[len(names) * i // count:len(names) * (i + 1) // count]
        write_tensors(args.output / shard, {name: tensors[name] for name in part}, {"format": "pt"})
        weight_map.update(dict.fromkeys(part, shard))
    total = sum(values.nbytes for values in tensors.values())
    write_json(args.output / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": weight_map})


def newer_config(args: argparse.Namespace, vocab: int) -> dict:
    content = newer_models.base_config(args, HEADS[args.head], vocab)
    newer_models.change(content, args.set)
    return content


def write_config(args: argparse.Namespace, vocab: int) -> None:
    newer = args.family in newer_models.CLASSES
    content = newer_config(args, vocab) if newer else config(args, vocab)
    # Like transformers, omit the default of two labels, or of BART's three.
    usual = 3 if args.family == "bart" else 2
    if args.head in ("classification", "tokens") and (args.labels != usual or args.label_names):
        names = args.label_names or [f"LABEL_{i}" for i in range(args.labels)]
        content["id2label"] = {str(i): name for i, name in enumerate(names)}
        content["label2id"] = {name: i for i, name in enumerate(names)}
    if args.problem_type:
        content["problem_type"] = args.problem_type
    write_json(args.output / "config.json", dict(sorted(content.items())))


def write_sentence_transformers(args: argparse.Namespace) -> None:
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    if args.normalize:
        kinds.append(("Normalize", "2_Normalize"))
    write_json(args.output / "modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(kinds)])
    write_json(args.output / "sentence_bert_config.json",
               {"max_seq_length": args.max_seq_length or args.positions, "do_lower_case": False})
    modes = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens",
             "mean_sqrt_len": "mean_sqrt_len_tokens", "lasttoken": "lasttoken"}
    write_json(args.output / "1_Pooling" / "config.json",
               {"word_embedding_dimension": args.shape[1],
                **{"pooling_mode_" + key: mode in args.sentence_transformers.split(",")
                   for mode, key in modes.items()}})


def shape(text: str) -> list[int]:
    values = [int(part) for part in text.split(",")]
    if len(values) != 4 or min(values) < 1 or values[1] % values[2]:
        raise ValueError
    return values


def setting(text: str) -> tuple[str, object]:
    key, _, value = text.partition("=")
    return key, json.loads(value)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Makes a BERT or relative with random weights.")
    add = parser.add_argument
    add("-o", "--output", type=Path, required=True, help="directory to write")
    add("--family", choices=[*FAMILIES, *newer_models.CLASSES], default="bert",
        help="model_type (default bert); 5: with transformers 5's own names")
    add("--set", type=setting, action="append", default=[], metavar="KEY=JSON",
        help="a field of config.json, of the families after MPNet; repeatable")
    add("--shape", type=shape, default=[2, 128, 2, 512], metavar="L,H,A,I",
        help="layers, hidden, heads, intermediate; H a multiple of A (default 2,128,2,512)")
    add("--vocab", type=int, help="rows of the word embedding (default: the vocabulary's, or 200)")
    add("--vocab-file", type=Path, help="vocab.txt to copy (default: a small one is made)")
    add("--cased", action="store_true", help="the tokenizer keeps case and accents")
    add("--positions", type=int, default=512, help="max_position_embeddings")
    add("--position-type", choices=list(POSITION_TYPES), default="absolute",
        help="position_embedding_type; sinusoidal for DistilBERT")
    add("--embedding-size", type=int, metavar="E",
        help="width of ELECTRA's, ALBERT's and RemBERT's embeddings (default: H)")
    add("--groups", type=int, default=1, help="ALBERT's num_hidden_groups")
    add("--inner-groups", type=int, default=1, help="ALBERT's inner_group_num")
    add("--types", type=int, help="type_vocab_size (default: the family's)")
    add("--head", choices=list(HEADS),
        help="default: classification, or what --retrieval or the family needs")
    add("--decoder", choices=["tied", "stored", "untied"], default="tied",
        help="masked LM decoder: not stored, stored with the embeddings' values, or different")
    add("--labels", type=int, default=2, help="number of labels of a classification or token head")
    add("--label-names", type=lambda text: text.split(","), help="id2label, comma-separated")
    add("--problem-type", choices=PROBLEMS)
    add("--act", help="hidden_act (default: the family's)")
    add("--epsilon", type=float, help="layer_norm_eps (default: the family's; not DistilBERT's)")
    add("--dtype", choices=["F32", "F16", "BF16"], default="F32", help="stored type")
    add("--names", choices=["modern", "gamma"], default="modern",
        help="gamma: LayerNorm.gamma and .beta and a position_ids buffer, as in older checkpoints")
    add("--position-ids", action="store_true", help="store a position_ids buffer")
    add("--prefix", action=argparse.BooleanOptionalAction,
        help="prefix the encoder's names with bert. or the like (default: if there is a head)")
    add("--no-pooler", action="store_true", help="only with --head none")
    add("--no-positions", action="store_true", help="all-zero position embeddings")
    add("--sharded", type=int, metavar="N", help="N shards and model.safetensors.index.json")
    add("--sentence-transformers", metavar="MODE",
        help=f"add sentence-transformers files with this pooling: {', '.join(POOLINGS)}, or "
             "several, comma-separated")
    add("--normalize", action="store_true", help="add 2_Normalize after the pooling")
    add("--retrieval", choices=retrieval_models.KINDS,
        help="add the files of a model for search (see retrieval_models.py)")
    add("--max-seq-length", type=int, help="max_seq_length of sentence_bert_config.json")
    add("--scale", type=float, default=1, help="factor for all dense weights")
    add("--outliers", type=int, default=0, metavar="N",
        help="make N channels of the hidden state 10 to 40 times larger")
    add("--seed", type=int, default=0)
    return parser


def resolve_head(args: argparse.Namespace) -> None:
    """Models for search have one head, and encoders out of language models none."""
    needs = {"colbert": "none", "splade": "mlm", "splade-sum": "mlm", "logit-score": "none"}.get(args.retrieval)
    headless = "gemma" in args.family or "clip" in args.family
    if headless:
        needs = "none"
    if needs and args.head not in (None, needs):
        option = f"--family {args.family}" if headless else f"--retrieval {args.retrieval}"
        raise FormatError(f"{option} requires --head {needs}, not {args.head}")
    usual = "none" if args.family.removeprefix("m").startswith("t5") else "classification"
    args.head = args.head or needs or usual


def check(args: argparse.Namespace) -> None:
    resolve_head(args)
    if args.prefix is None:
        args.prefix = args.head != "none"
    if args.no_pooler and args.head != "none":
        raise FormatError("--no-pooler requires --head none: the other heads read the pooler")
    if args.label_names and len(args.label_names) != args.labels:
        raise FormatError(f"--label-names has {len(args.label_names)} names, expected --labels "
                          f"{args.labels}")
    unknown = set((args.sentence_transformers or "mean").split(",")) - set(POOLINGS)
    if unknown:
        raise FormatError(f"--sentence-transformers is {', '.join(unknown)}, expected one or more "
                          f"of {', '.join(POOLINGS)}")


def make(argv: list[str]) -> None:
    args = arguments().parse_args(argv)
    check(args)
    if args.family not in newer_models.CLASSES:
        resolve_options(args)
    args.output.mkdir(parents=True, exist_ok=True)
    vocab = write_tokenizer(args)
    write_config(args, vocab)
    write_weights(args, vocab)
    if args.sentence_transformers:
        write_sentence_transformers(args)
    if args.retrieval:
        retrieval_models.write_retrieval(args)


if __name__ == "__main__":
    try:
        make(sys.argv[1:])
    except (FormatError, OSError) as error:
        sys.exit(f"make_model.py: {error}")
