# SPDX-License-Identifier: Apache-2.0
"""Random EmbeddingGemma 2 encoders, for models.py: the part for texts, as a model of its own."""
import argparse


def config(args: argparse.Namespace) -> dict:
    layers, hidden, heads, _ = args.shape
    size, rope = hidden // heads, {"rope_type": "default"}
    types = ["full_attention" if i % 3 == 1 or i + 1 == layers else "sliding_attention" for i in range(layers)]
    return {"hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "attention_bias": False,
            "head_dim": size, "num_key_value_heads": heads, "sliding_window": 6, "layer_types": types,
            "per_layer_config": {f"{i:02}": {"head_dim": 2 * size, "num_key_value_heads": 1}
                                 for i, kind in enumerate(types) if kind == "full_attention"},
            "rope_parameters": {"full_attention": rope | {"rope_theta": 1e6},
                                "sliding_attention": rope | {"rope_theta": 1e4}},
            "hidden_size_per_layer_input": 20, "embedding_dim": 40}


def encoder(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, heads, intermediate = args.shape
    width, p = c["hidden_size_per_layer_input"], "model."
    gains = lambda name, columns: w.add(name + ".weight", (columns,), 0.1, 1)  # noqa: E731
    w.add(p + "embed_tokens.weight", (vocab, hidden), 0.1)
    for i in range(layers):
        layer = f"{p}layers.{i}."
        of = c | c["per_layer_config"].get(f"{i:02}", {})
        inside, shared = heads * of["head_dim"], of["num_key_value_heads"] * of["head_dim"]
        for name, rows, columns in (("q", inside, hidden), ("k", shared, hidden), ("v", shared, hidden),
                                    ("o", hidden, inside)):
            w.dense(f"{layer}self_attn.{name}_proj", rows, columns, 1, c["attention_bias"])
        for name in "qk":  # scores are not scaled
            w.add(f"{layer}self_attn.{name}_norm.weight", (of["head_dim"],), 0.05, of["head_dim"] ** -0.25)
        for name in ("gate", "up"):
            w.dense(f"{layer}mlp.{name}_proj", intermediate, hidden, 1, False)
        w.dense(layer + "mlp.down_proj", hidden, intermediate, 1, False)
        for name in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                     "post_feedforward_layernorm", "ple_block.post_per_layer_input_norm"):
            w.add(layer + name + ".weight", (hidden,), 0.1, 0.4 if "post_" in name else 1)
        w.dense(layer + "ple_block.per_layer_input_gate", width, hidden, 1, False)
        w.dense(layer + "ple_block.per_layer_projection", hidden, width, 1, False)
        w.add(layer + "layer_scalar", (1,), 0.1, 0.8)
    w.dense(p + "ple.per_layer_model_projection", layers * width, hidden, 1, False)
    gains(p + "ple.per_layer_projection_norm", width)
    gains(p + "norm", hidden)
    w.dense(p + "embedding_projection", c["embedding_dim"], hidden, 1, False)
