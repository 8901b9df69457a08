#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our tokenizer with Hugging Face's on nasty text and on real text.

    npm install --prefix DIR tokenizers@0.23.2
    real_text.py TEXTS                       (optional: text in two dozen languages)
    NODE_PATH=DIR/node_modules compare_with_oracle.py --program build/release/tests/compare_encodings \\
        [--lines N] [--seed S] [--switches] [--wild] [--texts TEXTS] MODEL...

Without NODE_PATH the oracle is Python's tokenizers, which tools/peers/setup installs; 0.23.3 counts texts
whole before it truncates a pair, where 0.23.2 stopped at the length. Each MODEL is a directory with a tokenizer.json. --lines is the number of nasty lines for each;
--switches tries every combination of the normalizer's switches instead of the model's own; --wild changes
the definition as files in the wild do: added tokens, prefix, templates and so on. Prints how many lines
were compared and how many differ, by model and kind of text; exits with 1 if any do.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parents[2] / "build" / "peers" / "bin" / "python"


def scalars(*ranges: tuple[int, int]) -> list[str]:
    return [chr(c) for low, high in ranges for c in range(low, high + 1) if not 0xD800 <= c < 0xE000]


ALL = scalars((0, 0x10FFFF))
MARKS = [c for c in scalars((0, 0x1FFFF)) if unicodedata.category(c)[0] == "M"]
COMPOSED = [c for c in scalars((0, 0x2FFFF)) if unicodedata.normalize("NFD", c) != c]
NON_STARTERS = [c for c in MARKS if unicodedata.combining(c)]
UNASSIGNED = [c for c in scalars((0, 0x1FFFF)) if unicodedata.category(c) == "Cn"]
PUNCTUATION = [c for c in scalars((0, 0x1FFFF)) if unicodedata.category(c)[0] == "P"]
CASED = [c for c in scalars((0, 0x1FFFF)) if c.lower() != c or c.upper() != c]
SPACES = [c for c in scalars((0, 0xFFFF)) if c.isspace() or unicodedata.category(c)[0] in "ZC"
          and not 0xE000 <= ord(c) < 0xF900 and unicodedata.category(c) != "Cn"]
HANGUL = scalars((0xAC00, 0xD7A3))
JAMO = scalars((0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB), (0x3131, 0x318E))
CHINESE = scalars((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF),
                  (0x2B810, 0x2B930), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))
EMOJI = scalars((0x1F300, 0x1FAFF), (0x2600, 0x27BF), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF))
JOINERS = ["\u200d", "\ufe0f", "\ufe0e", "\u20e3", "\U000e0067", "\U000e007f", "\u200c", "\u2060"]
CONTROLS = scalars((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0, 0x1F), (0x7F, 0x9F),
                   (0xFFF9, 0xFFFD), (0xFEFF, 0xFEFF), (0xAD, 0xAD), (0x61C, 0x61C))
PRIVATE = scalars((0xE000, 0xF8FF), (0xF0000, 0xF00FF), (0xFFF80, 0xFFFFF), (0x10FF80, 0x10FFFF))
ASCII = scalars((0, 0x7F))
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Nasty:
    """Lines of text that tokenizers get wrong. Each public method is one kind."""

    def __init__(self, rng: random.Random, vocabulary: list[str], special: list[str]):
        self.rng, self.vocabulary, self.special = rng, vocabulary, special

    def some(self, low: int, high: int, *pools: list[str]) -> str:
        rng = self.rng
        return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(low, high)))

    def word(self) -> str:
        token = self.rng.choice(self.vocabulary)
        return token[2:] if token.startswith("##") else token

    def scalars_of_every_plane(self) -> str:
        return self.some(1, 30, ALL, ALL[:0x800], ALL[0x800:0x4000], LETTERS, [" "])

    def combining(self) -> str:
        return self.some(1, 30, LETTERS, COMPOSED, MARKS, NON_STARTERS, NON_STARTERS, CONTROLS, [" "])

    def hangul(self) -> str:
        return self.some(1, 30, HANGUL, JAMO, NON_STARTERS, [" ", "a"])

    def emoji(self) -> str:
        return self.some(1, 20, EMOJI, JOINERS, EMOJI, [" ", "x"])

    def controls(self) -> str:
        return self.some(1, 30, CONTROLS, PRIVATE, UNASSIGNED, SPACES, ASCII, LETTERS)

    def punctuation(self) -> str:
        return self.some(1, 30, PUNCTUATION, LETTERS, CASED, SPACES, CHINESE, ["##", "[", "]", "#"])

    def case(self) -> str:
        return self.some(1, 30, CASED, CASED, MARKS, [" ", "\u0130", "\u03a3", "\u1e9e"])

    def long_words(self) -> str:
        rng = self.rng
        fill = rng.choice([LETTERS, COMPOSED, HANGUL, ["a", "\u0301"], ["a", "\u200b"], ["e\u0301"],
                           CASED, ["\u4e00"], ["\u0130"]])
        words = ["".join(rng.choice(fill) for _ in range(rng.randint(97, 103))) for _ in range(2)]
        if rng.random() < 0.5:
            words.append("a" * rng.randint(99, 102))
        return " ".join(words)

    def special_tokens(self) -> str:
        rng, out = self.rng, []
        for _ in range(rng.randint(1, 8)):
            token = rng.choice(self.special)
            out.append(rng.choice([token, token.lower(), token[:-1], token[1:], f"[{token}]", "##",
                                   self.word(), "[", "]", " ", "\u00a0", "\u0301", token + token]))
        return "".join(out)

    def vocabulary_words(self) -> str:
        rng, out = self.rng, []
        for _ in range(rng.randint(1, 12)):
            word = self.word() + rng.choice(["", "", self.word(), "s"])
            if rng.random() < 0.2:
                at = rng.randint(0, len(word))
                word = word[:at] + rng.choice(ALL) + word[at:]
            out.append(rng.choice([word, word.upper(), word.title()]))
        return rng.choice([" ", "", "-", "  "]).join(out)


def kinds(nasty: Nasty):
    return [getattr(nasty, name) for name in vars(Nasty)
            if not name.startswith("_") and name not in ("some", "word")]


def nasty_inputs(nasty: Nasty, lines: int):
    """Single texts, and pairs, most with a length to truncate to."""
    rng, functions = nasty.rng, kinds(nasty)
    for i in range(lines):
        function = functions[i * len(functions) // lines]
        yield {"kind": function.__name__, "first": function()}
    for i in range(lines // 20):
        length = 4 + i * 40 // (lines // 20)
        pair = {"kind": "pairs", "first": rng.choice(functions)(), "second": rng.choice(functions)()}
        yield {**pair, "max_length": length} if i % 8 else pair


def real_inputs(folder: pathlib.Path):
    """Every line, and every tenth with the line before it, truncated to a length for each file."""
    for length, file in enumerate(sorted(folder.glob("*.txt")), start=8):
        lines = [line for line in file.read_text().split("\n") if line]
        for line in lines:
            yield {"kind": file.stem, "first": line}
        for before, line in zip(lines[::10], lines[1::10]):
            yield {"kind": f"{file.stem} pairs", "first": before, "second": line, "max_length": length}


def compare(program: str, directory: pathlib.Path, inputs) -> dict[str, list[int]]:
    """Runs inputs through the oracle and our program: {kind: [compared, different]}."""
    encode = ["node", HERE / "oracle_encode.mjs"] if "NODE_PATH" in os.environ else [
        PEERS, HERE / "oracle_encode.py"]
    oracle = subprocess.Popen([*encode, directory / "tokenizer.json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ours = subprocess.Popen([program, directory], stdin=oracle.stdout, stdout=subprocess.PIPE)

    def feed():
        with oracle.stdin as pipe:
            for item in inputs:
                pipe.write(json.dumps(item).encode() + b"\n")

    thread = threading.Thread(target=feed)
    thread.start()
    result = json.loads(ours.communicate()[0])
    thread.join()
    if oracle.wait() or ours.returncode:
        sys.exit("a program failed")
    return result


def switched(definition: dict):
    """The tokenizer with each combination of the normalizer's switches, with a name."""
    for clean, chinese, strip, lower in itertools.product([True, False], [True, False],
                                                          [True, False, None], [True, False]):
        normalizer = {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese,
                      "strip_accents": strip, "lowercase": lower}
        yield (f"clean={clean} chinese={chinese} strip={strip} lower={lower}",
               {**definition, "normalizer": normalizer})


def added_tokens(definition: dict) -> dict:
    """The tokenizer with an added token of each combination of flags, and some that are hard to find."""
    contents = ["the", "Stra\u00dfe", "\u00c9t\u00e9", "\u4e2d\u6587", "a b", "abc", "bcd", "<x>", "<x>y",
                "x>", "\u0301x", "#", "##s", "\ud55c\uad6d", "_", "\u0130"]
    flags = itertools.product([False, True], repeat=4)
    size = len(definition["model"]["vocab"])
    tokens = [{"id": size + i, "content": content, "single_word": single, "lstrip": left,
               "rstrip": right, "normalized": normalized, "special": i % 2 == 0}
              for i, (content, (single, left, right, normalized)) in enumerate(zip(contents, flags))]
    return {**definition, "added_tokens": definition["added_tokens"] + tokens}


def wild(definition: dict):
    """The tokenizer as files in the wild may have it, with what is special about each."""
    model, vocabulary = definition["model"], definition["model"]["vocab"]

    def with_model(**changes):
        return {**definition, "model": {**model, **changes}}

    yield "added tokens", added_tokens(definition)
    normalized = [{**token, "normalized": True, "lstrip": i % 2 == 0, "rstrip": i % 3 == 0}
                  for i, token in enumerate(definition["added_tokens"])]
    yield "normalized specials", {**definition, "added_tokens": normalized}
    yield "no added tokens", {**definition, "added_tokens": []}
    yield "no type", {**definition, "model": {k: v for k, v in model.items() if k != "type"}}
    yield "max_input_chars_per_word", with_model(max_input_chars_per_word=5)
    yield "unk_token", with_model(unk_token="[MASK]")
    for prefix in ["", "\u2581", "a", "@@"]:
        renamed = {prefix + token[2:] if token.startswith("##") else token: i
                   for token, i in vocabulary.items()}
        yield f"prefix {prefix!r}", with_model(continuing_subword_prefix=prefix, vocab=renamed)
    yield "no post_processor", {**definition, "post_processor": None}
    cls, sep = ["[CLS]", vocabulary["[CLS]"]], ["[SEP]", vocabulary["[SEP]"]]
    yield "BertProcessing", {**definition,
                             "post_processor": {"type": "BertProcessing", "sep": sep, "cls": cls}}
    for trim, prefix in itertools.product([True, False], repeat=2):
        roberta = {"type": "RobertaProcessing", "sep": sep, "cls": cls, "trim_offsets": trim,
                   "add_prefix_space": prefix}
        yield f"RobertaProcessing trim_offsets={trim} add_prefix_space={prefix}", {
            **added_tokens(definition), "post_processor": roberta}
    yield "truncation from the left", {**definition, "truncation": {
        "max_length": 512, "stride": 0, "strategy": "LongestFirst", "direction": "Left"}}
    white = [{"id": len(vocabulary) + i, "content": content, "single_word": False, "lstrip": i < 2,
              "rstrip": True, "normalized": i == 1, "special": False}
             for i, content in enumerate(["\t", " ", "x"])]
    yield "white space", {**definition, "added_tokens": definition["added_tokens"] + white}
    mask = {"SpecialToken": {"id": "m", "type_id": 7}}
    yield "template", {**definition, "post_processor": {
        "type": "TemplateProcessing", "single": [mask, {"Sequence": {"id": "A", "type_id": 3}}],
        "pair": [{"Sequence": {"id": "B", "type_id": 2}}, mask, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"m": {"id": "m", "ids": [cls[1], sep[1]], "tokens": ["[CLS]", "[SEP]"]}}}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--switches", action="store_true")
    parser.add_argument("--wild", action="store_true")
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    total = [0, 0]
    for model in options.models:
        definition = json.loads((model / "tokenizer.json").read_text())
        vocabulary = list(definition["model"]["vocab"])
        variants = [("as it is", definition)]
        if options.switches or options.wild:
            variants = itertools.chain(switched(definition) if options.switches else [],
                                       wild(definition) if options.wild else [])
        for name, variant in variants:
            special = [token["content"] for token in variant["added_tokens"]] or ["[SEP]"]
            with tempfile.TemporaryDirectory() as scratch:
                directory = pathlib.Path(scratch)
                (directory / "tokenizer.json").write_text(json.dumps(variant))
                nasty = Nasty(random.Random(options.seed), vocabulary, special)
                inputs = nasty_inputs(nasty, options.lines)
                if options.texts:
                    inputs = itertools.chain(inputs, real_inputs(options.texts))
                result = compare(options.program, directory, inputs)
            for kind, (compared, different) in result.items():
                total = [total[0] + compared, total[1] + different]
                if not (options.switches or options.wild) or different:
                    print(f"{model.name}\t{name}\t{kind}\t{compared}\t{different}", flush=True)
            print(f"{model.name}\t{name}\tall\t{sum(c for c, _ in result.values())}\t"
                  f"{sum(d for _, d in result.values())}", flush=True)
    print(f"compared {total[0]}, different {total[1]}")
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()
