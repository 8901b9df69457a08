#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tokenizer.json that transformers makes of a SentencePiece model, except that user-defined pieces stay
pieces, as in the published files.

    spiece_to_json.py FAMILY MODEL [key=false|true ...] > tokenizer.json

FAMILY is albert, xlm-roberta or camembert; the keys are tokenizer_config.json's do_lower_case and
keep_accents. It shares no code with the tokenizer that it is compared with, and reads the model's wire
format itself. compare_spiece.py runs it.
"""
import base64
import json
import struct
import sys

TYPE_CONTROL = 3


def fields(data: bytes):
    """The fields of a protocol buffer, as (number, value)."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            yield tag >> 3, data[at:at + size]
            at += size


def read_model(data: bytes):
    """[(piece, score, type)], the charsmap, and the id of the unknown piece."""
    pieces, charsmap, unknown = [], b"", 0
    for number, value in fields(data):
        if number == 1:
            own = dict(fields(value))
            score = struct.unpack("<f", own.get(2, bytes(4)))[0]
            pieces.append((own[1].decode(), score, own.get(3, 1)))
        elif number == 2:
            unknown = dict(fields(value)).get(40, 0)
        elif number == 3:
            charsmap = dict(fields(value)).get(2, b"")
    return pieces, charsmap, unknown


def digit_and_comma(piece: str) -> bool:
    return len(piece) >= 2 and piece[-1] == "," and piece[-2].isdigit()


def added(content: str, number: int, lstrip: bool = False) -> dict:
    return {"id": number, "content": content, "single_word": False, "lstrip": lstrip, "rstrip": False,
            "normalized": False, "special": True}


def vocabulary(family: str, pieces, unknown: int):
    scores = [[piece, score] for piece, score, _ in pieces]
    if family == "albert":
        return [[p, s - 100 if digit_and_comma(p) else s] for p, s in scores], unknown
    if family == "xlm-roberta":
        first = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
        return first + scores[3:] + [["<mask>", 0.0]], 3
    first = [["<s>NOTUSED", 0.0], ["<pad>", 0.0], ["</s>NOTUSED", 0.0], ["<unk>", 0.0],
             ["<unk>NOTUSED", -100.0]]
    return first + scores[1:] + [["<mask>", 0.0]], 3


def normalizer(family: str, charsmap: bytes, options: dict) -> dict:
    steps = []
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}}
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    if family == "albert":
        steps += [{"type": "Replace", "pattern": {"String": quote}, "content": '"'}
                  for quote in ("``", "''")]
        if not options.get("keep_accents", False):
            steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
        if options.get("do_lower_case", True):
            steps += [{"type": "Lowercase"}]
    if charsmap:
        steps.append(precompiled)
    if family == "albert":
        steps.append({**spaces, "content": " "})
    else:
        steps += [{"type": "Strip", "strip_left": False, "strip_right": True},
                  {**spaces, "content": "\u2581"}]
    return {"type": "Sequence", "normalizers": steps}


def post_processor(family: str, ids: dict) -> dict:
    roberta = family != "albert"
    cls, sep = ("<s>", "</s>") if roberta else ("[CLS]", "[SEP]")
    second = 0 if roberta else 1

    def token(name, kind):
        return {"SpecialToken": {"id": name, "type_id": kind}}

    single = [token(cls, 0), {"Sequence": {"id": "A", "type_id": 0}}, token(sep, 0)]
    pair = single + ([token(sep, 0)] if roberta else [])
    pair += [{"Sequence": {"id": "B", "type_id": second}}, token(sep, second)]
    return {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in (cls, sep)}}


def convert(family: str, data: bytes, options: dict) -> dict:
    pieces, charsmap, unknown = read_model(data)
    vocab, unknown = vocabulary(family, pieces, unknown)
    ids = {piece: i for i, (piece, _) in enumerate(vocab)}
    named = ["<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"]
    if family != "albert":
        named = ["<unk>", "</s>", "<pad>", "<s>", "<mask>"]
    tokens = {p: added(p, ids[p]) for p, _, kind in pieces if kind == TYPE_CONTROL}
    tokens |= {t: added(t, ids[t], lstrip=t == named[-1]) for t in named if t in ids}
    if family == "camembert":
        tokens |= {t: added(t, ids[t]) for t in ("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED")}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": sorted(tokens.values(), key=lambda token: token["id"]),
            "normalizer": normalizer(family, charsmap, options),
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always",
                              "split": True},
            "post_processor": post_processor(family, ids), "decoder": None,
            "model": {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": False}}


if __name__ == "__main__":
    settings = {key: value == "true" for key, value in (word.split("=") for word in sys.argv[3:])}
    with open(sys.argv[2], "rb") as file:
        json.dump(convert(sys.argv[1], file.read(), settings), sys.stdout)
