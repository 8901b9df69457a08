# SPDX-License-Identifier: Apache-2.0
"""PhoBERT's and BERTweet's vocab.txt and bpe.codes against transformers' Python tokenizers: random merges and texts.
newer_test.py runs this."""
import json
import random
from pathlib import Path

from judge import IS_OLDER, JudgeTest, transformers

import random_models

WORDS = """Tôi là sinh_viên trường đại_học Công_nghệ . Việt Nam không những nghiên_cứu the other there understanding
    don't 1234567 Straße привет 日本語 한국어 👩‍👩‍👧 ....---- aaaaaaaaaaaaaaaa ababababbabaabab @USER #hashtag :) 😀
    </w> a@@ @@ abc</w> x""".split()
SPACES = [*" " * 9, "  ", "\t", "\n", "\n\n", " \n", "\u00a0", "\u200b", "\u3000", "\x1c", "\x1f", "\x85", "\u2028",
          "\r\n", "\f", "\u1680", "\u180e", "\ufeff", ""]
ADDED = ["<mask>", "<s>", "</s>", "<unk>", "<pad>", "<e1>", "NEW"]


def write_files(random: random.Random, directory: Path, merges: int) -> None:
    """Joins neighbours of random words, as training joins frequent ones. In three of ten merges the words stay as they
    are, so that there are several ways to a symbol; and some tokens are not in the vocabulary."""
    words = [[*word[:-1], word[-1] + "</w>"] for word in WORDS]
    symbols, codes = dict.fromkeys(symbol for word in words for symbol in word), []
    for _ in range(merges):
        chosen = random.choice(words)
        if len(chosen) < 2:
            continue
        at = random.randrange(len(chosen) - 1)
        left, right = chosen[at:at + 2]
        codes.append(f"{left} {right} {random.randrange(999)}\n")
        symbols[left + right] = None
        for word in words if random.random() < 0.7 else []:
            for k in range(len(word) - 1, 0, -1):
                if word[k - 1:k + 1] == [left, right]:
                    word[k - 1:k + 1] = [left + right]
    random.shuffle(codes)
    codes.insert(5, "\u00a0 a 12\n")  # which Python's split() takes for one symbol
    tokens = {symbol[:-4] if symbol.endswith("</w>") else symbol + "@@": None for symbol in symbols}
    lines = [f"{token} {random.randrange(999)}\n" for token in tokens if random.random() < 0.85]
    (directory / "vocab.txt").write_text("".join(lines), encoding="utf-8")
    (directory / "bpe.codes").write_text("".join(codes), encoding="utf-8")


def random_text(random: random.Random) -> str:
    def word() -> str:
        kind = random.random()
        if kind < 0.1:
            return random.choice(ADDED)
        if kind < 0.2:
            return "".join(random.choices("ab", k=random.randrange(80)))
        parts = (random.choice(WORDS)[:random.randrange(1, 9)] for _ in range(random.randrange(1, 4)))
        return "".join(parts) if kind < 0.6 else random.choice(WORDS)
    return "".join(word() + random.choice(SPACES) for _ in range(random.randrange(12)))


class BpeCodes(JudgeTest):
    def compare(self, directory: Path, tokenizer, texts: list) -> None:
        for text, row in zip(texts, self.compare_tokens(directory, tokenizer, texts), strict=True):
            if isinstance(text, list):
                continue
            pieces = "".join(text[begin:end] for begin, end in row["offsets"])
            self.assertEqual("".join(pieces.split()), "".join(text.split()), text)

    def test_random_merges(self):
        source = random.Random(7)
        for name, merges, side in (("Phobert", 30, "right"), ("Bertweet", 900, "right"), ("Phobert", 300, "left")):
            with self.subTest(f"{name} {merges} {side}"):
                directory = random_models.fresh(self.dir / "model")
                write_files(source, directory, merges)
                config = {"model_type": "roberta", "tokenizer_class": f"{name}Tokenizer"}
                (directory / "config.json").write_text(json.dumps(config))
                if side == "left":
                    (directory / "tokenizer_config.json").write_text(json.dumps({"truncation_side": side}))
                tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
                self.assertEqual(type(tokenizer).__name__, f"{name}Tokenizer")
                texts = [random_text(source) for _ in range(100)]
                texts += [[random_text(source), random_text(source) or "x"] for _ in range(40)]
                self.compare(directory, tokenizer, texts)
                if name == "Bertweet" and not IS_OLDER:
                    continue  # version 5 saves a bpe.codes without counts, which it does not read itself
                tokenizer.add_tokens(["NEW", transformers.AddedToken("<e1>", lstrip=True)])
                tokenizer.save_pretrained(str(directory))
                self.compare(directory, tokenizer, texts[:60])
