# SPDX-License-Identifier: Apache-2.0
"""MobileBERT in float64, written from Sun et al. 2020 and the published code, in its names; and random models of it for
models.py."""
import argparse

import numpy as np

from newer.config import NewerConfig
from newer.encoders import attend, split
from newer.tensors import Tensors, activation

WORDS = "embeddings.word_embeddings.weight"


def mobile_bert(config: NewerConfig, t: Tensors, ids: np.ndarray, types: np.ndarray) -> list[np.ndarray]:
    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x * t[name + ".LayerNorm.weight"] + t[name + ".LayerNorm.bias"]

    act = activation(config.get("hidden_act", "relu"))
    words = t[WORDS][ids]
    end = np.zeros_like(words[:1])
    trigrams = np.concatenate([np.concatenate([words[1:], end]), words, np.concatenate([end, words[:-1]])], 1)
    x = t.linear(trigrams, "embeddings.embedding_transformation")
    x = x + t["embeddings.position_embeddings.weight"][:len(ids)] + t["embeddings.token_type_embeddings.weight"][types]
    stages = [norm(x, "embeddings")]
    for i in range(config.layers):
        x, p = stages[-1], f"encoder.layer.{i}."
        inner = norm(t.linear(x, p + "bottleneck.input.dense"), p + "bottleneck.input")
        shared = norm(t.linear(x, p + "bottleneck.attention.dense"), p + "bottleneck.attention")
        q, k, v = (split(t.linear(of, f"{p}attention.self.{name}"), config.heads)
                   for of, name in ((shared, "query"), (shared, "key"), (x, "value")))
        dense = t.linear(attend(t.keys, q, k, v), p + "attention.output.dense")
        inner = norm(inner + dense, p + "attention.output")
        for network in [f"{p}ffn.{j}." for j in range(config.get("num_feedforward_networks", 4) - 1)] + [p]:
            wide = act(t.linear(inner, network + "intermediate.dense"))
            inner = norm(inner + t.linear(wide, network + "output.dense"), network + "output")
        stages.append(norm(x + t.linear(inner, p + "output.bottleneck.dense"), p + "output.bottleneck"))
    return stages


def scores(config: NewerConfig, t: Tensors, _, x: np.ndarray) -> dict[str, np.ndarray]:
    head, stages = config.architecture.removeprefix("MobileBert"), {}
    first = x[:1]
    if "pooler.dense.weight" in t:
        first = stages["pooler"] = np.tanh(t.linear(first, "pooler.dense"))
    if head in ("ForMaskedLM", "ForPreTraining"):
        p = "cls.predictions."
        act = activation(config.get("hidden_act", "relu"))
        rows = t.norm(act(t.linear(x, p + "transform.dense")), p + "transform.LayerNorm")
        decoder = t[p + "decoder.weight"] if p + "decoder.weight" in t else t[WORDS]
        stages["logits"] = rows @ np.concatenate([decoder.T, t[p + "dense.weight"]]) + t[p + "bias"]
    if head in ("ForPreTraining", "ForNextSentencePrediction"):
        name = "next_sentence" if head == "ForPreTraining" else "logits"
        stages[name] = t.linear(first, "cls.seq_relationship")
    if head == "ForQuestionAnswering":
        stages["logits"] = t.linear(x, "qa_outputs")
    if head in ("ForSequenceClassification", "ForMultipleChoice", "ForTokenClassification"):
        stages["logits"] = t.linear(x if head == "ForTokenClassification" else first, "classifier")
    return stages


def random_config(args: argparse.Namespace) -> dict:
    return {"hidden_act": "relu", "layer_norm_eps": 1e-12, "type_vocab_size": 2, "embedding_size": 20,
            "trigram_input": True, "use_bottleneck": True, "intra_bottleneck_size": args.shape[1] // 2,
            "true_hidden_size": args.shape[1] // 2, "use_bottleneck_attention": False,
            "key_query_shared_bottleneck": True, "num_feedforward_networks": 3, "normalization_type": "no_norm",
            "classifier_activation": args.head in ("none", "classification", "choice", "pretraining")}


def random_weights(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, _, intermediate = args.shape
    p, width, inner = "mobilebert.", c["embedding_size"], c["intra_bottleneck_size"]
    w.add(p + WORDS, (vocab, width), 0.5)
    w.dense(p + "embeddings.embedding_transformation", hidden, 3 * width, 1)
    w.add(p + "embeddings.position_embeddings.weight", (args.positions, hidden), 0.3)
    w.add(p + "embeddings.token_type_embeddings.weight", (c["type_vocab_size"], hidden), 0.3)
    w.norm(p + "embeddings.LayerNorm", hidden)
    for i in range(layers):
        layer = f"{p}encoder.layer.{i}."
        for name in ("input", "attention"):
            w.dense(f"{layer}bottleneck.{name}.dense", inner, hidden, 1)
            w.norm(f"{layer}bottleneck.{name}.LayerNorm", inner)
        for name, columns in (("query", inner), ("key", inner), ("value", hidden)):
            w.dense(f"{layer}attention.self.{name}", inner, columns, 1.2)
        w.dense(layer + "attention.output.dense", inner, inner, 0.7)
        w.norm(layer + "attention.output.LayerNorm", inner)
        for j in range(c["num_feedforward_networks"]):
            network = layer if j == 0 else f"{layer}ffn.{j - 1}."
            w.dense(network + "intermediate.dense", intermediate, inner, 1)
            w.dense(network + "output.dense", inner, intermediate, 0.5)
            w.norm(network + "output.LayerNorm", inner)
        w.dense(layer + "output.bottleneck.dense", hidden, inner, 0.5)
        w.norm(layer + "output.bottleneck.LayerNorm", hidden)


def random_head(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    hidden, head = args.shape[1], args.head
    if c["classifier_activation"]:
        w.dense("mobilebert.pooler.dense", hidden, hidden, 1)
    if head in ("mlm", "pretraining"):
        w.dense("cls.predictions.transform.dense", hidden, hidden, 1)
        w.norm("cls.predictions.transform.LayerNorm", hidden)
        w.add("cls.predictions.dense.weight", (hidden - c["embedding_size"], vocab), 0.3)
        w.add("cls.predictions.bias", (vocab,), 0.1)
    if head in ("nsp", "pretraining"):
        w.dense("cls.seq_relationship", 2, hidden, 2)
    columns = {"classification": args.labels, "tokens": args.labels, "choice": 1, "qa": 2}.get(head)
    if columns:
        w.dense("qa_outputs" if head == "qa" else "classifier", columns, hidden, 2)
