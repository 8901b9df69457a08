# SPDX-License-Identifier: Apache-2.0
"""OpenAI's Privacy Filter in float64, written from the gpt-oss model card (OpenAI 2025) and the published code, in its
names; and random models of it for models.py."""
import argparse

import numpy as np

from newer.config import NewerConfig
from newer.encoders import distances, join
from newer.language_models import projections, rms_norm, rotate_neighbours, yarn
from newer.tensors import Tensors, softmax


def attend(t: Tensors, q: np.ndarray, k: np.ndarray, v: np.ndarray, sinks: np.ndarray, reach: int) -> np.ndarray:
    """[S, H] from [A, S, D]. Each head's sink is one more score, whose share goes nowhere."""
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    near = np.abs(distances(q.shape[1])) <= reach
    near[:, t.keys:] = False
    scores = np.where(near, scores, -np.inf)
    all_scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], (*scores.shape[:2], 1))], 2)
    return join(softmax(all_scores)[..., :-1] @ v)


def experts(config: NewerConfig, t: Tensors, x: np.ndarray, p: str) -> np.ndarray:
    """Of each token, the outputs of the networks with the highest scores, by the softmax of these alone."""
    out, limit = np.zeros_like(x), config.get("swiglu_limit", 7.0)
    scores = t.linear(x, p + "router")
    weights = {name: t[p + "experts." + name] for name in ("gate_up_proj", "gate_up_proj_bias", "down_proj",
                                                           "down_proj_bias")}
    for token, row in enumerate(scores):
        chosen = np.argsort(-row)[:config.get("num_experts_per_tok")]
        for share, network in zip(softmax(row[chosen]), chosen):
            both = x[token] @ weights["gate_up_proj"][network] + weights["gate_up_proj_bias"][network]
            gate, up = np.split(both, 2)
            gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
            inner = gate / (1 + np.exp(-1.702 * gate)) * (up + 1)
            out[token] += share * (inner @ weights["down_proj"][network] + weights["down_proj_bias"][network])
    return out


def privacy_filter(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    rope = config.get("rope_parameters")
    inv_freq, gain = yarn(rope, rope.get("rope_theta", 150000.0), config.get("head_dim"))
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    x = t["embed_tokens.weight"][ids]
    stages = [x]
    for i in range(config.layers):
        p = f"layers.{i}."
        q, k, v = projections(config, t, norm(x, p + "input_layernorm"), p + "self_attn.")
        q, k = gain * rotate_neighbours(q, inv_freq), gain * rotate_neighbours(k, inv_freq)
        context = attend(t, q, k, v, t[p + "self_attn.sinks"], config.get("sliding_window"))
        x = x + t.linear(context, p + "self_attn.o_proj")
        x = x + experts(config, t, norm(x, p + "post_attention_layernorm"), p + "mlp.")
        stages.append(x)
    stages[-1] = norm(x, "norm")
    return stages


def random_config(args: argparse.Namespace) -> dict:
    _, hidden, heads, _ = args.shape
    return {"head_dim": hidden // heads + 2, "num_key_value_heads": heads // 2, "sliding_window": 8,
            "attention_bias": True, "rms_norm_eps": 1e-5, "num_local_experts": 6, "num_experts_per_tok": 3,
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 8.0, "beta_fast": 4.0,
                                "beta_slow": 1.0, "truncate": False, "original_max_position_embeddings": 64},
            "swiglu_limit": 1.5, "default_n_ctx": args.positions, "initial_context_length": 64,
            "output_router_logits": False, "router_aux_loss_coef": 0.001, "tie_word_embeddings": False}


def random_weights(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, heads, intermediate = args.shape
    inside, shared = heads * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    count, p = c["num_local_experts"], "model."
    gains = lambda name: w.add(name + ".weight", (hidden,), 0.1, 1)  # noqa: E731
    w.add(p + "embed_tokens.weight", (vocab, hidden), 0.5)
    for i in range(layers):
        layer = f"{p}layers.{i}."
        for name, rows, columns in (("q", inside, hidden), ("k", shared, hidden), ("v", shared, hidden),
                                    ("o", hidden, inside)):
            w.dense(f"{layer}self_attn.{name}_proj", rows, columns, 1.2, c["attention_bias"])
        w.add(layer + "self_attn.sinks", (heads,), 1)
        gains(layer + "input_layernorm")
        gains(layer + "post_attention_layernorm")
        w.dense(layer + "mlp.router", count, hidden, 2)
        networks = layer + "mlp.experts."
        w.add(networks + "gate_up_proj", (count, hidden, 2 * intermediate), 1.5 / hidden**0.5)
        w.add(networks + "gate_up_proj_bias", (count, 2 * intermediate), 0.3)
        w.add(networks + "down_proj", (count, intermediate, hidden), 1 / intermediate**0.5)
        w.add(networks + "down_proj_bias", (count, hidden), 0.3)
    gains(p + "norm")
