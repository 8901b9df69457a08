#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a BERT with random weights in the layout of the Hugging Face hub: to test and to time with.

  make_model.py -o DIR --shape 12,768,12,3072 --vocab-file vocab.txt --labels 3

Its answers mean nothing. The weights are spread so that mistakes show: attention far from uniform,
no bias, gain or beta at its neutral value. A tensor depends on the seed, its own name and shape
alone, so two models that differ in dtype, naming or sharding hold the same weights.
"""
import argparse
import json
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np

from tensor_file import FormatError, to_bfloat16, write_tensors

ARCHITECTURES = {"none": "BertModel", "classification": "BertForSequenceClassification",
                 "nsp": "BertForNextSentencePrediction", "pretraining": "BertForPreTraining"}
PROBLEMS = ["regression", "single_label_classification", "multi_label_classification"]
POOLINGS = ["cls", "mean", "max", "mean_sqrt_len"]
WORDS = ("a an and are at beach boy dog dogs eating girl guitar in is man men music not of on "
         "piano play playing plays running the two walking woman ##ed ##er ##ing ##ly ##s").split()


def vocabulary(size: int) -> list[str]:
    """Special tokens, unused rows up to the size, letters, digits, punctuation, a few words."""
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    plain = [chr(c) for c in range(0x21, 0x7F) if not chr(c).isupper() and not chr(c).islower()]
    pieces = plain + letters + ["##" + c for c in letters + [str(d) for d in range(10)]]
    pieces += [word for word in WORDS if word not in pieces]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    unused = size - len(special) - len(pieces)
    if unused < 0:
        raise FormatError(f"--vocab is {size}, expected at least {size - unused}")
    # [PAD] first and the others after unused rows, as in the published vocabularies.
    return special[:1] + [f"[unused{i}]" for i in range(unused)] + special[1:] + pieces


class Weights:
    """Random tensors by name, [outputs, inputs] for a dense weight, as PyTorch stores them."""

    def __init__(self, seed: int, scale: float):
        self.seed, self.scale = seed, scale
        self.tensors: dict[str, np.ndarray] = {}

    def add(self, name: str, shape: tuple[int, ...], spread: float, centre: float = 0) -> None:
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        values = rng.standard_normal(shape, dtype=np.float32)
        values *= np.float32(spread)
        values += np.float32(centre)
        self.tensors[name] = values

    def dense(self, name: str, outputs: int, inputs: int, gain: float) -> None:
        """gain: the spread of the outputs for inputs of unit spread."""
        self.add(name + ".weight", (outputs, inputs), self.scale * gain / inputs**0.5)
        self.add(name + ".bias", (outputs,), 0.1 * gain)

    def norm(self, name: str, width: int) -> None:
        self.add(name + ".weight", (width,), 0.1, 1)
        self.add(name + ".bias", (width,), 0.1)

    def embeddings(self, args: argparse.Namespace, hidden: int, vocab: int) -> None:
        e = "bert.embeddings."
        self.add(e + "word_embeddings.weight", (vocab, hidden), 0.05)
        positions = 0 if args.no_positions else 0.03
        self.add(e + "position_embeddings.weight", (args.positions, hidden), positions)
        self.add(e + "token_type_embeddings.weight", (args.types, hidden), 0.03)
        self.norm(e + "LayerNorm", hidden)

    def layer(self, i: int, hidden: int, intermediate: int) -> None:
        p = f"bert.encoder.layer.{i}."
        # Scores q k / sqrt(D) then spread by 1.7: each token looks at a few others.
        self.dense(p + "attention.self.query", hidden, hidden, 1.3)
        self.dense(p + "attention.self.key", hidden, hidden, 1.3)
        self.dense(p + "attention.self.value", hidden, hidden, 1)
        self.dense(p + "attention.output.dense", hidden, hidden, 1)
        self.norm(p + "attention.output.LayerNorm", hidden)
        self.dense(p + "intermediate.dense", intermediate, hidden, 1.5)
        self.dense(p + "output.dense", hidden, intermediate, 0.8)
        self.norm(p + "output.LayerNorm", hidden)

    def outliers(self, count: int, layers: int, hidden: int) -> None:
        """As trained checkpoints have them: a few channels of the hidden state are 10 to 40 times
        larger than the rest, in the gains of the norms and the rows that write to them."""
        rng = np.random.default_rng([self.seed, count])
        channels = rng.choice(hidden, count, replace=False)
        for i in range(layers):
            p = f"bert.encoder.layer.{i}."
            for name in ("attention.output.LayerNorm", "output.LayerNorm", "output.dense"):
                factors = rng.uniform(10, 40, count).astype(np.float32)
                weight = self.tensors[f"{p}{name}.weight"]
                weight[channels] *= factors.reshape(-1, *[1] * (weight.ndim - 1))

    def head(self, args: argparse.Namespace, hidden: int, vocab: int) -> None:
        if not args.no_pooler:
            self.dense("bert.pooler.dense", hidden, hidden, 1)
        if args.head == "classification":
            self.dense("classifier", args.labels, hidden, 2)
        elif args.head != "none":
            self.dense("cls.seq_relationship", 2, hidden, 2)
        if args.head == "pretraining":
            self.add("cls.predictions.bias", (vocab,), 0.1)
            self.dense("cls.predictions.transform.dense", hidden, hidden, 1)
            self.norm("cls.predictions.transform.LayerNorm", hidden)


def spelled(name: str, args: argparse.Namespace) -> str:
    if not args.prefix:
        name = name.removeprefix("bert.")
    if args.names == "gamma":
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        name = name.replace("LayerNorm.bias", "LayerNorm.beta")
    return name


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "BF16":
        return to_bfloat16(values)
    return values.astype({"F32": "<f4", "F16": "<f2"}[dtype])


def write_weights(args: argparse.Namespace, vocab: int) -> None:
    layers, hidden, _, intermediate = args.shape
    weights = Weights(args.seed, args.scale)
    weights.embeddings(args, hidden, vocab)
    for i in range(layers):
        weights.layer(i, hidden, intermediate)
    weights.outliers(args.outliers, layers, hidden)
    weights.head(args, hidden, vocab)
    tensors = {spelled(k, args): stored(v, args.dtype) for k, v in weights.tensors.items()}
    if args.names == "gamma":  # checkpoints of that age also hold this buffer
        tensors[spelled("bert.embeddings.position_ids", args)] = np.arange(args.positions)[None]
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


def write_json(path: Path, content: dict | list) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_config(args: argparse.Namespace, vocab: int) -> None:
    layers, hidden, heads, intermediate = args.shape
    config = {"architectures": [ARCHITECTURES[args.head]], "attention_probs_dropout_prob": 0.1,
              "hidden_act": args.act, "hidden_dropout_prob": 0.1, "hidden_size": hidden,
              "initializer_range": 0.02, "intermediate_size": intermediate,
              "layer_norm_eps": args.epsilon, "max_position_embeddings": args.positions,
              "model_type": "bert", "num_attention_heads": heads, "num_hidden_layers": layers,
              "pad_token_id": 0, "position_embedding_type": "absolute",
              "torch_dtype": {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[args.dtype],
              "type_vocab_size": args.types, "use_cache": True, "vocab_size": vocab}
    # As transformers does, which leaves the default of two labels out.
    if args.head == "classification" and (args.labels != 2 or args.label_names):
        names = args.label_names or [f"LABEL_{i}" for i in range(args.labels)]
        config["id2label"] = {str(i): name for i, name in enumerate(names)}
        config["label2id"] = {name: i for i, name in enumerate(names)}
    if args.problem_type:
        config["problem_type"] = args.problem_type
    write_json(args.output / "config.json", dict(sorted(config.items())))


def write_tokenizer(args: argparse.Namespace) -> int:
    """Writes vocab.txt and tokenizer_config.json; returns the vocabulary's size."""
    path = args.output / "vocab.txt"
    if args.vocab_file:
        shutil.copyfile(args.vocab_file, path)
        pieces = path.read_bytes().rstrip(b"\n").count(b"\n") + 1
        if args.vocab and args.vocab < pieces:
            raise FormatError(f"--vocab is {args.vocab}, expected at least the {pieces} pieces of "
                              f"{args.vocab_file}")
    else:
        lines = vocabulary(args.vocab or 200)
        pieces = len(lines)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    names = ("cls", "mask", "pad", "sep", "unk")
    special = {f"{name}_token": f"[{name.upper()}]" for name in names}
    write_json(args.output / "special_tokens_map.json", special)
    write_json(args.output / "tokenizer_config.json",
               {"clean_up_tokenization_spaces": True, **special, "do_lower_case": not args.cased,
                "model_max_length": args.positions, "strip_accents": None,
                "tokenize_chinese_chars": True, "tokenizer_class": "BertTokenizer"})
    return args.vocab or pieces


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
             "mean_sqrt_len": "mean_sqrt_len_tokens"}
    write_json(args.output / "1_Pooling" / "config.json",
               {"word_embedding_dimension": args.shape[1],
                **{"pooling_mode_" + key: mode in args.sentence_transformers.split(",")
                   for mode, key in modes.items()}})


def shape(text: str) -> list[int]:
    values = [int(part) for part in text.split(",")]
    if len(values) != 4 or min(values) < 1 or values[1] % values[2]:
        raise ValueError
    return values


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Makes a BERT with random weights.")
    add = parser.add_argument
    add("-o", "--output", type=Path, required=True, help="directory to write")
    add("--shape", type=shape, default=[2, 128, 2, 512], metavar="L,H,A,I",
        help="layers, hidden, heads, intermediate; H a multiple of A (default 2,128,2,512)")
    add("--vocab", type=int, help="rows of the word embedding (default: the vocabulary's, or 200)")
    add("--vocab-file", type=Path, help="a vocab.txt to copy in; otherwise a small one is made")
    add("--cased", action="store_true", help="the tokenizer keeps case and accents")
    add("--positions", type=int, default=512, help="max_position_embeddings")
    add("--types", type=int, default=2, help="type_vocab_size")
    add("--head", choices=list(ARCHITECTURES), default="classification")
    add("--labels", type=int, default=2, help="of the classification head")
    add("--label-names", type=lambda text: text.split(","), help="id2label, one name a label")
    add("--problem-type", choices=PROBLEMS)
    add("--act", default="gelu", help="hidden_act")
    add("--epsilon", type=float, default=1e-12, help="layer_norm_eps")
    add("--dtype", choices=["F32", "F16", "BF16"], default="F32", help="as stored")
    add("--names", choices=["modern", "gamma"], default="modern",
        help="gamma: LayerNorm.gamma and .beta and the position_ids buffer, as older checkpoints")
    add("--prefix", action=argparse.BooleanOptionalAction,
        help="bert. before the encoder's names (default: where there is a head)")
    add("--no-pooler", action="store_true", help="only with --head none")
    add("--no-positions", action="store_true", help="position embeddings of zero")
    add("--sharded", type=int, metavar="N", help="N files and model.safetensors.index.json")
    add("--sentence-transformers", metavar="MODE",
        help=f"add the files of a sentence embedding: {', '.join(POOLINGS)}, or several by commas")
    add("--normalize", action="store_true", help="2_Normalize after the pooling")
    add("--max-seq-length", type=int, help="of sentence_bert_config.json")
    add("--scale", type=float, default=1, help="factor on the spread of all dense weights")
    add("--outliers", type=int, default=0, metavar="N",
        help="channels of the hidden state that are 10 to 40 times larger")
    add("--seed", type=int, default=0)
    return parser


def check(args: argparse.Namespace) -> None:
    if args.prefix is None:
        args.prefix = args.head != "none"
    if args.no_pooler and args.head != "none":
        raise FormatError("--no-pooler goes with --head none: the other heads read the pooler")
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
    args.output.mkdir(parents=True, exist_ok=True)
    vocab = write_tokenizer(args)
    write_config(args, vocab)
    write_weights(args, vocab)
    if args.sentence_transformers:
        write_sentence_transformers(args)


if __name__ == "__main__":
    try:
        make(sys.argv[1:])
    except (FormatError, OSError) as error:
        sys.exit(f"make_model.py: {error}")
