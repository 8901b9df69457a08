# SPDX-License-Identifier: Apache-2.0
"""Inputs of a reference: texts or ids from a file, or random ids; and a slow, simple WordPiece.

The tokenizer is the algorithm published with Devlin et al. 2019 (clean, split, lower-case, longest
match first), using vocab.txt and tokenizer_config.json. It does not read tokenizer.json, does not
recognise special tokens inside a text, and takes its character classes from Python's Unicode
tables, which are newer than those of Hugging Face's tokenizers: correct for ordinary text, but no
authority on rare characters.
"""
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tensor_file import FormatError

LONGEST_WORD = 100
# The CJK ideographs of the original implementation, which do not include kana and Hangul.
IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
              (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


@dataclass
class Input:
    ids: list[int]
    type_ids: list[int]
    texts: list[str] | None = None
    unattended: int = 0  # so many tokens at the end no token attends to


def read_json(path: Path, kind: type = dict):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path}: not JSON in UTF-8: {error}") from None
    if not isinstance(content, kind):
        raise FormatError(f"{path}: expected {'an object' if kind is dict else 'an array'}")
    return content


def lacks_types(tokenizer_config: dict) -> bool:
    """Whether transformers' versions agree that the model gets no type ids, which it takes for zeros."""
    names, kind = tokenizer_config.get("model_input_names"), str(tokenizer_config.get("tokenizer_class"))
    if names is not None:
        return "token_type_ids" not in names
    return kind.removesuffix("Fast").removesuffix("Tokenizer") in ("DistilBert", "Roberta", "XLMRoberta", "MPNet",
                                                                   "Camembert")


def is_punctuation(c: str) -> bool:
    return c in "$+<=>^`|~" or unicodedata.category(c).startswith("P")


def read_limits(directory: Path, positions: int, requested: int | None) -> tuple[int, bool]:
    """The maximum length of an input; whether sentence-transformers lower-cases texts first."""
    def optional(name: str) -> dict:
        return read_json(directory / name) if (directory / name).exists() else {}

    names = (f"sentence_{family}_config.json" for family in
             ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta"))
    sentence = next(filter(None, map(optional, names)), {})
    tokenizer = optional("tokenizer_config.json")
    limit = sentence.get("max_seq_length") or tokenizer.get("model_max_length") or positions
    return requested or min(positions, limit), sentence.get("do_lower_case", False)


def with_prompt(config, tokenize: Callable) -> Callable:
    """tokenize(), with what sentence-transformers puts before each first text by default."""
    directory = config.directory
    path = directory / "config_sentence_transformers.json"
    settings = read_json(path) if path.exists() else {}
    prompt = (settings.get("prompts") or {}).get(settings.get("default_prompt_name"))
    head = config.architecture.partition("For")[2]
    if not prompt or not ((directory / "modules.json").exists() or head in ("", "SequenceClassification")):
        return tokenize
    return lambda texts: tokenize([prompt + texts[0], *texts[1:]])


class WordPiece:
    def __init__(self, directory: Path, positions: int = 512, max_length: int | None = None):
        self.path = directory / "vocab.txt"
        lines = self.path.read_bytes().decode("utf-8", "replace").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        self.ids = {line.rstrip("\r"): i for i, line in enumerate(lines)}
        path = directory / "tokenizer_config.json"
        config = read_json(path) if path.exists() else {}
        self.lower = config.get("do_lower_case", True)
        strip = config.get("strip_accents")
        self.strip_accents = self.lower if strip is None else strip
        self.split_ideographs = config.get("tokenize_chinese_chars", True)
        # ESM: the vocabulary's tokens wherever they are in a text; words between them are unknown.
        self.like_esm = str(config.get("tokenizer_class")).startswith("Esm")
        sep = "eos_token" if self.like_esm else "sep_token"
        self.cls, self.sep, self.unk = (self._special(config, key, default) for key, default in (
            ("cls_token", "[CLS]"), (sep, "[SEP]"), ("unk_token", "[UNK]")))
        # MPNet, like RoBERTa: <s> first </s></s> second </s>, all of type 0.
        self.like_roberta = str(config.get("tokenizer_class")).startswith("MPNet")
        self.one_segment = self.like_roberta or lacks_types(config)
        self.max_length, self.lower_first = read_limits(directory, positions, max_length)

    def _special(self, config: dict, key: str, default: str) -> int:
        token = config.get(key) or default
        token = token["content"] if isinstance(token, dict) else token
        if token not in self.ids:
            raise FormatError(f"{self.path}: {token!r} ({key}) is missing")
        return self.ids[token]

    def encode(self, texts: list[str]) -> tuple[list[int], list[int]]:
        """ids and type_ids of [CLS] first [SEP], or of [CLS] first [SEP] second [SEP]."""
        parts = [self.text_ids(text) for text in texts]
        special = 1 + len(parts) + (self.like_roberta and len(parts) == 2)
        room = self.max_length - special
        if room < 0:
            raise FormatError(f"the maximum length is {self.max_length}, expected at least "
                              f"{special} for the special tokens")
        if len(parts) == 1:
            parts[0] = parts[0][:room]
        elif len(parts[0]) + len(parts[1]) > room:
            # longest_first: the shorter text (if equal, the first) keeps up to half.
            shorter = 1 if len(parts[0]) > len(parts[1]) else 0
            keep = min(len(parts[shorter]), room // 2)
            parts[shorter] = parts[shorter][:keep]
            parts[1 - shorter] = parts[1 - shorter][:room - keep]
        ids, type_ids = [self.cls], [0]
        for segment, part in enumerate(parts):
            between = [self.sep] if segment and self.like_roberta else []
            ids += between + part + [self.sep]
            type_ids += [segment] * (len(part) + 1)
        return ids, [0] * len(ids) if self.one_segment else type_ids

    def text_ids(self, text: str) -> list[int]:
        """Stops after the word that reaches the maximum length, as Hugging Face tokenizers (0.23)
        does before truncation: it decides which of two long texts counts as the shorter."""
        ids: list[int] = []
        if self.like_esm:
            longest_first = "|".join(map(re.escape, sorted(self.ids, key=len, reverse=True)))
            for part in re.split(f"({longest_first})", text):
                ids += [self.ids[part]] if part in self.ids else [self.unk] * len(part.split())
            return ids
        for word in self.words(text):
            if len(ids) >= self.max_length:
                break
            ids += self.pieces(word)
        return ids

    def words(self, text: str) -> list[str]:
        out = []
        for c in text.lower() if self.lower_first else text:
            if c in "\t\n\r" or unicodedata.category(c) == "Zs":
                out.append(" ")
            elif c != "\ufffd" and not unicodedata.category(c).startswith("C"):
                split = self.split_ideographs and any(a <= ord(c) <= b for a, b in IDEOGRAPHS)
                out.append(f" {c} " if split else c)
        text = "".join(out)
        if self.strip_accents:
            text = "".join(c for c in unicodedata.normalize("NFD", text)
                           if unicodedata.category(c) != "Mn")
        if self.lower:
            # Letter by letter, as Hugging Face does: str.lower() treats a final sigma differently.
            text = "".join(c.lower() for c in text)
        return "".join(f" {c} " if is_punctuation(c) else c for c in text).split()

    def pieces(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self.unk]
        ids, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in self.ids:
                    break
            else:
                return [self.unk]
            ids.append(self.ids[piece])
            begin = end
        return ids


def check_input(config, source: str, ids: list[int], type_ids: list[int]) -> None:
    """config is a reference_config.Config, here and below."""
    # A model without token types ignores type_ids, but an input may still have two segments.
    limits = (("ids", ids, config.vocabulary, "vocab_size"),
              ("type_ids", type_ids, config.types or 2, "type_vocab_size"))
    for field, values, limit, key in limits:
        if not isinstance(values, list) or any(type(v) is not int for v in values):
            raise FormatError(f"{source}: {field} is not an array of integers")
        bad = [v for v in values if not 0 <= v < limit]
        if bad:
            raise FormatError(f"{source}: {field} contains {bad[0]}, expected 0 to {limit - 1} "
                              f"({key})")
    if not 0 < len(ids) <= config.longest:
        raise FormatError(f"{source}: {len(ids)} tokens, expected 1 to {config.longest} "
                          "(max_position_embeddings)")
    if len(ids) != len(type_ids):
        raise FormatError(f"{source}: {len(ids)} ids but {len(type_ids)} type_ids")


def read_inputs(config, path: Path, tokenize: Callable) -> list[Input]:
    """.tsv: lines of first[TAB]second; anything else: JSON Lines with ids or with texts.

    tokenize takes [first] or [first, second] and returns ids and type_ids."""
    inputs = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            source = f"{path}: line {number}"
            try:
                item = parse_line(line.decode("utf-8").rstrip("\r\n"), path.suffix == ".tsv")
            except ValueError as error:
                raise FormatError(f"{source}: {error}") from None
            if isinstance(item, list):
                item = Input(*tokenize(item), item)
            check_input(config, source, item.ids, item.type_ids)
            inputs.append(item)
    if not inputs:
        raise FormatError(f"{path}: no inputs")
    return inputs


def parse_line(line: str, is_tsv: bool) -> Input | list[str]:
    """The ids of a line, or its texts; raises ValueError if it is malformed."""
    if is_tsv:
        texts = line.split("\t")
    else:
        item = json.loads(line)
        if isinstance(item, dict) and isinstance(item.get("ids"), list):
            return Input(item["ids"], item.get("type_ids", [0] * len(item["ids"])))
        if not isinstance(item, dict) or not isinstance(item.get("first"), str):
            raise ValueError("expected an object with a string 'first' or an array 'ids'")
        texts = [item["first"]] + ([] if item.get("second") is None else [item["second"]])
    if len(texts) > 2 or not isinstance(texts[-1], str):
        raise ValueError("expected one or two texts")
    return texts


def random_inputs(config, count: int, lengths: list[int], seed: int) -> list[Input]:
    """Random ids; [CLS] a [SEP] b [SEP] with two segments if there is a vocab.txt."""
    rng = np.random.default_rng(seed)
    special = None
    if (config.directory / "vocab.txt").exists():
        tokenizer = WordPiece(config.directory)
        special = tokenizer.cls, tokenizer.sep
    inputs = []
    for i in range(count):
        length = lengths[i % len(lengths)]
        ids = rng.integers(0, config.vocabulary, length).tolist()
        type_ids = rng.integers(0, config.types or 2, length).tolist()
        if special and length >= 2:
            ids[0], ids[-1] = special[0], special[1]
            first = length if length < 5 or config.types == 1 else int(rng.integers(3, length - 1))
            ids[first - 1] = special[1]
            type_ids = [0] * first + [1] * (length - first)
        inputs.append(Input(ids, type_ids))
        check_input(config, f"--lengths {length}", ids, type_ids)
    return inputs


