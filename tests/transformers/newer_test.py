#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The families after 2021 that transformers has itself, stage by stage: random models, saved by its
own save_pretrained, with ids beyond the window and beyond DeBERTa's buckets as inputs.

    tests/transformers/newer_test.py [--transformers4] build/release/bin
"""
import json
import shutil
import sys
import unittest
from pathlib import Path

import judge
from judge import IS_OLDER, ROOT, JudgeTest

sys.path.append(str(ROOT / "tests" / "tokenizer" / "bytepair"))
import export_reference
import random_models
import safetensors.torch
import torch
import transformers
from bpe_codes import BpeCodes  # noqa: F401
from gemma_definition import gemma_definition
from japanese_words import JapaneseWords  # noqa: F401
from reference import write_reference
from reference_config import read_config
from reference_inputs import random_inputs

USUAL = ["Model", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"]
EVERY = [*USUAL, "ForQuestionAnswering", "ForMultipleChoice"]
SIZES = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 4,
         "intermediate_size": 50, "max_position_embeddings": 128, "pad_token_id": 0}
ROPE = {"full_attention": {"rope_theta": 80000.0, "rope_type": "default"},
        "sliding_attention": {"rope_theta": 500.0, "rope_type": "default"}}
V3 = {"relative_attention": True, "pos_att_type": "p2c|c2p", "position_buckets": 32,
      "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
      "type_vocab_size": 0}
V1 = {"relative_attention": True, "pos_att_type": "c2p|p2c", "position_biased_input": False,
      "max_relative_positions": 40}
# Of a part for images, which is not evaluated.
VISION = {"model_type": "gemma4_vision", "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 1,
          "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
FAMILIES = {"ModernBert": (EVERY, {"local_attention": 16, "bos_token_id": 2, "eos_token_id": 3,
                                   "cls_token_id": 2, "sep_token_id": 3}),
            "DebertaV2": (EVERY, V3), "Deberta": ([*USUAL, "ForQuestionAnswering"], V1)}
MORE = [("ModernBert", {"local_attention": 10, "classifier_pooling": "mean", "norm_bias": True,
                        "attention_bias": True, "mlp_bias": True, "classifier_bias": True,
                        "classifier_activation": "relu", "global_attn_every_n_layers": 2}),
        ("DebertaV2", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"],
                       "share_att_key": False, "conv_kernel_size": 3, "conv_act": "gelu",
                       "type_vocab_size": 2, "position_buckets": 16}),
        ("Deberta", V1 | {"pos_att_type": ["p2c"], "position_biased_input": True, "type_vocab_size": 2,
                          "max_relative_positions": -1, "pooler_hidden_act": "relu"}),
        ("DebertaV2", V3 | {"pos_att_type": ["c2p"], "share_att_key": False,
                            "position_buckets": -1})]
FAMILIES["Longformer"] = (["Model", "ForTokenClassification", "ForMaskedLM"], {"attention_window": [16, 8, 16, 4]})
ESM = {"mask_token_id": 4, "token_dropout": True, "position_embedding_type": "rotary", "pad_token_id": 1}
FAMILIES["Esm"] = (USUAL, ESM)
MORE += [("Esm", ESM | {"position_embedding_type": "absolute", "emb_layer_norm_before": True}),
         ("Esm", ESM | {"token_dropout": False, "layer_norm_eps": 1e-3})]
FAMILIES["Gemma3Text"] = (["Model", "ForSequenceClassification"], random_models.GEMMA)
CAUSAL_GEMMA = random_models.GEMMA | {"use_bidirectional_attention": False, "head_dim": 20, "query_pre_attn_scalar": 24}
FAMILIES |= {"T5": (["EncoderModel", "ForTokenClassification"], {"d_kv": 20}),
             "MT5": (["EncoderModel", "ForTokenClassification"], {"d_kv": 7, "feed_forward_proj": "gated-gelu"})}
QWEN3 = {"head_dim": 20, "num_key_value_heads": 1}
FAMILIES["Qwen3"] = (["Model", "ForSequenceClassification", "ForTokenClassification"], QWEN3)
FAMILIES["Qwen2"] = (FAMILIES["Qwen3"][0], {"num_key_value_heads": 1})
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
FAMILIES["Llama"] = (FAMILIES["Qwen3"][0], {
    "num_key_value_heads": 1, **({"rope_theta": 5e5, "rope_scaling": LLAMA3} if IS_OLDER else
                                 {"rope_parameters": LLAMA3 | {"rope_theta": 5e5}})})
FAMILIES["Mistral"] = (FAMILIES["Qwen3"][0], {"num_key_value_heads": 1, "sliding_window": 20})
WINDOWS = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2}
MORE += [("Qwen2", {"num_key_value_heads": 1} | WINDOWS), ("Gemma3Text", CAUSAL_GEMMA), ("Llama", {"head_dim": 20, "attention_bias": True, "mlp_bias": True}), ("Mistral", QWEN3)]
MORE.append(("Qwen3", {"head_dim": 6, "num_attention_heads": 6, "num_key_value_heads": 3, "attention_bias": True,
                       "hidden_act": "gelu"}))
FAMILIES["Bart"] = (["Model", "ForSequenceClassification", "ForQuestionAnswering", "ForConditionalGeneration"], {})
MORE.append(("Bart", {"decoder_layers": 1, "activation_function": "relu"}))
BART_SIZES = {"d_model": 36, "encoder_layers": 3, "decoder_layers": 2, "max_position_embeddings": 128, "pad_token_id": 0,
              "encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_ffn_dim": 50, "decoder_ffn_dim": 50}
T5_SIZES = {"d_model": 36, "num_heads": 3, "num_layers": 4, "d_ff": 50, "pad_token_id": 0}
if not IS_OLDER:
    MORE.append(("Qwen3", QWEN3 | {"is_causal": False, "rope_parameters": {"rope_theta": 700.0,
                                                                           "rope_type": "default"}}))
    LINEAR = {"rope_type": "linear", "factor": 8.0}
    MORE += [("Gemma3Text", CAUSAL_GEMMA | {"sliding_window": 5, "rope_parameters": {
        "full_attention": LINEAR | {"rope_theta": 1e4}, "sliding_attention": ROPE["sliding_attention"]}}),
             ("Llama", {"head_dim": 20, "rope_parameters": LINEAR | {"rope_theta": 1e4}}),
             ("Mistral", QWEN3 | {"sliding_window": 11, "is_causal": False}),
             ("Qwen3", QWEN3 | WINDOWS | {"is_causal": False, "layer_types": ["sliding_attention"] * 3 + [
                 "full_attention"]})]
    FAMILIES |= {"NomicBert": (USUAL, {}), "Gte": (USUAL, {}), "EuroBert": (USUAL, {}),
                 "JinaEmbeddingsV3": ([*USUAL, "ForQuestionAnswering"], {}),
                 "Ultrabert": ([*USUAL, "ForQuestionAnswering"], {"sliding_window": 6, "prediction_head_size": 20})}
    MORE.append(("Ultrabert", {"classifier_pooling": "mean", "num_attention_heads": 6, "num_key_value_heads": 2,
                               "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu", "sliding_window": 9,
                               "rope_parameters": ROPE, "layer_types": [
                                   "full_attention", "sliding_attention", "sliding_attention", "full_attention"]}))
    MORE.append(("JinaEmbeddingsV3", {"type_vocab_size": 2, "hidden_act": "gelu_pytorch_tanh",
                                      "rope_parameters": {"rope_theta": 700.0, "rope_type": "default"}}))
    MORE += [("EuroBert", {"classifier_pooling": pooling, "num_attention_heads": 6, "num_key_value_heads": 2,
                           "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu",
                           "rope_parameters": {"rope_theta": 700.0, "rope_type": "default"}})
             for pooling in ("bos", "mean")]
    YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 16}
    FILTER = {"head_dim": 14, "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 8,
              "num_local_experts": 6, "num_experts_per_tok": 3, "swiglu_limit": 1.5}
    FAMILIES["OpenAIPrivacyFilter"] = (["Model", "ForTokenClassification"], FILTER | {
        "rope_parameters": YARN | {"rope_theta": 150000.0, "truncate": False, "beta_fast": 4.0, "beta_slow": 1.0}})
    MORE.append(("OpenAIPrivacyFilter", FILTER | {
        "attention_bias": False, "num_experts_per_tok": 1, "swiglu_limit": 7.0, "sliding_window": 200,
        "rope_parameters": {"rope_type": "default", "rope_theta": 700.0}}))
    MORE += [("Llama", {"head_dim": 20, "rope_parameters": YARN | {"rope_theta": 5e5} | more})
             for more in ({}, {"mscale": 1.0, "mscale_all_dim": 0.7}, {"attention_factor": 0.9, "beta_fast": 2.0})]
    MINISTRAL = QWEN3 | {"rope_parameters": YARN | {
        "rope_theta": 1e6, "original_max_position_embeddings": 110, "mscale": 1.0, "mscale_all_dim": 1.0,
        "llama_4_scaling_beta": 0.1, "max_position_embeddings": 128, "beta_fast": 32.0, "beta_slow": 1.0}}
    FAMILIES["Ministral3"] = (FAMILIES["Qwen3"][0], MINISTRAL | {"is_causal": False})
    MORE.append(("Ministral3", MINISTRAL | {"sliding_window": 20}))
    FAMILIES["Esmc"] = (USUAL, {})
    MORE.append(("Esmc", {"attention_bias": True, "mlp_bias": True, "hidden_act": "gelu", "num_hidden_layers": 9}))
    FAMILIES["EmbeddingGemma2Text"] = (["Model"], random_models.GEMMA_2)
    MORE.append(("EmbeddingGemma2Text", random_models.GEMMA_2 | {
        "rope_parameters": ROPE, "attention_bias": True,
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]}))
    MORE.append(("EmbeddingGemma2", random_models.GEMMA_2))
    MORE.append(("ModernBert", {"rope_parameters": ROPE, "local_attention": 6, "layer_types": [
        "sliding_attention", "full_attention", "full_attention", "sliding_attention"]}))


class Newer(JudgeTest):
    def compare(self, family: str, head: str, seed: int, settings: dict):
        directory = random_models.fresh(self.dir / "model")
        random_models.make_word_piece(directory, random_models.BERT_SPECIAL)
        tokenizer = transformers.BertTokenizerFast.from_pretrained(str(directory))
        tokenizer.save_pretrained(str(directory))
        kind = getattr(transformers, family + "Config")
        sizes = T5_SIZES if "T5" in family else SIZES
        if family == "Bart":
            sep = tokenizer.sep_token_id
            sizes = BART_SIZES | {"eos_token_id": sep, "decoder_start_token_id": sep}
        settings = {"vocab_size": len(tokenizer), **sizes, **settings}
        if family == "EmbeddingGemma2":
            settings = {"text_config": settings, "vision_config": VISION}
        config = kind(**settings)
        torch.manual_seed(seed)
        model = getattr(transformers, family + head)(config).eval()
        random_models.randomise(model, seed, 1.5)
        with torch.no_grad():  # without norms between them, layers amplify each other's rounding
            for name, weight in model.named_parameters():
                if (weight.dim() == 2 and "embeddings" not in name) or "experts" in name:
                    # T5's scores are not divided by sqrt D, and ESM C's residuals grow from layer to layer.
                    weight *= 0.45 if "T5" in family else 0.5 if family == "Esmc" else 0.6
                if weight.dim() == 1 and family == "Gemma3Text":
                    weight -= 1  # which its norms add
                if "Gemma2" in family and (".q_norm." in name or ".post_" in name):
                    weight *= 0.3  # its scores are not divided by sqrt D, either; norms of what is added
            for name, buffer in model.named_buffers():
                if name.endswith("layer_scalar"):
                    buffer.fill_(0.7 + 0.1 * float(torch.rand(())))
        model.save_pretrained(str(directory))
        read = read_config(directory)
        inputs = random_inputs(read, 5, [2, 17, 33, 70, 100], seed)
        reference = self.dir / "reference.safetensors"
        expected = export_reference.export(directory, read, inputs)
        write_reference(reference, expected, inputs, "<f8", "all", "newer_test.py")
        done = self.run_tool("bert-regress", "-m", directory, reference, "--atol", "1e-5",
                             "--rtol", "1e-6", "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for stage in ("layer.3", "embedding" if head.endswith("Model") else "logits"):
            self.assertRegex(done.stdout, f"(?m)^{stage} ")
        self.assertNotIn("unknown fields", self.run_tool("bert-infer", "info", "-m", directory).stdout)

    def test_every_head(self):
        for family, (heads, settings) in FAMILIES.items():
            for seed, head in enumerate(heads):
                with self.subTest(family + head):
                    self.compare(family, head, seed, settings)

    @unittest.skipIf(IS_OLDER, "of transformers 5")
    def test_fields_that_overrule_others(self):
        """What config.json may say beside or instead of what transformers' classes write."""
        llama3 = LLAMA3 | {"rope_theta": 500.0}
        default = {"rope_type": "default"}
        edits = [("ModernBert", "Model", {"sliding_window": 3}), ("T5", "EncoderModel", {"dense_act_fn": "gelu_new"}),
                 ("Gte", "ForMaskedLM", {"hidden_act": "relu"}), ("Gte", "Model", {"rope_parameters": None}),
                 ("Gte", "Model", {"rope_parameters": default, "rope_theta": 700.0}),
                 ("EuroBert", "Model", {"rope_parameters": default}),
                 ("NomicBert", "Model", {"rope_parameters": None, "rope_theta": 50.0}),
                 ("JinaEmbeddingsV3", "Model", {"rope_parameters": None, "rope_theta": 50.0}),
                 ("Llama", "Model", {"rope_parameters": llama3, "original_max_position_embeddings": 20}),
                 ("DebertaV2", "Model", V3 | {"pos_att_type": "P2C | c2p"})]
        for family, head, edit in edits:
            with self.subTest(family + head, **edit):
                directory = random_models.fresh(self.dir / "edited")
                sizes = T5_SIZES if family == "T5" else SIZES
                config = getattr(transformers, family + "Config")(vocab_size=90, **sizes, **FAMILIES[family][1])
                torch.manual_seed(1)
                kind = getattr(transformers, family + head)
                kind(config).save_pretrained(str(directory))
                path = directory / "config.json"
                path.write_text(json.dumps(json.loads(path.read_text()) | edit))
                model = kind.from_pretrained(str(directory)).eval()
                random_models.randomise(model, 1, 1)
                model.save_pretrained(str(self.dir / "weights"))
                shutil.copy(self.dir / "weights/model.safetensors", directory)
                ids = [4, 11, 25, 33, 12, 40, 41, 17, 22, 9, 30, 5] * 5
                with torch.no_grad():
                    answer = model(torch.tensor([ids]))
                hidden = head.endswith("Model")
                expected = (answer.last_hidden_state if hidden else answer.logits)[0].numpy()
                [row] = self.infer(directory, "--task", "hidden" if hidden else "logits", inputs=[{"ids": ids}])
                self.assert_close(row["hidden" if hidden else "logits"], expected, 1e-4)

    @unittest.skipIf(IS_OLDER, "transformers 4 always has a mask")
    def test_code_that_takes_the_mask_away(self):
        """Code on the hub does no more than that to transformers' classes, or adds a dense layer."""
        bidirectional = {"use_bidirectional_attention": True}
        kinds = [("Qwen3", "PPLXQwen3Model", bidirectional | {
                     "model_type": "bidirectional_pplx_qwen3", "auto_map": {"AutoConfig": "code.PPLXQwen3Config"}}),
                 ("Llama", "LlamaBidirectionalModel", {
                     "model_type": "llama_bidirec", "auto_map": {"AutoConfig": "code.LlamaBidirectionalConfig"}}),
                 ("Qwen3", "Qwen3ForCausalLM", bidirectional | {
                     "num_labels": 44, "auto_map": {"AutoModel": "code.Qwen3BidirectionalModel"}})]
        for family, name, edit in kinds:
            with self.subTest(name):
                directory = random_models.fresh(self.dir / "code")
                config = getattr(transformers, family + "Config")(
                    vocab_size=90, is_causal=False, **SIZES, **FAMILIES[family][1])
                model = getattr(transformers, family + "Model")(config).eval()
                random_models.randomise(model, 1, 1)
                linear = torch.nn.Linear(36, edit.get("num_labels", 36), bias=False)
                weights = {"model." + key: value for key, value in model.state_dict().items()}
                if "num_labels" in edit:
                    weights["linear.weight"] = linear.weight.detach()
                safetensors.torch.save_file(weights, directory / "model.safetensors")
                config.save_pretrained(str(directory))
                content = json.loads((directory / "config.json").read_text()) | edit | {"architectures": [name]}
                del content["is_causal"]
                (directory / "config.json").write_text(json.dumps(content))
                ids = [4, 11, 25, 33, 12, 40, 41, 17, 22, 9, 30, 5] * 5
                with torch.no_grad():
                    wanted = model(torch.tensor([ids])).last_hidden_state[0]
                    wanted = linear(wanted) if "num_labels" in edit else wanted
                [row] = self.infer(directory, "--task", "hidden", inputs=[{"ids": ids}])
                self.assert_close(row["hidden"], wanted.numpy(), 1e-4)

    def test_mmbert(self):
        """ModernBERT with Gemma's tokenizer, whose file also pads and truncates: that is a caller's to do."""
        directory = random_models.fresh(self.dir / "mmbert")
        (directory / "tokenizer.json").write_text(json.dumps(gemma_definition()))
        names = {"pad": "<pad>", "eos": "<eos>", "bos": "<bos>", "unk": "<unk>", "mask": "<mask>", "cls": "<bos>",
                 "sep": "<eos>"}
        config = {f"{name}_token": token for name, token in names.items()} | {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 100, "padding_side": "left"}
        (directory / "tokenizer_config.json").write_text(json.dumps(config))
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
        settings = transformers.ModernBertConfig(vocab_size=len(tokenizer), **{
            **SIZES, **FAMILIES["ModernBert"][1], "eos_token_id": 1, "sep_token_id": 1, "local_attention": 16})
        model = transformers.ModernBertForSequenceClassification(settings).eval()
        random_models.randomise(model, 7, 1.5)
        model.save_pretrained(str(directory))
        texts = ["Hello  world!", ["a pair", "of <mask>\n\n\n\ttexts \u00e9\u4e2d\U0001f600"], "word " * 90, "", " <table> x"]
        answers = self.infer(directory, "--task", "logits", inputs=texts)
        rows = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=texts)
        for text, answer, row in zip(texts, answers, rows):
            first, second = text if isinstance(text, list) else (text, None)
            found = tokenizer(first, second, truncation=True, return_offsets_mapping=True)
            self.assertEqual(row["ids"], found["input_ids"], text)
            self.assertEqual([tuple(pair) if pair else (0, 0) for pair in row["offsets"]],
                             found["offset_mapping"], text)
            with torch.no_grad():
                logits = model(torch.tensor([found["input_ids"]])).logits[0]
            self.assert_close(answer["logits"], logits, 1e-4)

    def test_proteins(self):
        """ESM with its own tokenizer, which has no tokenizer.json."""
        directory = random_models.fresh(self.dir / "esm")
        tokens = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]
        (directory / "vocab.txt").write_text("\n".join(tokens))
        tokenizer = transformers.EsmTokenizer(str(directory / "vocab.txt"), model_max_length=60)
        tokenizer.save_pretrained(str(directory))
        config = transformers.EsmConfig(vocab_size=33, **SIZES | ESM | {"mask_token_id": 32})
        model = transformers.EsmForMaskedLM(config).eval()
        random_models.randomise(model, 3, 1)
        model.save_pretrained(str(directory))
        texts = ["MKTAYIAKQR", "MK<mask>AY<mask> KQJJx R", ["<mask>AG", " M  <cls>A\tjj-.k"], "<null_1><null", "GAV" * 30,
                 ["GAV" * 12, "LAG" * 20]]
        answers = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=texts)
        for text, answer in zip(texts, answers):
            first, second = text if isinstance(text, list) else (text, None)
            self.assertEqual(answer["ids"], tokenizer(first, second, truncation=True)["input_ids"], text)
        [filled] = self.infer(directory, "--task", "fill-mask", inputs=texts[1:2])
        with torch.no_grad():
            logits = model(**tokenizer(texts[1], return_tensors="pt")).logits[0]
        self.assertEqual(len(filled["masks"]), 2)
        for mask in filled["masks"]:
            probabilities = logits[mask["token"]].softmax(0)
            self.assert_close([fill["probability"] for fill in mask["fills"]], probabilities.topk(5).values)
            self.assertEqual([fill["id"] for fill in mask["fills"]], probabilities.topk(5).indices.tolist())
        for text, answer in zip(texts[:2], self.infer(directory, "--task", "embed", inputs=texts[:2])):
            with torch.no_grad():
                states = model.esm(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            self.assert_close(answer["embedding"], states.mean(0))

    @unittest.skipIf(IS_OLDER, "transformers 4 has no ESM C")
    def test_esm_c(self):
        """With its own tokenizer, in which a bar separates chains."""
        directory = random_models.fresh(self.dir / "esmc")
        tokenizer = transformers.EsmcTokenizer(model_max_length=60)
        tokenizer.save_pretrained(str(directory))
        model = transformers.EsmcForMaskedLM(transformers.EsmcConfig(vocab_size=64, **SIZES)).eval()
        random_models.randomise(model, 3, 1)
        model.save_pretrained(str(directory))
        texts = ["MKTAYIAKQR", "MK<mask>AY|<mask>KQJJxR", "<mask>AG|", " M  <cls>A\tjj-.k", "GAV" * 30, ""]
        answers = self.infer(directory, "--task", "tokens", "--output-format", "jsonl", inputs=texts)
        for text, answer in zip(texts, answers):
            self.assertEqual(answer["ids"], tokenizer(text, truncation=True)["input_ids"], text)
        [filled] = self.infer(directory, "--task", "fill-mask", inputs=texts[1:2])
        with torch.no_grad():
            logits = model(**tokenizer(texts[1], return_tensors="pt")).logits[0]
        self.assertEqual(len(filled["masks"]), 2)
        for mask in filled["masks"]:
            probabilities = logits[mask["token"]].softmax(0)
            self.assert_close([fill["probability"] for fill in mask["fills"]], probabilities.topk(5).values.tolist())

    def test_vocabulary_of_the_first_deberta(self):
        """vocab.json and merges.txt alone. docs/tokenizers.md: version 5 differs for pairs and [MASK]."""
        directory = random_models.fresh(self.dir / "deberta")
        random_models.train_byte_pair(directory, random_models.BERT_SPECIAL)
        tokenizer = transformers.DebertaTokenizerFast.from_pretrained(str(directory))
        config = transformers.DebertaConfig(vocab_size=len(tokenizer), **SIZES, **V1)
        transformers.DebertaModel(config).save_pretrained(str(directory))
        texts = ["Hello  world!", "of texts \u00e9\u4e2d\U0001f600\n", "word " * 150, "", " x [SEP]y"]
        if IS_OLDER:
            texts += [["a pair", "of <mask> texts"], "in [MASK]  text", ["", " "], ["a" * 90, "the other " * 70]]
        rows = self.infer(directory, "--task", "tokens", "--max-length", "128", "--output-format", "jsonl",
                          inputs=texts)
        for text, row in zip(texts, rows):
            first, second = text if isinstance(text, list) else (text, None)
            found = tokenizer(first, second, truncation=True, max_length=128, return_offsets_mapping=True)
            self.assertEqual(row["ids"], found["input_ids"], text)
            self.assertEqual(row["type_ids"], found["token_type_ids"], text)
            self.assertEqual([tuple(pair) if pair else (0, 0) for pair in row["offsets"]],
                             found["offset_mapping"], text)

    def test_settings(self):
        for seed, (family, settings) in enumerate(MORE):
            with self.subTest(f"{family} {settings}"):
                head = "Model" if "Gemma" in family or "Filter" in family else "ForSequenceClassification"
                self.compare(family, head, seed, settings)


if __name__ == "__main__":
    judge.main()
