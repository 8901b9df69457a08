# SPDX-License-Identifier: Apache-2.0
"""MeCab's words against transformers' BertJapaneseTokenizer, in two dictionaries and with both kinds of tokens.
newer_test.py runs this."""
import importlib
import json
import os
import random
import subprocess
import sys
import unicodedata
import unittest
import unittest.mock
from pathlib import Path

from judge import JudgeTest, transformers

import fugashi
import random_models

SENTENCES = """私は昨日、東京都の図書館で古い本を三冊借りました。
すもももももももものうち。庭には二羽にわとりがいる。
このプログラムは、入力された文を単語に分割し、番号に変換します。
彼女はＰｙｔｈｏｎとC++でサーバーを書いたが、テストは1,234件も失敗した！
国際連合は1945年10月24日に設立された（本部はニューヨーク）。
外国人参政権について話し合う。大阪府と京都府は隣どうしだ。
お問い合わせはinfo@example.comまで、電話は０３－１２３４－５６７８です。
明日の天気は晴れのち曇り、最高気温は摂氏２５．５度の見込みです。
ﾊﾝｶｸのｶﾀｶﾅやﾊﾟﾋﾟﾌﾟﾍﾟﾎﾟも、㈱や㍻、①②③、ガギグも読めなければならない。
新型ウイルスの感染者数が増え続けているため、旅行を取りやめざるをえなかった。
寿司が食べたいなあ……と、友だちがつぶやいた。「えっ、また？」
機械学習の研究者たちが発表した論文によれば、精度は９割をこえたという。""".split("\n")
SCALARS = ["ぁあいうえおかがさしすせたちつてとなにのはばぱまみむもやゆよらりるれろわをん", "アイウカガサシスタチッテトナハバパマミャュョラリルレロワンーヴヷ",
           "日本語東京都大阪府人生会国一二三百千万億鬱麤", "abcXYZ", "ＡＢＣａｂ０１２", "0123456789", "ｱｲｶﾞﾊﾟ",
           "。、！？「」『』（）・…―〜～.,!?()[]", "ΑΣσÄäÐéß\u00ad\u3099\u0301", "\U0001F600\U00020B9F\u200d", "㌔㍻㈱①Ⅳ鿿豈",
           " \u3000\t\n\r\u00a0\u2003\u2028\x1c\x1f\x85\u200b", "\x01\x7f\ue000\ufffd\uffff\ufffe"]
SPECIAL = ["[MASK]", "[SEP]", " [UNK] ", "[CLS]", "[mask]", "[PAD]", "<語>"]


def random_text(source: random.Random) -> str:
    def piece() -> str:
        kind = source.random()
        scalars = source.choice(SCALARS)
        if kind < 0.1:
            return source.choice(SPECIAL)
        if kind < 0.2:  # as long as the longest groups of unknown characters, and longer
            return source.choice(scalars) * source.choice([24, 25, 26, 27, 101])
        if kind < 0.6:
            sentence = source.choice(SENTENCES)
            at = source.randrange(len(sentence))
            return sentence[at:at + source.randrange(1, 25)]
        return "".join(source.choices(scalars, k=source.choice([1, 1, 2, 3, 9])))
    return "".join(piece() for _ in range(source.randrange(9)))


def write_dictionary(source: random.Random, folder: Path) -> None:
    """Compiles a random dictionary with MeCab's own program. Its costs are small, so many ways cost the same."""
    def word() -> str:
        return f"{source.randrange(3)},{source.randrange(3)},{source.randrange(-1, 2)},X\n"
    categories = ["DEFAULT", "LETTER", "DIGIT"]
    kinds = [f"{name} {source.randrange(2)} {source.randrange(2)} {source.randrange(4)}\n" for name in categories]
    kinds += ["SPACE 0 1 0\n", "0x0020 SPACE\n", "0x0061..0x0062 LETTER\n", "0x0063 LETTER DIGIT\n",
              "0x0031 DIGIT\n", "0x0032 DIGIT LETTER\n"]
    unknown = [f"{name},{word()}" for name in [*categories, "SPACE"] for _ in range(source.randrange(1, 3))]
    words = ["".join(source.choices("abc12-", k=source.randrange(1, 4))) + "," + word() for _ in range(12)]
    costs = [f"{left} {right} {source.randrange(-1, 2)}\n" for left in range(3) for right in range(3)]
    files = {"dicrc": ["cost-factor = 700\n", "bos-feature = BOS\n"], "char.def": kinds, "unk.def": unknown,
             "words.csv": words, "matrix.def": ["3 3\n", *costs], "pos-id.def": [], "rewrite.def": [],
             "left-id.def": ["0 BOS\n"], "right-id.def": ["0 BOS\n"]}
    folder.mkdir()
    for name, lines in files.items():
        (folder / name).write_text("".join(lines))
    subprocess.run([Path(sys.executable).parent / "fugashi-build-dict", "-d", folder, "-o", folder, "-f", "utf-8",
                    "-t", "utf-8"], check=True, capture_output=True)


class JapaneseWords(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = Path(importlib.import_module("ipadic").DICDIR).parents[1]
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, BERT_INFER_MECAB=str(folder)))

    def write(self, dictionary: str, tokens: str) -> tuple[Path, object]:
        """A model's directory with the words or the characters of the sentences, and transformers' tokenizer."""
        directory = random_models.fresh(self.dir / "model")
        config = {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab", "do_lower_case": False,
                  "subword_tokenizer_type": tokens, "mecab_kwargs": {"mecab_dic": dictionary}}
        (directory / "tokenizer_config.json").write_text(json.dumps(config))
        (directory / "config.json").write_text(json.dumps({"model_type": "bert"}))
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        text = unicodedata.normalize("NFKC", "".join(SENTENCES))
        characters = list(dict.fromkeys("".join(text.split())))
        vocabulary += characters
        if tokens == "wordpiece":
            (directory / "vocab.txt").write_text("\n".join(vocabulary))
            words = transformers.AutoTokenizer.from_pretrained(str(directory)).word_tokenizer
            found = [word for sentence in SENTENCES for word in words.tokenize(sentence)]
            vocabulary += dict.fromkeys("##" + part for part in characters[::2] + [word[1:] for word in found[::3]])
            vocabulary += dict.fromkeys(word for word in found[::2] if len(word) > 1)
        (directory / "vocab.txt").write_text("\n".join(vocabulary))
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
        self.assertEqual(type(tokenizer).__name__, "BertJapaneseTokenizer")
        return directory, tokenizer

    def test_random_texts(self):
        source = random.Random(11)
        for dictionary in "ipadic", "unidic_lite":
            for tokens in "wordpiece", "character":
                with self.subTest(f"{dictionary} {tokens}"):
                    directory, tokenizer = self.write(dictionary, tokens)
                    texts = SENTENCES + [random_text(source) for _ in range(300)]
                    texts += [[random_text(source), random_text(source) or "語"] for _ in range(80)]
                    self.compare_tokens(directory, tokenizer, texts)
                    tokenizer.add_tokens(["<語>", transformers.AddedToken("京都", lstrip=True)])
                    tokenizer.save_pretrained(str(directory))
                    self.compare_tokens(directory, tokenizer, texts[::3])

    def test_random_dictionaries(self):
        directory, _ = self.write("ipadic", "wordpiece")
        (directory / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
        source = random.Random(5)
        for k in range(12):
            folder = self.dir / f"dictionary{k}"
            write_dictionary(source, folder)
            texts = ["".join(source.choices("abc12- ", k=source.randrange(1, 60))) for _ in range(50)]
            with unittest.mock.patch.dict(os.environ, BERT_INFER_MECAB=str(folder)):
                rows = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=texts)
            words = fugashi.GenericTagger(f"-d {folder} -r /dev/null")
            for text, row in zip(texts, rows, strict=True):
                found = [text[begin:end] for begin, end in row["offsets"] if begin < end]
                self.assertEqual(found, [word.surface for word in words(text)], text)

    def test_offsets_are_those_of_the_words(self):
        directory, _ = self.write("ipadic", "wordpiece")
        text = "お ＰＣ　東京都の図書館"
        [row] = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=[text])
        tokens = [text[begin:end] for begin, end in row["offsets"]]
        self.assertEqual("".join(tokens), "おＰＣ東京都の図書館")

    def test_a_model_of_it(self):
        directory, tokenizer = self.write("unidic_lite", "wordpiece")
        config = transformers.BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2,
                                         num_attention_heads=2, intermediate_size=48)
        model = transformers.BertForMaskedLM(config).eval()
        random_models.randomise(model, 3, 1)
        model.save_pretrained(str(directory))
        text = "東京都の[MASK]で本を借りました。"
        [filled] = self.infer(directory, "--task", "fill-mask", inputs=[text])
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        self.assertEqual(len(filled["masks"]), 1)
        for mask in filled["masks"]:
            found = logits[mask["token"]].softmax(0).topk(5)
            self.assert_close([fill["probability"] for fill in mask["fills"]], found.values.detach())
            self.assertEqual([fill["id"] for fill in mask["fills"]], found.indices.tolist())
