#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Byte-level BPE against Python's tokenizers, which tools/peers/setup installs; skipped without them.

    tests/tokenizer/bytepair/peer_test.py COMPARE_ENCODINGS
"""
import json
import os
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "tokenizer" / "oracle"))
try:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
except ImportError as error:
    python = ROOT / "build" / "peers" / "bin" / "python"
    if python.exists() and Path(sys.prefix) != ROOT / "build" / "peers":
        os.execv(python, [str(python), *sys.argv])
    print(f"skipped: {error}; tools/peers/setup installs what this test compares with")
    sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PEERS") == "1" else 77)
import compare_with_oracle as oracle
from gemma_definition import gemma_definition, template

LINES = 1500
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def train() -> dict:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    pages = ["README.md", "CONTRIBUTING.md", "tests/tokenizer/bytepair/byte_pair_test.cc"]
    tokenizer.train([str(ROOT / page) for page in pages], trainer)
    definition = json.loads(tokenizer.to_str())
    definition["added_tokens"][-1]["lstrip"] = True
    return definition


def more_tokens(definition: dict) -> list[dict]:
    """ModernBERT's runs of spaces and placeholders, of which those of a normaliser's text."""
    size = len(definition["model"]["vocab"])
    contents = [" " * n for n in range(24, 1, -1)] + ["|||EMAIL_ADDRESS|||", "[unused0]", "e\u0301"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}
    return definition["added_tokens"] + [
        {"id": size + i, "content": content, "normalized": True, **flags}
        for i, content in enumerate(contents)]


def variants(definition: dict):
    cls, sep = ["<s>", 0], ["</s>", 2]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    template = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": x, "type_id": i}} for i, x in enumerate("AB")],
                "special_tokens": {}}
    for prefix in (False, True):
        pre = {**byte_level, "add_prefix_space": prefix}
        roberta = {"type": "RobertaProcessing", "sep": sep, "cls": cls, "trim_offsets": True,
                   "add_prefix_space": prefix}
        yield f"RoBERTa, prefix {prefix}", {**definition, "pre_tokenizer": pre,
                                            "post_processor": roberta}
        steps = {"type": "Sequence", "processors": [pre, template]}
        yield f"ModernBERT, prefix {prefix}", {
            **definition, "normalizer": {"type": "NFC"}, "pre_tokenizer": pre,
            "post_processor": steps, "added_tokens": more_tokens(definition)}
    steps = {"type": "Sequence", "processors": [template, byte_level, {**byte_level,
                                                                       "add_prefix_space": True}]}
    yield "no expression", {
        **definition, "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {**byte_level, "use_regex": False}, "post_processor": steps}
    yield "ignore_merges", {**definition, "model": {**definition["model"], "ignore_merges": True},
                            "pre_tokenizer": {**byte_level, "use_regex": False},
                            "post_processor": {"type": "BertProcessing", "sep": sep, "cls": cls}}
    digits = {"type": "Digits", "individual_digits": True}
    yield "StarCoder", {**definition, "post_processor": None, "pre_tokenizer": {
        "type": "Sequence", "pretokenizers": [digits, byte_level]}}

    yield from with_gaps(definition)


def with_gaps(definition: dict):
    """Vocabularies without all bytes, and what then stands for those."""
    model = definition["model"]
    gone = set("abeo\u0120\u00e2")
    vocab = {token: i for token, i in model["vocab"].items() if not gone & set(token)}
    merges = [merge for merge in model["merges"] if not gone & set("".join(merge))]
    gaps = {**model, "vocab": vocab, "merges": merges}
    yield "dropped bytes", {**definition, "model": gaps}
    for fuse in (False, True):
        yield f"unknown bytes, fuse_unk {fuse}", {
            **definition, "model": {**gaps, "unk_token": "<unk>", "fuse_unk": fuse}}
    by_bytes = {f"<0x{byte:02X}>": 2000 + byte for byte in range(256) if byte != ord("b")}
    yield "byte_fallback", {**definition, "model": {
        **gaps, "vocab": vocab | by_bytes, "unk_token": "<unk>", "byte_fallback": True}}
    ended = {f"{character}</w>": 3000 + i for i, character in enumerate("cdefgh")}
    inside = {f"##{character}": 4000 + i for i, character in enumerate("rstuvi")}
    pairs = {"th</w>": 5000, "st": 5001}
    yield "suffix", {**definition, "model": {
        **model, "vocab": model["vocab"] | ended | pairs, "end_of_word_suffix": "</w>",
        "merges": [["t", "h</w>"], *model["merges"]], "unk_token": "<unk>"}}
    yield "prefix", {**definition, "model": {
        **model, "vocab": model["vocab"] | inside | pairs, "continuing_subword_prefix": "##",
        "merges": [["s", "##t"]], "unk_token": "<unk>"}}


def gemmas():
    """mmBERT's, without a byte, and with each flag of added tokens; padding and truncation are a caller's."""
    definition = gemma_definition()
    yield "Gemma", definition
    model = definition["model"]
    vocab = {token: identity for token, identity in model["vocab"].items() if token != "<0xC3>"}
    yield "Gemma, without all bytes", {**definition, "model": {**model, "vocab": vocab}}
    vocab = {token: identity for token, identity in model["vocab"].items() if token != "<0x09>"} | {"\t": 12345}
    yield "Gemma 2, a tab without a byte", {**definition, "model": {**model, "vocab": vocab}}
    # Not of runs of white space: tokenizers panic where tokens that strip overlap.
    flags = {"<mask>": ["lstrip", "normalized"], "<table>": ["rstrip"], "<unk>": ["normalized"],
             "<start_of_turn>": ["single_word", "normalized"], "<pad>": ["single_word"]}
    tokens = [token | {flag: True for flag in flags.get(token["content"], [])} for token in definition["added_tokens"]]
    yield "Gemma, flags of added tokens", {
        **definition, "added_tokens": tokens, "padding": None,
        "truncation": {**definition["truncation"], "direction": "Left"},
        "post_processor": template(["<bos>", "A", "<bos>", "B", "<eos>"])}


def inputs(definition: dict):
    """Pairs are not truncated: tokenizers 0.23.3 counts them otherwise than 0.23.2."""
    special = [token["content"] for token in definition["added_tokens"]]
    nasty = oracle.Nasty(random.Random(5), list(definition["model"]["vocab"]), special)
    for i, item in enumerate(oracle.nasty_inputs(nasty, LINES)):
        if "second" in item:
            item.pop("max_length", None)
        elif i % 5 == 0:
            item["max_length"] = 4 + i % 30
        yield item


def main() -> None:
    compared = different = 0
    for name, definition in [*variants(train()), *gemmas()]:
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "tokenizer.json").write_text(json.dumps(definition))
            result = oracle.compare(sys.argv[1], Path(scratch), inputs(definition))
        for kind, (count, wrong) in result.items():
            compared, different = compared + count, different + wrong
            if wrong:
                print(f"{name}: {kind}: {wrong} of {count} differ")
    print(f"compared {compared}, different {different}")
    sys.exit(1 if different or compared < 6 * LINES else 0)


if __name__ == "__main__":
    main()
