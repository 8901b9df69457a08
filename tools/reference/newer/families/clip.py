# SPDX-License-Identifier: Apache-2.0
"""CLIP's encoder of texts in float64, written from Radford et al. 2021 and the published code, in its names; and random
models of it for models.py."""
import argparse

import numpy as np

from newer.config import NewerConfig
from newer.encoders import attend, split
from newer.tensors import Tensors, activation


def clip(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    act = activation(config.get("hidden_act", "quick_gelu"))
    x = t["embeddings.token_embedding.weight"][ids] + t["embeddings.position_embedding.weight"][:len(ids)]
    stages = [x]
    for i in range(config.layers):
        p = f"encoder.layers.{i}."
        normed = t.norm(x, p + "layer_norm1")
        qkv = [split(t.linear(normed, f"{p}self_attn.{name}_proj"), config.heads) for name in "qkv"]
        x = x + t.linear(attend(t.keys, *qkv, causal=True), p + "self_attn.out_proj")
        x = x + t.linear(act(t.linear(t.norm(x, p + "layer_norm2"), p + "mlp.fc1")), p + "mlp.fc2")
        stages.append(x)
    stages[-1] = t.norm(x, "final_layer_norm")
    return stages


def text_embedding(config: NewerConfig, t: Tensors, ids: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Of the first end of text, which in older files is the highest id."""
    end = config.get("eos_token_id", 49407)
    row = x[np.argmax(ids) if end == 2 else np.argmax(ids == end)][None]
    return {"embedding": row if config.architecture == "CLIPTextModel" else t.linear(row, "text_projection")}


def random_config(args: argparse.Namespace, end: int) -> dict:
    layers, hidden, heads, intermediate = args.shape
    return {"hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers,
            "intermediate_size": intermediate, "max_position_embeddings": args.positions, "hidden_act": "quick_gelu",
            "layer_norm_eps": 1e-5, "projection_dim": hidden // 2 + 1, "eos_token_id": end}


def with_images(text: dict) -> dict:
    """A CLIPModel's config.json, of which the part for images is as small as can be."""
    top = {"architectures": ["CLIPModel"], "model_type": "clip", "projection_dim": text["projection_dim"],
           "logit_scale_init_value": 2.6592, "initializer_factor": 1.0, "text_config_dict": None,
           "vision_config": {"hidden_size": 4, "model_type": "clip_vision_model"}}
    return top | {"text_config": {key: value for key, value in text.items() if key != "architectures"} | {
        "model_type": "clip_text_model", "projection_dim": 512}}  # the default, which counts for nothing here


def random_weights(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, _, intermediate = args.shape
    p = "text_model."
    w.add(p + "embeddings.token_embedding.weight", (vocab, hidden), 0.5)
    w.add(p + "embeddings.position_embedding.weight", (args.positions, hidden), 0.3)
    for i in range(layers):
        layer = f"{p}encoder.layers.{i}."
        for name in "qkv":
            w.dense(f"{layer}self_attn.{name}_proj", hidden, hidden, 1.2)
        w.dense(layer + "self_attn.out_proj", hidden, hidden, 1)
        w.dense(layer + "mlp.fc1", intermediate, hidden, 1.5)
        w.dense(layer + "mlp.fc2", hidden, intermediate, 0.8)
        for name in ("layer_norm1", "layer_norm2"):
            w.norm(layer + name, hidden)
    w.norm(p + "final_layer_norm", hidden)
    if c["architectures"] != ["CLIPTextModel"]:
        w.dense("text_projection", c["projection_dim"], hidden, 1, False)
    if c["model_type"] == "clip":
        w.add("logit_scale", (), 1)
        w.dense("visual_projection", c["projection_dim"], 4, 1, False)
        w.norm("vision_model.pre_layrnorm", 4)
