# SPDX-License-Identifier: Apache-2.0
"""Random ESM, ESM C, NeoBERT, LFM2 and EmbeddingGemma 2 encoders, for models.py, with every tensor that the published files
have; the last is the part for texts, as a model of its own."""
import argparse

import numpy as np


def esm_config() -> dict:
    return {"pad_token_id": 1, "mask_token_id": 32, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
            "position_embedding_type": "rotary", "token_dropout": True, "emb_layer_norm_before": False,
            "is_folding_model": False, "esmfold_config": None, "vocab_list": None}


def esm(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, heads, intermediate = args.shape
    p = "esm."
    w.add(p + "embeddings.word_embeddings.weight", (vocab, hidden), 0.1)
    # Even if it is unused, because positions are rotary.
    w.add(p + "embeddings.position_embeddings.weight", (args.positions, hidden), 0.05)
    if c["emb_layer_norm_before"]:
        w.norm(p + "embeddings.layer_norm", hidden)
    for i in range(layers):
        layer = f"{p}encoder.layer.{i}."
        for name in ("query", "key", "value"):
            w.dense(f"{layer}attention.self.{name}", hidden, hidden, 1.2)
        if c["position_embedding_type"] == "rotary":  # in half precision, as the models were trained
            exponents = np.arange(0, hidden // heads, 2) / (hidden // heads)
            rounded = (10000.0 ** -exponents).astype(np.float16).astype(np.float32)
            w.tensors[layer + "attention.self.rotary_embeddings.inv_freq"] = rounded
        w.dense(layer + "attention.output.dense", hidden, hidden, 1)
        w.norm(layer + "attention.LayerNorm", hidden)
        w.dense(layer + "intermediate.dense", intermediate, hidden, 1.5)
        w.dense(layer + "output.dense", hidden, intermediate, 0.8)
        w.norm(layer + "LayerNorm", hidden)
    w.norm(p + "encoder.emb_layer_norm_after", hidden)
    w.dense(p + "contact_head.regression", 1, layers * heads, 1)


def esm_c_config() -> dict:
    return {"pad_token_id": 1, "mask_token_id": 32, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
            "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": False}


def esm_c(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, _, intermediate = args.shape
    p = "esmc."
    w.add(p + "embed_tokens.weight", (vocab, hidden), 0.5)
    for i in range(layers):
        layer, gain = f"{p}layers.{i}.", (layers / 36)**0.5  # which the layers divide by
        for name in "qkv":
            w.dense(f"{layer}self_attn.{name}_proj", hidden, hidden, 1.2, c["attention_bias"])
        for name in "qk":
            w.norm(f"{layer}self_attn.{name}_norm", hidden, False)
        w.dense(layer + "self_attn.o_proj", hidden, hidden, gain, c["attention_bias"])
        for name in ("gate", "up"):
            w.dense(f"{layer}mlp.{name}_proj", intermediate, hidden, 1, c["mlp_bias"])
        w.dense(layer + "mlp.down_proj", hidden, intermediate, gain, c["mlp_bias"])
        for name in ("input_layernorm", "post_attention_layernorm"):
            w.norm(layer + name, hidden)
    w.norm(p + "norm", hidden, False)


def neo_bert_config(hidden: int, heads: int) -> dict:
    return {"norm_eps": 1e-5, "dim_head": hidden // heads, "classifier_init_range": 0.02,
            "decoder_init_range": 0.02, "embedding_init_range": 0.02, "kwargs": {"trust_remote_code": True},
            "pretrained_model_name_or_path": "google-bert/bert-base-uncased", "trust_remote_code": True}


def neo_bert(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, _, intermediate = args.shape
    p, wide = "model.", -(-int(2 * intermediate / 3) // 8) * 8
    w.add(p + "encoder.weight", (vocab, hidden), 0.1)
    for i in range(layers):
        layer = f"{p}transformer_encoder.{i}."
        w.dense(layer + "qkv", 3 * hidden, hidden, 1.2, False)
        w.dense(layer + "wo", hidden, hidden, 1, False)
        w.dense(layer + "ffn.w12", 2 * wide, hidden, 1, False)
        w.dense(layer + "ffn.w3", hidden, wide, 1, False)
        for name in ("attention_norm", "ffn_norm"):
            w.norm(layer + name, hidden, False)
    w.norm(p + "layer_norm", hidden, False)


def gemma_2_config(args: argparse.Namespace) -> dict:
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


def gemma_2(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
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


def lfm2_config(args: argparse.Namespace) -> dict:
    _, hidden, heads, intermediate = args.shape
    return {"head_dim": hidden // heads, "num_key_value_heads": heads // 2, "norm_eps": 1e-5, "conv_L_cache": 3,
            "conv_bias": False, "block_auto_adjust_ff_dim": True, "block_ff_dim": intermediate,
            "block_ffn_dim_multiplier": 1.1, "block_multiple_of": 6, "full_attn_idxs": [1, 3], "rope_theta": 1e6,
            "tie_word_embeddings": True, "use_pos_enc": True, "num_heads": heads, "conv_dim": hidden}


def lfm2(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    layers, hidden, heads, _ = args.shape
    p, wide = "lfm2." if c["architectures"][0].endswith("ForMaskedLM") else "model.", c["block_ff_dim"]
    if c["block_auto_adjust_ff_dim"]:
        wide = int(c["block_ffn_dim_multiplier"] * int(2 * wide / 3))
        wide = -(-wide // c["block_multiple_of"]) * c["block_multiple_of"]
    inside, shared = heads * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    gains = lambda name, width: w.add(name + ".weight", (width,), 0.1, 1)  # noqa: E731
    w.add(p + "embed_tokens.weight", (vocab, hidden), 0.12)
    for i in range(layers):
        layer = f"{p}layers.{i}."
        if i in c["full_attn_idxs"]:
            for name, rows in (("q", inside), ("k", shared), ("v", shared)):
                w.dense(f"{layer}self_attn.{name}_proj", rows, hidden, 1.2, False)
            w.dense(layer + "self_attn.out_proj", hidden, inside, 1, False)
            for name in "qk":
                gains(f"{layer}self_attn.{name}_layernorm", c["head_dim"])
        else:
            w.dense(layer + "conv.in_proj", 3 * hidden, hidden, 0.6, False)
            w.add(layer + "conv.conv.weight", (hidden, 1, c["conv_L_cache"]), 0.7)
            w.dense(layer + "conv.out_proj", hidden, hidden, 1, False)
        for name in ("operator_norm", "ffn_norm"):
            gains(layer + name, hidden)
        for name in ("w1", "w3"):
            w.dense(f"{layer}feed_forward.{name}", wide, hidden, 1, False)
        w.dense(layer + "feed_forward.w2", hidden, wide, 0.7, False)
    gains(p + "embedding_norm", hidden)


ENCODERS = {"lfm2": lfm2, "esm": esm, "esmc": esm_c, "neobert": neo_bert, "embedding-gemma2": gemma_2}
