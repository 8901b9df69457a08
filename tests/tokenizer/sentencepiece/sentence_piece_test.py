#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Our SentencePiece tokenizers against the library's own results: sentence_piece_test.py PROGRAM SHARED

Trains small models on random words in a dozen scripts, and encodes 10,000 lines with Python's sentencepiece,
adding the conventions of XLM-RoBERTa, CamemBERT and ALBERT itself; with the real ALBERT model too, if SHARED
has it. PROGRAM is compare_encodings, which must find ids, type ids and offsets equal. The lines contain
nothing that the library's normalizer would change, as Hugging Face's differs, and the scores are rounded so
that their sums are exact, as the library adds in single precision: compare_spiece.py covers all that. Exits
with 77, which skips the test, if there is no sentencepiece module.
"""
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

try:
    import sentencepiece
except ImportError:
    print("skipped: no Python module sentencepiece, which tools/setup --tests installs")
    sys.exit(77)

from spiece_to_json import fields

LINES = 10_000
ALPHABETS = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
             "aeiou\u00e9\u00e8\u00fc\u00f1\u00e7\u0151bcdfg",
             "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03ac",
             "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0439", "\u05d0\u05d1\u05d2\u05d3\u05d4\u05d5",
             "\u0627\u0628\u062a\u062b\u062c\u062d", "\u0915\u0916\u0917\u0918",
             "\u0e01\u0e02\u0e03\u0e04\u0e32\u0e30", "\u4e2d\u6587\u5b57\u65e5\u672c\u8a9e",
             "\u3042\u3044\u3046\u3048",
             "\u10d0\u10d1\u10d2\u10d3", "0123456789.-"]
# ALBERT's NFKD takes Hangul apart, and only the library composes it again; of a word of vowel signs, only
# the spaces would be left.
NOT_FOR_ALBERT = ["\ud55c\uad6d\uc5b4\ub9d0\uae00", "\u0915\u0916\u093e\u093f"]
FAMILIES = {"albert": ("spiece.model", "AlbertTokenizer"),
            "xlm-roberta": ("sentencepiece.bpe.model", "XLMRobertaTokenizer"),
            "camembert": ("sentencepiece.bpe.model", "CamembertTokenizer")}


def make_lines(rng: random.Random, count: int, alphabets: list[str], words: list[str]) -> list[str]:
    """Lines of known words, which the model is trained on, and new ones."""
    def word() -> str:
        if rng.random() < 0.7:
            return rng.choice(words)
        return "".join(rng.choices(rng.choice(alphabets), k=rng.randint(1, 12)))

    lines = [" ".join(word() for _ in range(rng.randint(1, 20))) for _ in range(count)]
    # A few characters that no model knows.
    return [line if i % 10 else line + " " + rng.choice(["\u16a0\u16a1x", "a\u1401\u1402", "\u2c00"])
            for i, line in enumerate(lines)]


def train(lines: list[str], **options) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="unigram", vocab_size=2000,
        minloglevel=2, hard_vocab_limit=False, **options)
    return model.getvalue()


def rounded(model: bytes) -> bytes:
    """The model with scores rounded to 4096ths, whose sums are exact in float and in double."""
    def record(number: int, content: bytes) -> bytes:
        size, out = len(content), b""
        while size >= 0x80:
            size, out = size >> 7, out + bytes([size & 0x7F | 0x80])
        return bytes([number << 3 | 2]) + out + bytes([size]) + content

    out = b""
    for number, content in fields(model):
        if number == 1:
            own = dict(fields(content))
            score = round(4096 * struct.unpack("<f", own.get(2, bytes(4)))[0]) / 4096
            content = record(1, own[1]) + b"\x15" + struct.pack("<f", score) + bytes([0x18, own.get(3, 1)])
        out += record(number, content)
    return out


def normalized(family: str, text: str) -> list[tuple[str, int]]:
    """The characters that the library gets, each with its position in the text."""
    if family != "albert":
        return [(c, i) for i, c in enumerate(text)]
    return [(d.lower(), i) for i, c in enumerate(text) for d in unicodedata.normalize("NFKD", c)
            if unicodedata.category(d)[0] != "M"]


class Reference:
    def __init__(self, family: str, model: bytes):
        self.family = family
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.unknown = self.processor.unk_id()

    def id(self, own: int) -> int:
        if self.family == "albert":
            return own
        return 3 if own == self.unknown else own + {"xlm-roberta": 1, "camembert": 4}[self.family]

    def text(self, text: str):
        """Ids and offsets of one text without special tokens."""
        characters = normalized(self.family, text)
        clean = "".join(c for c, _ in characters)
        ids = [self.id(own) for own in self.processor.encode(clean)]
        sources = [characters[0][1]] + [source for _, source in characters] if characters else []
        offsets, at = [], 0
        for piece in self.processor.encode(clean, out_type=str):
            offsets.append((sources[at], sources[at + len(piece) - 1] + 1))
            at += len(piece)
        return ids, offsets

    def encode(self, first: str, second: str | None) -> dict:
        cls, sep = {"albert": (2, 3), "xlm-roberta": (0, 2), "camembert": (5, 6)}[self.family]
        (ids, offsets), end = self.text(first), [(0, 0)]
        encoding = {"first": first, "ids": [cls, *ids, sep], "type_ids": [0] * (len(ids) + 2)}
        offsets = end + offsets + end
        if second is not None:
            ids, more = self.text(second)
            between = [] if self.family == "albert" else [sep]
            encoding["second"] = second
            encoding["ids"] += [*between, *ids, sep]
            encoding["type_ids"] += [0] * len(between) + [1 - len(between)] * (len(ids) + 1)
            offsets += end * len(between) + more + end
        return {**encoding, "kind": self.family, "offsets": [place for offset in offsets for place in offset]}


def check(program: str, family: str, model: bytes, lines: list[str]) -> None:
    model = rounded(model)
    reference = Reference(family, model)
    pairs = ((line, lines[i - 1] if i % 4 == 1 else None) for i, line in enumerate(lines))
    expected = "".join(json.dumps(reference.encode(*pair)) + "\n" for pair in pairs)
    file, own_class = FAMILIES[family]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, file).write_bytes(model)
        pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": own_class}))
        done = subprocess.run([program, folder], input=expected.encode(), stdout=subprocess.PIPE, check=True)
    [(kind, (compared, different))] = json.loads(done.stdout).items()
    print(f"{kind}: {compared} lines, {different} differ")
    assert compared == len(lines) and different == 0


def main() -> None:
    program, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    rng = random.Random(1)
    alphabets = ALPHABETS + NOT_FOR_ALBERT
    words = ["".join(rng.choices(rng.choice(alphabets), k=rng.randint(1, 8))) for _ in range(2000)]
    lines = make_lines(rng, LINES, alphabets, words)
    some = make_lines(rng, 4000, alphabets, words)[1::2]  # odd ones: without the unknown characters
    plain = train(some)
    check(program, "xlm-roberta", plain, lines)
    check(program, "camembert", plain, lines[:LINES // 4])
    words = ["".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(1, 8))) for _ in range(2000)]
    lines = make_lines(rng, LINES, ALPHABETS, words)
    some = make_lines(rng, 4000, ALPHABETS, words)[1::2]
    own = dict(control_symbols=["[CLS]", "[SEP]", "[MASK]"], pad_id=0, unk_id=1, bos_id=-1, eos_id=-1)
    folded = ["".join(c for c, _ in normalized("albert", line)) for line in some]
    check(program, "albert", train(folded, **own), lines)
    real = shared / "vocab" / "albert-base-v2" / "spiece.model"
    if real.exists():
        check(program, "albert", real.read_bytes(), lines)
    else:
        assert "BERT_INFER_REQUIRE_SHARED" not in os.environ, f"{real} is missing"
        print("the real ALBERT model is missing")


if __name__ == "__main__":
    main()
