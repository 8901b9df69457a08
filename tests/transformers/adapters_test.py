#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters that PEFT writes, added to models that transformers writes: outputs against PEFT's.

    tests/transformers/adapters_test.py build/release/bin
"""
import json

import judge
from judge import JudgeTest

import peft
import random_models
import torch
import transformers

SIZES = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 50,
         "max_position_embeddings": 64, "pad_token_id": 0}
TEXTS = ["a man plays the guitar", ["two dogs", "they eat on the beach"], ""]
# The class, its settings, the adapter's target modules and settings.
KINDS = [("BertModel", {}, ["query", "value"], {}),
         ("BertForSequenceClassification", {"num_labels": 3}, "all-linear", {"use_rslora": True}),
         ("BertForTokenClassification", {"num_labels": 2}, ["key", "word_embeddings", "dense"], {}),
         ("DistilBertModel", {"dim": 36, "n_heads": 3, "n_layers": 2, "hidden_dim": 50},
          ["q_lin", "ffn.lin1"], {}),
         ("RobertaModel", {}, ".*(query|output.dense)", {"rank_pattern": {"query": 2}}),
         ("Qwen3Model", {"head_dim": 20, "num_key_value_heads": 1}, ["q_proj", "v_proj", "down_proj"], {}),
         ("Qwen3Model", {"head_dim": 20, "num_key_value_heads": 1}, ["q_proj", "embed_tokens"], {}),
         ("Qwen3ForSequenceClassification", {"head_dim": 20, "num_key_value_heads": 1, "num_labels": 3}, ["q_proj"],
          {"modules_to_save": ["embed_tokens"]}),
         ("UltrabertModel", {"sliding_window": 8, "prediction_head_size": 20}, ["q_proj", "down_proj"], {}),
        ("ModernBertModel", {"cls_token_id": 2, "sep_token_id": 3}, ["Wqkv", "Wi", "tok_embeddings"], {}),
         ("DebertaV2ForSequenceClassification",
          {"relative_attention": True, "pos_att_type": "p2c|c2p", "num_labels": 2},
          ["query_proj", "classifier"], {})]

# The class that is saved, the one with a head that is trained, its settings, and PEFT's name for it.
HEADS = [("BertModel", "BertForSequenceClassification", {"num_labels": 3}, "SEQ_CLS"),
         ("BertForPreTraining", "BertForTokenClassification", {"num_labels": 4}, "TOKEN_CLS"),
         ("RobertaForMaskedLM", "RobertaForSequenceClassification", {"num_labels": 2}, "SEQ_CLS"),
         ("RobertaModel", "RobertaForQuestionAnswering", {}, "QUESTION_ANS"),
         ("DistilBertForMaskedLM", "DistilBertForSequenceClassification", {"num_labels": 1}, "SEQ_CLS"),
         ("ElectraForPreTraining", "ElectraForSequenceClassification", {"num_labels": 3}, "SEQ_CLS"),
         ("ModernBertForMaskedLM", "ModernBertForSequenceClassification", {"num_labels": 3}, "SEQ_CLS"),
         ("Qwen3ForCausalLM", "Qwen3ForSequenceClassification", {"num_labels": 1, "pad_token_id": 0}, "SEQ_CLS"),
         ("Qwen2Model", "Qwen2ForTokenClassification", {"num_labels": 3}, "TOKEN_CLS"),
         ("BertForSequenceClassification", "BertForSequenceClassification", {"num_labels": 5}, "SEQ_CLS")]


class Adapters(JudgeTest):
    def setUp(self):
        torch.manual_seed(3)

    def compare(self, name: str, settings: dict, targets, adapter: dict):
        directory = random_models.fresh(self.dir / "model")
        random_models.make_word_piece(directory, random_models.BERT_SPECIAL)
        tokenizer = transformers.BertTokenizerFast.from_pretrained(str(directory))
        tokenizer.save_pretrained(str(directory))
        kind = getattr(transformers, name)
        config = kind.config_class(vocab_size=len(tokenizer), **{**SIZES, **settings})
        torch.manual_seed(1)
        model = kind(config).eval()
        random_models.randomise(model, 1, 1.5)
        model.save_pretrained(str(directory))
        with torch.no_grad():
            plain = self.outputs(model, tokenizer)
            adapted = peft.get_peft_model(model, peft.LoraConfig(
                r=4, lora_alpha=6, target_modules=targets, init_lora_weights=False, **adapter)).eval()
            wanted = self.outputs(adapted, tokenizer)
        folder = random_models.fresh(self.dir / "adapter")
        adapted.save_pretrained(str(folder))
        self.assertGreater(max((a - b).abs().max() for a, b in zip(plain, wanted)), 0.01)
        task = ["--task", "hidden"] if name.endswith("Model") else ["--task", "logits"]
        key = task[1]
        for precise, answers in ((wanted, self.infer(directory, *task, "--adapter", folder, inputs=TEXTS)),
                                 (plain, self.infer(directory, *task, inputs=TEXTS))):
            for answer, expected in zip(answers, precise, strict=True):
                self.assert_close(answer[key], expected.tolist())

    def test_jina_v5(self):
        """A folder of adapters in the model's, of which its code takes the one for retrieval unless another is named."""
        eos = {"head_dim": 12, "num_key_value_heads": 3}
        for family, settings in (("Qwen3", eos | {"is_decoder": True}), ("EuroBert", eos | {"is_decoder": False})):
            if not hasattr(transformers, family + "Model"):
                continue
            with self.subTest(family):
                directory = random_models.fresh(self.dir / "jina")
                random_models.make_word_piece(directory, random_models.BERT_SPECIAL)
                tokenizer = transformers.BertTokenizerFast.from_pretrained(str(directory))
                tokenizer.save_pretrained(str(directory))
                kind = getattr(transformers, family + "Model")
                config = kind.config_class(vocab_size=len(tokenizer), **{**SIZES, **settings})
                model = kind(config).eval()
                random_models.randomise(model, 1, 1.5)
                model.save_pretrained(str(directory))
                path, tasks = directory / "config.json", ["retrieval", "clustering"]
                path.write_text(json.dumps(json.loads(path.read_text()) | {
                    "model_type": "jina_embeddings_v5", "architectures": ["JinaEmbeddingsV5Model"], "task_names": tasks,
                    "auto_map": {"AutoConfig": "configuration_jina_embeddings_v5.JinaEmbeddingsV5Config"}}))
                wanted = {}
                for seed, task in enumerate(tasks):
                    torch.manual_seed(seed)
                    lora = peft.LoraConfig(r=4, lora_alpha=4, init_lora_weights=False, task_type="FEATURE_EXTRACTION",
                                           target_modules=["q_proj", "o_proj", "gate_proj", "down_proj"])
                    adapted = peft.get_peft_model(model, lora).eval()
                    with torch.no_grad():
                        wanted[task] = self.outputs(adapted, tokenizer)
                    adapted.save_pretrained(str(directory / "adapters" / task))
                    model = adapted.unload()
                for task, options in (("retrieval", []), ("retrieval", ["--adapter", "retrieval"]),
                                      ("clustering", ["--adapter", "clustering"]),
                                      ("clustering", ["--adapter", "adapters/clustering"])):
                    answers = self.infer(directory, "--task", "hidden", *options, inputs=TEXTS)
                    for answer, expected in zip(answers, wanted[task], strict=True):
                        self.assert_close(answer["hidden"], expected.tolist())

    def test_heads(self):
        """An adapter with a head of its own (modules_to_save), for a model that has another or none."""
        for base, name, settings, task in HEADS:
            with self.subTest(f"{base} {name}"):
                directory = random_models.fresh(self.dir / "model")
                random_models.make_word_piece(directory, random_models.BERT_SPECIAL)
                tokenizer = transformers.BertTokenizerFast.from_pretrained(str(directory))
                tokenizer.save_pretrained(str(directory))
                kind = getattr(transformers, base)
                sizes = KINDS[3][1] if "Distil" in base else SIZES | {"cls_token_id": 2, "sep_token_id": 3}
                if "Qwen" in base:
                    sizes = sizes | {"num_key_value_heads": 1}
                model = kind(kind.config_class(vocab_size=len(tokenizer), **sizes)).eval()
                random_models.randomise(model, 2, 1.5)
                model.save_pretrained(str(directory))
                adapted = getattr(transformers, name).from_pretrained(str(directory), ignore_mismatched_sizes=True,
                                                                      **settings)
                with torch.no_grad():
                    for each, weight in adapted.named_parameters():
                        if any(head in each for head in ("classifier", "qa_outputs", "score")):
                            weight.copy_(0.2 * torch.randn(weight.shape))
                    adapted = peft.get_peft_model(adapted, peft.LoraConfig(
                        r=4, lora_alpha=6, target_modules=".*(query|value|lin|Wqkv|Wi|[qv]_proj)", init_lora_weights=False,
                        task_type=task)).eval()
                    wanted = self.logits(adapted.base_model, tokenizer)  # PEFT forgets token_type_ids for some
                folder = random_models.fresh(self.dir / "adapter")
                adapted.save_pretrained(str(folder))
                answers = self.infer(directory, "--task", "logits", "--adapter", folder, inputs=TEXTS)
                for answer, expected in zip(answers, wanted, strict=True):
                    self.assert_close(answer["logits"], expected.tolist())

    @staticmethod
    def logits(model, tokenizer) -> list:
        found = []
        for text in TEXTS:
            output = model(**tokenizer(*([text] if isinstance(text, str) else text), return_tensors="pt"))
            found.append(output.logits[0] if "logits" in output else
                         torch.stack([output.start_logits[0], output.end_logits[0]], -1))
        return found

    @staticmethod
    def outputs(model, tokenizer) -> list:
        found = []
        for text in TEXTS:
            output = model(**tokenizer(*([text] if isinstance(text, str) else text), return_tensors="pt"))
            found.append((output.logits if "logits" in output else output.last_hidden_state)[0])
        return found

    def test_kinds(self):
        for name, settings, targets, adapter in KINDS:
            with self.subTest(name):
                self.compare(name, settings, targets, adapter)


if __name__ == "__main__":
    judge.main()
