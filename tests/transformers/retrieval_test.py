#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse vectors and vectors of tokens, compared with sentence-transformers' SparseEncoder and
MultiVectorEncoder, which also read PyLate's and Stanford's directories, and, for BGE-M3, with
PyTorch by FlagEmbedding's formulas. Random models.

    tests/transformers/retrieval_test.py build/release/bin
"""
import json
import string
from pathlib import Path

import judge
from judge import JudgeTest

import numpy as np
import random_models
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling

TEXTS = ["the model reads texts", "a, b. c! (d)", "", "tokens - and more tokens: " * 9,
         "a query that is longer than thirty-two tokens, as it goes on and on about the model and "
         "its tests, and does not stop where others would", "What is it?"]
PAIRS = [list(pair) for pair in zip(TEXTS, TEXTS[1:] + TEXTS[:1])]
SIZES = {"hidden_size": 36, "num_attention_heads": 3, "num_hidden_layers": 3,
         "intermediate_size": 50, "max_position_embeddings": 300, "pad_token_id": 0}


class Retrieval(JudgeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokenizers = {}

    def tokenizer(self, family: str):
        if family not in self.tokenizers:
            folder = random_models.fresh(self.dir / f"vocabulary-{family}")
            made = random_models.make_tokenizer(family, folder)
            made.model_max_length = 280
            self.tokenizers[family] = made
        return self.tokenizers[family]

    def saved(self, family: str, head: str, **settings) -> Path:
        """A random model of a family, by its name in random_models or its class."""
        directory = random_models.fresh(self.dir / "plain")
        if family in random_models.FAMILIES:
            tokenizer = self.tokenizer(family)
            model = random_models.make_model(family, head, tokenizer, 3,
                                             **{"max_position_embeddings": 300, **settings})
        else:
            tokenizer = self.tokenizer("bert")
            config = getattr(transformers, family + "Config")(
                vocab_size=len(tokenizer), **{**SIZES, **settings})
            model = getattr(transformers, family + head)(config).eval()
            random_models.randomise(model, 3, 1.5)
        model.save_pretrained(str(directory))
        tokenizer.save_pretrained(str(directory))
        return directory

    def vectors(self, directory: Path, role: str, *arguments) -> list[np.ndarray]:
        answers = self.infer(directory, "--task", "multi-vector", "--role", role, *arguments,
                             inputs=TEXTS)
        return [np.array(answer["vectors"]) for answer in answers]

    def compare_vectors(self, directory: Path) -> MultiVectorEncoder:
        model = MultiVectorEncoder(str(directory), device="cpu")
        expected = {"query": model.encode_query(TEXTS), "document": model.encode_document(TEXTS)}
        for role, rows in expected.items():
            for found, wanted in zip(self.vectors(directory, role), rows, strict=True):
                self.assertEqual(found.shape, tuple(wanted.shape), role)
                self.assert_close(found, wanted, 2e-5)
        scores = np.diag(model.similarity(model.encode_query([a for a, _ in PAIRS]),
                                          model.encode_document([b for _, b in PAIRS])))
        found = self.infer(directory, "--task", "similarity", inputs=PAIRS)
        self.assert_close([answer["similarity"] for answer in found], scores, 5e-4)
        return model

    def test_splade(self):
        for family in ("bert", "distilbert", "xlm-roberta", "ModernBert"):
            for pooling, function in (("max", "relu"), ("sum", "log1p_relu")):
                with self.subTest(f"{family} {pooling} {function}"):
                    encoder = Transformer(str(self.saved(family, "ForMaskedLM")),
                                          transformer_task="fill-mask")
                    directory = random_models.fresh(self.dir / "splade")
                    model = SparseEncoder(modules=[encoder, SpladePooling(pooling, function)],
                                          device="cpu")
                    model.save_pretrained(str(directory))
                    self.compare_sparse(directory, model.encode(TEXTS).to_dense().numpy())

    def compare_sparse(self, directory: Path, expected: np.ndarray):
        answers = self.infer(directory, "--task", "sparse", inputs=TEXTS)
        for answer, wanted in zip(answers, expected, strict=True):
            found = np.zeros(len(wanted))
            weights = [entry["weight"] for entry in answer["sparse"]]
            self.assertEqual(weights, sorted(weights, reverse=True))
            found[[entry["id"] for entry in answer["sparse"]]] = weights
            self.assert_close(found, wanted, 1e-5 * max(1, np.abs(wanted).max()))
        few = self.infer(directory, "--task", "sparse", "--top-k", 3, inputs=TEXTS)
        for answer, best in zip(answers, few):
            self.assertEqual(answer["sparse"][:3], best["sparse"])

    def test_router(self):
        """Documents by SPLADE, queries by a table of weights: as in opensearch-neural-sparse-encoding-doc-v3."""
        encoder = Transformer(str(self.saved("distilbert", "ForMaskedLM")), transformer_task="fill-mask")
        weight = torch.rand(len(encoder.tokenizer), generator=torch.Generator().manual_seed(5)) * 3
        table = SparseStaticEmbedding(tokenizer=encoder.tokenizer, weight=weight.where(weight > 0.5, 0.0))
        router = Router.for_query_document([table], [encoder, SpladePooling(activation_function="log1p_relu")])
        directory = random_models.fresh(self.dir / "router")
        SparseEncoder(modules=[router], device="cpu", similarity_fn_name="dot",
                      prompts={"query": "find: "}).save_pretrained(str(directory))
        model = SparseEncoder(str(directory), device="cpu")
        documents = model.encode_document(TEXTS)
        self.compare_sparse(directory, documents.to_dense().numpy())
        for query in TEXTS:
            scores = model.similarity(model.encode_query([query]), documents)[0].numpy()
            found = self.infer(directory, "--task", "rank", "--query", query, inputs=TEXTS)
            self.assert_close([answer["score"] for answer in sorted(found, key=lambda answer: answer["index"])],
                              scores, 1e-5 * max(1, np.abs(scores).max()))

    def test_splade_similarity(self):
        encoder = Transformer(str(self.saved("bert", "ForMaskedLM")), transformer_task="fill-mask")
        directory = random_models.fresh(self.dir / "splade")
        model = SparseEncoder(modules=[encoder, SpladePooling()], device="cpu")
        model.save_pretrained(str(directory))
        found = self.infer(directory, "--task", "similarity", inputs=PAIRS)
        rows = [model.encode([text for text in side]) for side in zip(*PAIRS)]
        scores = np.diag(model.similarity(*rows))
        np.testing.assert_allclose([answer["similarity"] for answer in found], scores, rtol=1e-5)

    def encoder(self, directory: Path, modules: list, **options) -> Path:
        target = random_models.fresh(self.dir / "multi-vector")
        MultiVectorEncoder(modules=[Transformer(str(directory), **options), *modules],
                           device="cpu", prompts={"query": "the query: ", "passage": "text: "},
                           ).save_pretrained(str(target))
        return target

    def test_multi_vector_encoders(self):
        torch.manual_seed(1)
        token = {"module_input_name": "token_embeddings"}
        identity = torch.nn.Identity()
        dense = [Dense(39, 24, activation_function=torch.nn.Tanh(), **token),
                 Dense(24, 24, bias=False, activation_function=identity, use_residual=True, **token),
                 Dense(24, 16, activation_function=identity, use_residual=True, **token)]
        punctuation = list(string.punctuation)
        expansions = [None, {"strategy": "fixed", "length": 32},
                      {"strategy": "fixed", "length": 20, "attend": True},
                      {"strategy": "min", "length": 24, "token": "the"}]
        for i, expansion in enumerate(expansions):
            with self.subTest(str(expansion)):
                sides = ["document", "query"][:1 + i % 2]
                modules = [*dense, MultiVectorMask(punctuation, skiplist_tasks=sides)]
                if i % 2 == 0:
                    modules.append(Normalize(**token))
                self.compare_vectors(self.encoder(
                    self.saved("bert", "Model"), modules, query_expansion=expansion,
                    query_length=None if i == 1 else 40, document_length=50 if i else None))

    def test_every_kind_of_position(self):
        expansion = {"strategy": "fixed", "length": 32}
        kinds = [("bert", {"position_embedding_type": "absolute"}), ("xlm-roberta", {}),
                 ("roberta", {}), ("mpnet", {}), ("ModernBert", {"local_attention": 64}),
                 ("DebertaV2", {"relative_attention": True, "pos_att_type": "p2c|c2p",
                                "position_buckets": 32, "share_att_key": True,
                                "position_biased_input": False, "type_vocab_size": 0})]
        for family, settings in kinds:
            with self.subTest(family):
                directory = self.saved(family, "Model", **settings)
                width = json.loads((directory / "config.json").read_text())["hidden_size"]
                modules = [Dense(width, 16, bias=False, activation_function=torch.nn.Identity(),
                                 module_input_name="token_embeddings"),
                           MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
                if family == "DebertaV2":  # zeroes what is not attended to
                    expansion["attend"] = True
                self.compare_vectors(self.encoder(directory, modules, query_expansion=expansion))

    def test_pylate(self):
        for settings in ({}, {"attend_to_expansion_tokens": True, "query_length": 24},
                         {"do_query_expansion": False, "skiplist_words": ["the", "zzz"],
                          "document_length": 20}):
            with self.subTest(str(settings)):
                directory = self.saved("bert", "Model")
                tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
                tokenizer.add_tokens(["[Q] ", "[D] "])
                tokenizer.save_pretrained(str(directory))
                model = transformers.AutoModel.from_pretrained(str(directory))
                model.resize_token_embeddings(len(tokenizer))
                model.save_pretrained(str(directory))
                (directory / "1_Dense").mkdir()
                Dense(39, 16, bias=False, activation_function=torch.nn.Identity()).save(
                    str(directory / "1_Dense"))
                (directory / "1_Dense" / "config.json").write_text(json.dumps(
                    {"in_features": 39, "out_features": 16, "bias": False,
                     "activation_function": "torch.nn.modules.linear.Identity"}))
                modules = [{"idx": 0, "name": "0", "path": "",
                            "type": "sentence_transformers.models.Transformer"},
                           {"idx": 1, "name": "1", "path": "1_Dense",
                            "type": "pylate.models.Dense.Dense"}]
                (directory / "modules.json").write_text(json.dumps(modules))
                (directory / "sentence_bert_config.json").write_text(
                    json.dumps({"max_seq_length": 179, "do_lower_case": False}))
                (directory / "config_sentence_transformers.json").write_text(json.dumps(
                    {"model_type": "ColBERT", "prompts": {}, "similarity_fn_name": "MaxSim",
                     "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 32,
                     "document_length": 180, "attend_to_expansion_tokens": False,
                     "skiplist_words": list(string.punctuation), "do_query_expansion": True,
                     **settings}))
                self.compare_vectors(directory)

    def test_stanford(self):
        for metadata in (None, {"query_maxlen": 20, "doc_maxlen": 30, "mask_punctuation": False,
                                "attend_to_mask_tokens": False, "query_token_id": "the",
                                "doc_token_id": "a"}):
            with self.subTest(str(metadata)):
                directory = self.saved("bert", "Model")
                weights = {"bert." + name: tensor for name, tensor in
                           load_file(str(directory / "model.safetensors")).items()}
                weights["linear.weight"] = torch.randn(16, 39)
                save_file(weights, str(directory / "model.safetensors"), {"format": "pt"})
                config = json.loads((directory / "config.json").read_text())
                config["architectures"] = ["HF_ColBERT"]
                (directory / "config.json").write_text(json.dumps(config))
                if metadata:
                    (directory / "artifact.metadata").write_text(json.dumps(metadata))
                else:  # the markers that its tokenizers have
                    text = (directory / "tokenizer.json").read_text()
                    for name, unused in (("the", "[unused0]"), ("a", "[unused1]")):
                        text = text.replace(f'"{name}": ', f'"{unused}": ', 1)
                    (directory / "tokenizer.json").write_text(text)
                self.compare_vectors(directory)

    def test_bge_m3(self):
        directory = self.saved("xlm-roberta", "Model")
        torch.manual_seed(2)
        sparse, colbert = torch.nn.Linear(39, 1), torch.nn.Linear(39, 21)
        torch.save(sparse.state_dict(), directory / "sparse_linear.pt")
        torch.save(colbert.state_dict(), directory / "colbert_linear.pt")
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
        model = transformers.AutoModel.from_pretrained(str(directory)).eval()
        ignored = [tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id,
                   tokenizer.unk_token_id]
        weights, vectors, means = [], [], []
        for text in TEXTS:
            encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=280)
            with torch.no_grad():
                states = model(**encoded).last_hidden_state[0]
                means.append(states.mean(0))
                each = torch.relu(sparse(states))[:, 0]
                row = torch.zeros(len(tokenizer)).scatter_reduce(
                    0, encoded["input_ids"][0], each, "amax")
                row[ignored] = 0
                weights.append(row.numpy())
                vectors.append(torch.nn.functional.normalize(colbert(states[1:]), dim=-1))
        self.compare_sparse(directory, np.array(weights))
        for role in ("query", "document"):
            for found, wanted in zip(self.vectors(directory, role), vectors, strict=True):
                self.assert_close(found, wanted, 2e-5)
        dense = self.infer(directory, "--task", "embed", inputs=TEXTS)
        for row, mean in zip(dense, means, strict=True):  # no modules.json says otherwise
            self.assert_close(row["embedding"], mean, 2e-5)


if __name__ == "__main__":
    judge.main()
