# SPDX-License-Identifier: Apache-2.0
"""Random tokenizer.json files: any normalizers, pre-tokenizers, model, post-processor and added tokens."""
import base64
import random
import struct

WORDS = ["the", "ing", "un", "ab", "abc", "bc", "cab", "hello", "world", "s", "'s", "1", "12", "2024", "e\u0301",
         "\u00e9", "\u00df", "\u4e2d", "\u6587", "\u4e2d\u6587", "\ud55c", "\uad6d", "\u1112\u1161\u11ab", "\U0001f600", "\u0438", "\u043c\u0438\u0440", "\u0633", "\u0644\u0627", ".", ",", "!",
         "..", "-", "_", "#", "##", "[", "]", "\u2581", "\u0120", "A", "The", "ABC", "\u0130", "\u00a0", " ", "  ", "\t",
         "\n", "i\u0307", "\ufb01", "fi", "\u2126", "\u03c9", "\u30ac", "\u30ab\u3099", "\u0f72", "x", "y", "z"]
EXPRESSIONS = [r"\s+", r"\d", r"\d{1,3}", r"\w+|[^\w\s]+", r"[aeiou]", r"(?i)the", r"^", r"$", r"", r"(?=[A-Z])", r"b*",
               r"(?<=a)b", r"\p{L}+", r"\p{^N}", r"[^\p{L}\p{N}]+", r"\P{L}", r"\.", r"a|ab", r"(a+)+", r"\b", r"\X", r"\R",
               r" {2,}", r"\p{P}", r"[[:punct:]]|[^\s[:punct:]]+", r"[\u4e00-\u9fff]", r".", r"(?m).+", r"\A.", r"\n|\r\n?",
               r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
               r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def byte_characters() -> list[str]:
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in kept]
    return [chr(byte if byte in kept else 0x100 + others.index(byte)) for byte in range(256)]


BYTES = byte_characters()


def charsmap(rng: random.Random) -> str:
    """A SentencePiece charsmap of a few single bytes: they become something else, or nothing."""
    keys = rng.sample("abcdeABC.\t", 3)
    values = [rng.choice(["x", "", "yz", "\u00e9", " "]) for _ in keys]
    text, starts = b"", []
    for value in values:
        starts.append(len(text))
        text += value.encode() + b"\0"
    units = [0] * 1024
    base = 256  # of the root; a key's leaf lies 512 behind it
    units[0] = base << 10
    for key, start in zip(keys, starts):
        node = base ^ ord(key)
        units[node] = (512 << 10) | 0x100 | ord(key)
        units[node ^ 512] = start | 1 << 31
    blob = struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + text
    return base64.b64encode(blob).decode()


class Definitions:
    def __init__(self, rng: random.Random):
        self.rng = rng

    def flag(self) -> bool:
        return self.rng.random() < 0.5

    def pattern(self) -> dict:
        if self.flag():
            return {"Regex": self.rng.choice(EXPRESSIONS)}
        return {"String": self.rng.choice(WORDS + ["", "a", " ", "ab", ".."])}

    def normalizer(self) -> dict:
        rng = self.rng
        kind = rng.choice(["BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip",
                           "Replace", "Prepend", "Precompiled", "Nmt", "ByteLevel"])
        out = {"type": kind}
        if kind == "BertNormalizer":
            out |= {"clean_text": self.flag(), "handle_chinese_chars": self.flag(),
                    "strip_accents": rng.choice([None, True, False]), "lowercase": self.flag()}
        elif kind == "Strip":
            out |= {"strip_left": self.flag(), "strip_right": self.flag()}
        elif kind == "Replace":
            out |= {"pattern": self.pattern(), "content": rng.choice(["", " ", "\u2581", "xy", "\u00e9", "a"])}
        elif kind == "Prepend":
            out |= {"prepend": rng.choice(["\u2581", " ", "ab", "\u00e9x", ""])}
        elif kind == "Precompiled":
            out |= {"precompiled_charsmap": charsmap(rng)}
        return out

    def pre_tokenizer(self) -> dict:
        rng = self.rng
        kind = rng.choice(["BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits", "Split",
                           "Split", "Metaspace", "ByteLevel", "CharDelimiterSplit", "FixedLength"])
        out = {"type": kind}
        if kind == "Punctuation":
            out |= {"behavior": rng.choice(BEHAVIORS)}
        elif kind == "Digits":
            out |= {"individual_digits": self.flag()}
        elif kind == "Split":
            out |= {"pattern": self.pattern(), "behavior": rng.choice(BEHAVIORS), "invert": self.flag()}
        elif kind == "Metaspace":
            out |= {"replacement": rng.choice(["\u2581", "\u2581", "_"]),
                    "prepend_scheme": rng.choice(["always", "first", "never"]), "split": self.flag()}
        elif kind == "ByteLevel":
            out |= {"add_prefix_space": self.flag(), "trim_offsets": True, "use_regex": self.flag()}
        elif kind == "CharDelimiterSplit":
            out |= {"delimiter": rng.choice(" a.\u4e2d")}
        elif kind == "FixedLength":
            out |= {"length": rng.randint(1, 6)}
        return out

    def some(self, make, name: str, key: str) -> dict | None:
        """None, one, or a Sequence of a few, which may have another in it."""
        parts = [make() for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3]))]
        if not parts and self.flag():
            return None
        if len(parts) == 1 and self.flag():
            return parts[0]
        if len(parts) > 1 and self.rng.random() < 0.2:
            parts = [{"type": name, key: parts[:1]}, *parts[1:]]
        return {"type": name, key: parts}

    def pieces(self) -> list[str]:
        rng = self.rng
        pieces = WORDS + list("abcdefghijklmnopqrstuvwxyz") + BYTES
        pieces += ["".join(rng.choice(WORDS) for _ in range(rng.randint(2, 3))) for _ in range(60)]
        pieces += [rng.choice(["\u2581", "\u0120"]) + rng.choice(WORDS) for _ in range(30)]
        return list(dict.fromkeys(rng.sample(pieces, len(pieces) * 9 // 10)))

    def model(self) -> dict:
        return getattr(self, self.rng.choice(["word_piece", "word_level", "unigram", "bpe", "bpe"]))()

    def word_piece(self) -> dict:
        prefix = self.rng.choice(["##", "##", "", "@@", "\u2581"])
        pieces = ["[UNK]"] + [(prefix if self.flag() else "") + piece for piece in self.pieces()]
        return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": self.rng.choice([100, 4]), "vocab": self.ids(pieces)}

    def word_level(self) -> dict:
        pieces = (["[UNK]"] if self.rng.random() < 0.9 else []) + self.pieces()
        return {"type": "WordLevel", "unk_token": "[UNK]", "vocab": self.ids(pieces)}

    def unigram(self) -> dict:
        pieces = ["<unk>"] + self.pieces()
        fallback = self.flag()
        if fallback:
            gone = self.rng.choice([None, 0xC3])
            pieces += [f"<0x{byte:02X}>" for byte in range(256) if byte != gone]
        vocab = [[piece, round(-self.rng.random() * 12, 4)] for piece in dict.fromkeys(pieces)]
        return {"type": "Unigram", "unk_id": 0 if self.rng.random() < 0.9 else None, "vocab": vocab,
                "byte_fallback": fallback}

    def bpe(self) -> dict:
        rng = self.rng
        prefix = rng.choice([None, None, "", "##"])
        suffix = rng.choice([None, None, "", "</w>"])
        fallback = not prefix and not suffix and self.flag()
        characters = [c for c in dict.fromkeys("".join(WORDS) + "".join(BYTES)) if rng.random() < 0.95]
        pieces, merges = list(characters), []
        if prefix:
            pieces += [prefix + c for c in characters]
        if suffix:
            pieces += [p + suffix for p in pieces]
        for _ in range(200):
            left, right = rng.choice(pieces), rng.choice(pieces)
            if prefix and not right.startswith(prefix):
                continue
            whole = left + right[len(prefix or ""):]
            if suffix and left.endswith(suffix):
                continue
            merges.append([left, right])
            if whole not in pieces:
                pieces.append(whole)
        if fallback:
            gone = rng.choice([None, 0xC3])
            pieces += [f"<0x{byte:02X}>" for byte in range(256) if byte != gone]
        unknown = rng.choice([None, "<unk>"])
        if " " not in "".join(map("".join, merges)) and self.flag():
            merges = [" ".join(merge) for merge in merges]
        return {"type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": prefix,
                "end_of_word_suffix": suffix, "fuse_unk": self.flag(), "byte_fallback": fallback,
                "ignore_merges": self.flag(), "vocab": self.ids(["<unk>"] + pieces), "merges": merges}

    @staticmethod
    def ids(pieces: list[str]) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}

    def added_tokens(self, size: int) -> list[dict]:
        contents = self.rng.sample(["[CLS]", "[SEP]", "[MASK]", "<s>", "the", "abc", "\u00c9t", "a b", "\u4e2d", " ", "  ",
                                    "\u0130", "x\u0301", "##s", "12"], self.rng.choice([0, 2, 6]))
        return [{"id": size + i, "content": content, "single_word": self.rng.random() < 0.2, "lstrip": self.flag(),
                 "rstrip": self.flag(), "normalized": self.flag(), "special": self.flag()}
                for i, content in enumerate(contents)]

    def processor(self, ids: dict[str, int]) -> dict:
        rng = self.rng
        token = lambda: list(rng.choice(list(ids.items())))
        kind = rng.choice(["BertProcessing", "RobertaProcessing", "ByteLevel", "TemplateProcessing"])
        if kind == "BertProcessing":
            return {"type": kind, "sep": token(), "cls": token()}
        if kind == "RobertaProcessing":
            return {"type": kind, "sep": token(), "cls": token(), "trim_offsets": self.flag(),
                    "add_prefix_space": self.flag()}
        if kind == "ByteLevel":
            return {"type": kind, "add_prefix_space": self.flag(), "trim_offsets": self.flag(), "use_regex": True}
        name, identity = token()
        special = {"SpecialToken": {"id": name, "type_id": rng.randint(0, 2)}}
        text = {x: {"Sequence": {"id": x, "type_id": rng.randint(0, 1)}} for x in "AB"}
        single = rng.choice([[text["A"]], [special, text["A"]], [text["A"], special, special]])
        pair = rng.choice([[text["A"], text["B"]], [special, text["A"], special, text["B"], special],
                           [text["B"], special, text["A"]]])
        more = rng.random() < 0.2
        return {"type": kind, "single": single, "pair": pair, "special_tokens": {
            name: {"id": name, "ids": [identity] * (2 if more else 1), "tokens": [name] * (2 if more else 1)}}}

    def decoder(self) -> dict:
        rng = self.rng
        kind = rng.choice(["BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Strip",
                           "WordPiece"])
        out = {"type": kind}
        if kind == "BPEDecoder":
            out |= {"suffix": rng.choice(["</w>", "a", "\u00e9", ""])}
        elif kind == "ByteLevel":
            out |= {"add_prefix_space": self.flag(), "trim_offsets": self.flag(), "use_regex": self.flag()}
        elif kind == "CTC":
            out |= {"pad_token": rng.choice(["a", "<unk>"]), "word_delimiter_token": rng.choice([".", " ", "b"]),
                    "cleanup": self.flag()}
        elif kind == "Metaspace":
            out |= {"replacement": rng.choice(["\u2581", "_"]),
                    "prepend_scheme": rng.choice(["always", "first", "never"]), "split": self.flag()}
        elif kind == "Replace":
            out |= {"pattern": self.pattern(), "content": rng.choice(["", " ", "xy", "\u00e9"])}
        elif kind == "Strip":
            out |= {"content": rng.choice([" ", "a", "\u2581"]), "start": rng.randint(0, 2), "stop": rng.randint(0, 1)}
        elif kind == "WordPiece":
            out |= {"prefix": rng.choice(["##", "", "@@"]), "cleanup": self.flag()}
        return out

    def definition(self) -> dict:
        model = self.model()
        vocab = model["vocab"]
        ids = vocab if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}
        truncation = None
        if self.rng.random() < 0.3:
            truncation = {"max_length": 512, "stride": 0, "strategy": "LongestFirst", "direction": "Left"}
        if model.get("unk_id", 0) is None:  # tokenizers do not see unknown text that is cut off on the left
            truncation = None
        return {"version": "1.0", "truncation": truncation, "padding": None,
                "added_tokens": self.added_tokens(len(vocab)),
                "normalizer": self.some(self.normalizer, "Sequence", "normalizers"),
                "pre_tokenizer": self.some(self.pre_tokenizer, "Sequence", "pretokenizers"),
                "post_processor": self.some(lambda: self.processor(ids), "Sequence", "processors"),
                "decoder": self.some(self.decoder, "Sequence", "decoders"), "model": model}
