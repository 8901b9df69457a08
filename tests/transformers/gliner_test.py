#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random models that the GLiNER library writes: the entities that it finds, and where they are.

    tests/transformers/gliner_test.py build/release/bin
"""
import json
import os
import random
import sys

import judge
from judge import JudgeTest

import random_models
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

try:
    import gliner
except ImportError as error:
    print(f"skipped: {error}; tools/peers/setup installs what this test compares with")
    sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PEERS") == "1" else 77)

SIZES = {"hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 80,
         "max_position_embeddings": 1024}
LABELS = ["person", "a big city", "Straße"]
TEXTS = ["Ada Lovelace lived in London, near well-known people.", "Die Straße_x führt nach Köln-Ehrenfeld; 3.5 km!",
         "a", "x--y -- z_-_w", " ", "𝒜 Été ١٢٣ № ½ 你好，世界", "One two three four five six seven eight nine ten."]
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")}


def every_character() -> list[str]:
    """Texts with all letters, numbers and signs that this Python knows."""
    known = [chr(c) for c in range(0x21, 0x32000) if not 0xD800 <= c < 0xE000 and chr(c).isprintable()
             and not chr(c).isspace()]
    random.Random(5).shuffle(known)
    return [" ".join("".join(known[i:i + 3]) for i in range(j, j + 60, 3)) for j in range(0, 12000, 60)]


def unigram() -> Tokenizer:
    """Words and characters, always the same, unlike what a trainer makes of them."""
    pieces = ["▁", *sorted({c for text in TEXTS + LABELS for c in text.strip() if c.isascii() or c in "ßöü"})]
    words = ["▁" + word for text in TEXTS[:2] for word in text.split()[::2]]
    vocabulary = [(token, 0.0) for token in SPECIAL.values()]
    vocabulary += [(piece, -8 - 0.01 * i) for i, piece in enumerate(pieces)]
    vocabulary += [(word, -4 - 0.01 * i) for i, word in enumerate(words)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=list(SPECIAL).index("unk_token")))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def bytes_of_words() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=[*SPECIAL.values()],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS * 20, trainer)
    return tokenizer


# The encoder's settings, its tokenizer, a seed, a factor for the head's weights, and GLiNER's own settings.
KINDS = {
    "deberta": ({"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                 "position_biased_input": False, "position_buckets": 32, "norm_rel_ebd": "layer_norm",
                 "share_att_key": True, "type_vocab_size": 0}, unigram, 14, 0.9, {"hidden_size": 32}),
    "modernbert": ({"model_type": "modernbert", "local_attention": 16, "pad_token_id": 0, "cls_token_id": 1,
                    "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}, bytes_of_words, 17, 0.7,
                   {"hidden_size": 48, "num_rnn_layers": 0}),
    "bert": ({"model_type": "bert"}, unigram, 11, 1.1,
             {"hidden_size": 20, "num_rnn_layers": 2, "embed_ent_token": False}),
    "by words": ({"model_type": "bert"}, unigram, 16, 0.7, {"hidden_size": 48, "span_mode": "token_level"})}


class Gliner(JudgeTest):
    def make(self, kind: str):
        """A model of the library's, and the directory that it writes."""
        encoder, tokenizer, seed, gain, settings = KINDS[kind]
        words = tokenizer()
        ids = {name: words.token_to_id(token) for name, token in SPECIAL.items()}
        words.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", ids["cls_token"]), ("[SEP]", ids["sep_token"])])
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL)
        fast.add_tokens(["[FLERT]", "<<ENT>>", "<<SEP>>"], special_tokens=True)
        size = len(fast)
        by_words = "span_mode" in settings
        config_class = gliner.config.UniEncoderTokenConfig if by_words else gliner.config.UniEncoderSpanConfig
        config = config_class(
            model_name="nobody/nothing", max_width=5, max_len=40, vocab_size=size, class_token_index=size - 2,
            encoder_config={**SIZES, "vocab_size": size, **encoder}, **settings)
        torch.manual_seed(1)
        model_class = gliner.model.UniEncoderTokenGLiNER if by_words else gliner.model.UniEncoderSpanGLiNER
        model = model_class(config, tokenizer=fast, backbone_from_pretrained=False)
        random_models.randomise(model.model, seed, 1)
        with torch.no_grad():  # probabilities far from 0 and 1
            for name, weight in model.model.named_parameters():
                if weight.dim() > 1 and not name.startswith("token_rep_layer"):
                    weight *= gain
        directory = random_models.fresh(self.dir / kind)
        model.save_pretrained(directory, safe_serialization=kind != "bert")
        return model.double().eval(), directory

    def compare(self, model, directory, texts: list[str], threshold: float, flat: bool, multi: bool) -> int:
        options = ["--labels", ",".join(LABELS), "--threshold", threshold]
        options += ["--nested"] * (not flat) + ["--multi-label"] * multi
        wanted = model.inference(texts, LABELS, threshold=threshold, flat_ner=flat, multi_label=multi)
        count = 0
        for text, want, row in zip(texts, wanted, self.infer(directory, *options, inputs=texts), strict=True):
            places = [(x["begin"], x["end"], x["string"], x["label"]) for x in row["entities"]]
            self.assertEqual(places, [(x["start"], x["end"], x["text"], x["label"]) for x in want], ascii(text))
            self.assert_close([x["probability"] for x in row["entities"]], [x["score"] for x in want])
            count += len(want)
        return count

    def test_every_encoder(self):
        for kind in KINDS:
            with self.subTest(kind):
                model, directory = self.make(kind)
                found = [self.compare(model, directory, TEXTS, threshold, flat, multi)
                         for threshold in (0.25, 0.5) for flat in (True, False) for multi in (False, True)]
                self.assertGreater(min(found), 5, found)
                self.assertGreater(found[3], found[0])

    def test_words_of_every_character(self):
        # Bytes make tokens of any word.
        model, directory = self.make("modernbert")
        self.assertGreater(self.compare(model, directory, every_character(), 0.3, True, False), 500)

    def test_what_the_encoders_own_directory_has(self):
        """The first models have neither the encoder's settings nor the tokenizer's files."""
        model, directory = self.make("deberta")
        home = random_models.fresh(self.dir / "home")
        snapshot = home / "hub" / "models--nobody--nothing" / "snapshots" / "1"
        snapshot.mkdir(parents=True)
        (snapshot.parent.parent / "refs").mkdir()
        (snapshot.parent.parent / "refs" / "main").write_text("1")
        settings = json.loads((directory / "gliner_config.json").read_text())
        named = {**settings.pop("encoder_config"), "vocab_size": 7}  # as before GLiNER's tokens were added
        (snapshot / "config.json").write_text(json.dumps(named))
        for change in ({"encoder_config": None}, {"encoder_config": None, "class_token_index": -1, "vocab_size": -1}):
            (directory / "gliner_config.json").write_text(json.dumps(settings | change))
            if "vocab_size" in change:
                for file in directory.glob("*token*"):
                    file.unlink()
                tokenizer = unigram()
                tokenizer.post_processor = model.data_processor.transformer_tokenizer.backend_tokenizer.post_processor
                transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL).save_pretrained(snapshot)
            failed = self.run_tool("bert-infer", "-m", directory, "--labels", "a", "b")
            self.assertEqual(failed.returncode, 1)
            self.assertIn("is missing, and model_name, 'nobody/nothing', which", failed.stderr)
            os.environ["HF_HOME"] = str(home)
            self.assertGreater(self.compare(model, directory, TEXTS, 0.4, True, False), 5)
            del os.environ["HF_HOME"]


if __name__ == "__main__":
    judge.main()
