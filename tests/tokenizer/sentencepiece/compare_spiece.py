#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our SentencePiece tokenizers with Hugging Face's, on nasty text and on real text.

    npm install --prefix DIR tokenizers@0.23.2
    real_text.py TEXTS
    NODE_PATH=DIR/node_modules compare_spiece.py --program build/release/tests/compare_encodings \\
        --texts TEXTS [--lines N] [--seed S] [--albert DIRECTORY]

Trains small models on TEXTS/mixed.txt with spm_train, with each of its normalizations. Takes them, and the
ALBERT model in DIRECTORY, as each of ALBERT, XLM-RoBERTa and CamemBERT whose special tokens they have: from
the .model, from the tokenizer.json that transformers would make of it, and from that with other normalizers
and pre-tokenizers. Prints how many lines were compared and how many differ, by model and kind of text; exits
with 1 if any do. From a .model one line in ten thousand may differ in the order of pieces whose sums are
almost equal: the oracle gets the scores through JSON, where its parser rounds them, while transformers passes
them on unchanged.
"""
import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ORACLE = HERE.parent / "oracle"
sys.path.insert(0, str(ORACLE))
from compare_with_oracle import Nasty, nasty_inputs, real_inputs  # noqa: E402
from spiece_to_json import convert  # noqa: E402

CLASSES = {"albert": ("spiece.model", "AlbertTokenizer"),
           "xlm-roberta": ("sentencepiece.bpe.model", "XLMRobertaTokenizerFast"),
           "camembert": ("sentencepiece.bpe.model", "CamembertTokenizer")}


class NastyPieces(Nasty):
    """Kinds of text that exercise SentencePiece and its normalizers."""

    def word(self) -> str:
        return self.rng.choice(self.vocabulary).replace("\u2581", self.rng.choice([" ", "", "\u2581"]))

    def spaces(self) -> str:
        parts = [" ", "  ", "   ", "\t", "\u3000", "\u2581", "\u00a0", "\u200b", "\r\n", "a", "\u0301", "``",
                 "''", "'", "`", "1,", "1,000", "x"]
        return "".join(self.rng.choice(parts) for _ in range(self.rng.randint(1, 15)))

    def compatible(self) -> str:
        return self.some(1, 20, COMPATIBLE, COMPATIBLE, MARKS, list("ax "), DROPPED)


def characters():
    import unicodedata
    every = [chr(c) for c in range(0x20000) if not 0xD800 <= c < 0xE000]
    return ([c for c in every if unicodedata.normalize("NFKC", c) != c],
            [c for c in every if unicodedata.category(c)[0] == "M"],
            [chr(c) for c in (*range(1, 32), 0x7F, 0x8F, 0x9F, 0xAD, 0x200B, 0x200D, 0xFEFF, 0xFFFD)])


COMPATIBLE, MARKS, DROPPED = characters()


def nasty_kinds(nasty: NastyPieces, lines: int):
    for kind in ("spaces", "compatible"):
        for _ in range(lines // 10):
            yield {"kind": kind, "first": getattr(nasty, kind)()}
    yield from nasty_inputs(nasty, lines)


def train(texts: pathlib.Path, folder: pathlib.Path, rule: str, controls: str, size: int) -> bytes:
    prefix = folder / "trained"
    subprocess.run(["spm_train", f"--input={texts / 'mixed.txt'}", f"--model_prefix={prefix}",
                    f"--vocab_size={size}", f"--normalization_rule_name={rule}", "--model_type=unigram",
                    "--character_coverage=0.999", "--input_sentence_size=20000", *controls.split()],
                   check=True, stderr=subprocess.DEVNULL)
    return prefix.with_suffix(".model").read_bytes()


def variants(definition: dict):
    """Other normalizers and pre-tokenizers around the same model."""
    meta, steps = definition["pre_tokenizer"], definition["normalizer"]["normalizers"]
    mapped = [step for step in steps if step["type"] == "Precompiled"]
    split = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, meta]}
    old = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "str_rep": "\u2581"}

    def with_(normalizer, pre_tokenizer):
        return {**definition, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer}

    yield "plain", definition
    yield "split at white space", with_(mapped[0] if mapped else None,
                                        {**split, "pretokenizers": [{"type": "WhitespaceSplit"}, old]})
    for scheme in ("first", "never"):
        yield scheme, with_(definition["normalizer"], {**meta, "prepend_scheme": scheme})
        yield f"split, {scheme}", with_(None, {**split, "pretokenizers": [
            {"type": "WhitespaceSplit"}, {**meta, "prepend_scheme": scheme}]})
    yield "whole", with_(definition["normalizer"], {**meta, "split": False})
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        yield form, with_({"type": form}, meta)
    yield "strip", with_({"type": "Sequence", "normalizers": [
        {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "NFKC"},
        {"type": "StripAccents"}, {"type": "Replace", "pattern": {"String": "a"}, "content": "\u00e9a"},
        {"type": "Lowercase"}]}, meta)
    tokens = [{"id": 0, "content": content, "single_word": i == 1, "lstrip": i == 2, "rstrip": i == 3,
               "normalized": True, "special": False}
              for i, content in enumerate(["the", "\u00e9t", "in", "\u4e2d"])]
    yield "normalized tokens", {**definition, "added_tokens": definition["added_tokens"] + tokens}


def compare(program: str, directory: pathlib.Path, encodings: bytes) -> dict:
    done = subprocess.run([program, directory], input=encodings, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Comparison:
    def __init__(self, options, scratch: pathlib.Path):
        self.options, self.scratch, self.total = options, scratch, [0, 0]

    def oracle(self, definition: dict) -> bytes:
        path = self.scratch / "oracle.json"
        path.write_text(json.dumps(definition))
        pieces = [piece for piece, _ in definition["model"]["vocab"]]
        special = [token["content"] for token in definition["added_tokens"]]
        nasty = NastyPieces(random.Random(self.options.seed), pieces, special)
        real = itertools.islice(real_inputs(self.options.texts), 0, None, self.options.every)
        inputs = itertools.chain(nasty_kinds(nasty, self.options.lines), real)
        # A pair has four special tokens: with less room than that, ours fails.
        lines = b"".join(json.dumps(item).encode() + b"\n" for item in inputs
                         if item.get("max_length", 4) >= 4)
        return subprocess.run(["node", ORACLE / "oracle_encode.mjs", path], input=lines,
                              stdout=subprocess.PIPE, check=True).stdout

    def run(self, name: str, directory: pathlib.Path, encodings: bytes) -> None:
        result = compare(self.options.program, directory, encodings)
        for kind, (compared, different) in result.items():
            self.total = [self.total[0] + compared, self.total[1] + different]
            if different:
                print(f"{name}\t{kind}\t{compared}\t{different}", flush=True)
        print(f"{name}\tall\t{sum(c for c, _ in result.values())}\t{sum(d for _, d in result.values())}",
              flush=True)

    def model(self, name: str, family: str, data: bytes, config: dict) -> None:
        definition = convert(family, data, config)
        directory = self.scratch / f"{name} {family} {len(config)}".replace(" ", "_")
        directory.mkdir()
        file, own_class = CLASSES[family]
        (directory / file).write_bytes(data)
        (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": own_class, **config}))
        title = f"{name} as {family} {config or ''}"
        encodings = self.oracle(definition)
        self.run(f"{title}, .model", directory, encodings)
        for variant, changed in variants(definition):
            if variant != "plain" and not self.options.variants:
                continue
            if variant != "plain":
                encodings = self.oracle(changed)
            (directory / "tokenizer.json").write_text(json.dumps(changed))
            self.run(f"{title}, tokenizer.json, {variant}", directory, encodings)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=20, help="take one line in so many of the texts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--albert", type=pathlib.Path)
    parser.add_argument("--variants", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, pathlib.Path(folder))
        if options.albert:
            data = (options.albert / "spiece.model").read_bytes()
            comparison.model("albert-base-v2", "albert", data, {})
            comparison.model("albert-base-v2", "albert", data, {"do_lower_case": False, "keep_accents": True})
        for rule in ("nmt_nfkc", "nmt_nfkc_cf", "identity"):
            data = train(options.texts, comparison.scratch, rule, "--user_defined_symbols=<x>,Zz", 8000)
            comparison.model(rule, "xlm-roberta", data, {})
            comparison.model(rule, "camembert", data, {})
            bert = "--control_symbols=[CLS],[SEP],[MASK] --pad_id=0 --unk_id=1 --bos_id=-1 --eos_id=-1"
            comparison.model(rule, "albert", train(options.texts, comparison.scratch, rule, bert, 8000), {})
    print(f"compared {comparison.total[0]}, different {comparison.total[1]}")
    sys.exit(1 if comparison.total[1] else 0)


if __name__ == "__main__":
    main()
