# SPDX-License-Identifier: Apache-2.0
"""BART in float64, encoder and decoder, written from Lewis et al. 2020 and the published code, in its names; and
random models of it for models.py."""
import argparse

import numpy as np

from newer.config import NewerConfig
from newer.encoders import attend, split
from newer.tensors import Tensors, activation


def bart(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    act, words = activation(config.get("activation_function", "gelu")), t["shared.weight"]
    before = np.concatenate([[config.get("decoder_start_token_id", 2)], ids[:-1]])
    stages, encoded = [], None
    for part, tokens in (("encoder", ids), ("decoder", before)):
        x = words[tokens] + t[part + ".embed_positions.weight"][2:2 + len(ids)]
        x = t.norm(x, part + ".layernorm_embedding")
        if part == "encoder":
            stages.append(x)
        for i in range(config.get(part + "_layers")):
            p = f"{part}.layers.{i}."

            def attention(name: str, query: np.ndarray, key: np.ndarray, causal: bool) -> np.ndarray:
                of = [split(t.linear(y, f"{p}{name}.{which}_proj"), config.heads)
                      for which, y in zip("qkv", (query, key, key))]
                context = attend(t.keys, *of, causal=causal)
                return t.norm(query + t.linear(context, f"{p}{name}.out_proj"), f"{p}{name}_layer_norm")

            x = attention("self_attn", x, x, part == "decoder")
            if part == "decoder":
                x = attention("encoder_attn", x, encoded, False)
            x = t.norm(x + t.linear(act(t.linear(x, p + "fc1")), p + "fc2"), p + "final_layer_norm")
            stages.append(x)
        encoded = x
    return stages


def scores(config: NewerConfig, t: Tensors, ids: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    head = config.architecture.removeprefix("Bart")
    if head == "Model":
        return {}
    if head == "ForConditionalGeneration":
        return {"logits": x @ t["shared.weight"].T + t["final_logits_bias"]}
    if head == "ForQuestionAnswering":
        return {"logits": t.linear(x, "qa_outputs")}
    last = np.flatnonzero(ids == config.get("eos_token_id", 2))[-1]
    inner = np.tanh(t.linear(x[last:last + 1], "classification_head.dense"))
    return {"logits": t.linear(inner, "classification_head.out_proj")}


def random_config(args: argparse.Namespace, end: int) -> dict:
    layers, hidden, heads, intermediate = args.shape
    parts = {f"{part}_{name}": value for part in ("encoder", "decoder") for name, value in (
        ("layers", layers), ("attention_heads", heads), ("ffn_dim", intermediate))}
    return parts | {"d_model": hidden, "activation_function": "gelu", "max_position_embeddings": args.positions,
                    "decoder_start_token_id": end, "eos_token_id": end, "is_encoder_decoder": True,
                    "num_hidden_layers": layers, "scale_embedding": False, "forced_eos_token_id": end}


def random_weights(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    _, hidden, _, intermediate = args.shape
    w.add("model.shared.weight", (vocab, hidden), 0.1)
    for part in ("encoder", "decoder"):
        p = f"model.{part}."
        w.add(p + "embed_positions.weight", (args.positions + 2, hidden), 0.05)
        w.norm(p + "layernorm_embedding", hidden)
        for i in range(c[part + "_layers"]):
            layer = f"{p}layers.{i}."
            for name in ("self_attn", "encoder_attn") if part == "decoder" else ("self_attn",):
                for which in "qkv":
                    w.dense(f"{layer}{name}.{which}_proj", hidden, hidden, 1.3 if which != "v" else 1)
                w.dense(f"{layer}{name}.out_proj", hidden, hidden, 1)
                w.norm(f"{layer}{name}_layer_norm", hidden)
            w.dense(layer + "fc1", intermediate, hidden, 1.5)
            w.dense(layer + "fc2", hidden, intermediate, 0.8)
            w.norm(layer + "final_layer_norm", hidden)


def random_head(w, args: argparse.Namespace, vocab: int) -> None:
    hidden = args.shape[1]
    if args.head == "mlm":
        w.add("final_logits_bias", (1, vocab), 0.1)
    elif args.head == "qa":
        w.dense("qa_outputs", 2, hidden, 2)
    elif args.head == "classification":
        w.dense("classification_head.dense", hidden, hidden, 1)
        w.dense("classification_head.out_proj", args.labels, hidden, 2)
