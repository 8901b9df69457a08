# SPDX-License-Identifier: Apache-2.0
"""Random ModernBERT, NomicBert, GTE, JinaBert, Jina's XLM-RoBERTa, DeBERTa v2, EuroBERT, UltraBERT,
EmbeddingGemma, Llama, Mistral, Qwen and T5 encoders, for make_model.py; those of ESM, NeoBERT and EmbeddingGemma 2 are
in published_models.py, and BART's, CLIP's, MobileBERT's and the Privacy Filter's in families/.

config.json as the hub has it, tensors by the published code's names; --set KEY=JSON changes a field
before the tensors are made. The reference beside it has names and formulas of its own.
"""
import argparse

from model_tokenizers import vocabulary
from newer import published_models
from newer.families import bart, clip, mobile_bert, privacy_filter
from tensor_file import FormatError

# By the option --family.
CLASSES = {"modernbert": "ModernBert", "nomic": "NomicBert", "nomic-moe": "NomicBert", "nomic5": "NomicBert",
           "gte": "New", "gte5": "Gte", "jina": "JinaBert", "jina-code": "JinaBert", "deberta": "DebertaV2",
           "eurobert": "EuroBert", "gemma3": "Gemma3Text", "jina-roberta": "XLMRoberta", "jina-v3": "JinaEmbeddingsV3",
           "ultrabert": "Ultrabert", "deberta1": "Deberta", "llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2",
           "qwen3": "Qwen3", "t5": "T5", "t5-gated": "T5", "mt5": "MT5", "embedding-gemma2": "EmbeddingGemma2Text",
           "esm": "Esm", "esmc": "Esmc", "neobert": "NeoBERT", "bart": "Bart", "clip": "CLIPText",
           "clip-text": "CLIPText", "privacy-filter": "OpenAIPrivacyFilter", "lfm2": "Lfm2", "mobilebert": "MobileBert"}
T5 = ("t5", "t5-gated", "mt5")
DECODERS = ("llama", "mistral", "qwen2", "qwen3")
MODEL_TYPES = {"modernbert": "modernbert", "nomic": "nomic_bert", "nomic-moe": "nomic_bert", "nomic5": "nomic_bert",
               "gte": "new", "gte5": "gte", "jina": "bert", "jina-code": "bert", "deberta": "deberta-v2",
               "eurobert": "eurobert", "gemma3": "gemma3_text", "jina-roberta": "xlm-roberta",
               "jina-v3": "jina_embeddings_v3", "ultrabert": "ultrabert", "deberta1": "deberta", "t5": "t5",
               "t5-gated": "t5", "mt5": "mt5", "esm": "esm", "esmc": "esmc",
               "embedding-gemma2": "embedding_gemma2_text", "neobert": "neobert", "bart": "bart",
               "clip": "clip_text_model", "clip-text": "clip_text_model", "privacy-filter": "openai_privacy_filter",
               "lfm2": "lfm2", "mobilebert": "mobilebert", **{name: name for name in DECODERS}}
PREFIXES = {"modernbert": "model.", "nomic": "bert.", "nomic-moe": "bert.", "nomic5": "nomic_bert.", "gte": "new.",
            "gte5": "gte.", "jina": "bert.", "jina-code": "bert.", "deberta": "deberta.", "eurobert": "model.",
            "gemma3": "model.", "jina-roberta": "roberta.", "jina-v3": "roberta.", "ultrabert": "ultrabert.",
            "deberta1": "deberta.", "esm": "esm.", "esmc": "esmc.", "neobert": "model.", "embedding-gemma2": "model.",
            "bart": "model.", "privacy-filter": "model.", "lfm2": "model.", "mobilebert": "mobilebert.",
            "clip": "text_model.", "clip-text": "text_model.", **dict.fromkeys(DECODERS, "model."),
            "t5": "transformer.", "t5-gated": "transformer.", "mt5": "transformer."}
CODE = {"jina": "jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
        "jina-code": "jinaai/jina-bert-v2-qk-post-norm--configuration_bert.JinaBertConfig",
        "nomic": "nomic-ai/nomic-bert-2048--configuration_hf_nomic_bert.NomicBertConfig",
        "nomic-moe": "nomic-ai/nomic-bert-2048--configuration_hf_nomic_bert.NomicBertConfig",
        "gte": "Alibaba-NLP/new-impl--configuration.NewConfig",
        "jina-roberta": "jinaai/xlm-roberta-flash-implementation--configuration_xlm_roberta.XLMRobertaFlashConfig",
        "eurobert": "configuration_eurobert.EuroBertConfig", "neobert": "model.NeoBERTConfig"}


def base_config(args: argparse.Namespace, head: str, vocab: int) -> dict:
    layers, hidden, heads, intermediate = args.shape
    common = {"architectures": [CLASSES[args.family] + head], "vocab_size": vocab,
              "model_type": MODEL_TYPES[args.family], "pad_token_id": 0}
    if args.family in CODE:
        common["auto_map"] = {"AutoConfig": CODE[args.family]}
    if args.family in ("nomic", "nomic-moe"):
        moe = args.family == "nomic-moe"
        return common | ({"num_experts": 5, "moe_top_k": 2, "moe_every_n_layers": 2, "num_shared_experts": 0,
                          "moe_normalize_expert_weights": False, "expert_choice_router": False} if moe else {}) | {
            "n_embd": hidden, "n_head": heads, "n_layer": layers, "n_inner": intermediate,
            "n_positions": args.positions, "layer_norm_epsilon": 1e-12, "type_vocab_size": 1 if moe else 2,
            "activation_function": "gelu" if moe else "swiglu", "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": False, "rotary_scaling_factor": None, "prenorm": False,
            "qkv_proj_bias": moe, "mlp_fc1_bias": moe, "mlp_fc2_bias": moe,
            "pad_vocab_size_multiple": 64, "use_rms_norm": False, "parallel_block": False}
    if args.family == "bart":
        common["architectures"] = ["Bart" + {"ForMaskedLM": "ForConditionalGeneration"}.get(head, head)]
        return common | bart.random_config(args, vocabulary(vocab).index("[SEP]"))
    if args.family in ("clip", "clip-text"):
        text = common | clip.random_config(args, vocabulary(vocab).index("[SEP]"))
        return clip.with_images(text) if args.family == "clip" else text
    if args.family in T5:
        common["architectures"] = [CLASSES[args.family] + (head if head != "Model" else "EncoderModel")]
        return common | {"d_model": hidden, "d_kv": hidden // heads, "d_ff": intermediate, "num_heads": heads,
                         "num_layers": layers, "num_decoder_layers": layers, "layer_norm_epsilon": 1e-6,
                         "feed_forward_proj": "relu" if args.family == "t5" else "gated-gelu",
                         "n_positions": args.positions, "relative_attention_num_buckets": 32,
                         "relative_attention_max_distance": 128, "is_encoder_decoder": True}
    common |= {"hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers,
               "intermediate_size": intermediate}
    if args.family == "neobert":
        common["architectures"] = ["NeoBERT" + {"Model": "", "ForMaskedLM": "LMHead"}.get(head, head)]
        return common | {"max_length": args.positions} | published_models.neo_bert_config(hidden, heads)
    common["max_position_embeddings"] = args.positions
    more = {
        "modernbert": {"hidden_activation": "gelu", "norm_eps": 1e-5, "norm_bias": False,
                       "attention_bias": False, "mlp_bias": False, "classifier_bias": False,
                       "decoder_bias": True, "local_attention": 16, "classifier_pooling": "mean",
                       "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
                       "local_rope_theta": 10000.0, "position_embedding_type": "absolute",
                       "layer_norm_eps": 0.1},
        "nomic5": {"hidden_act": "silu", "layer_norm_eps": 1e-12, "type_vocab_size": 2,
                   "rope_parameters": {"rope_theta": 1000.0, "rope_type": "default"}},
        "gte": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "layer_norm_type": "layer_norm",
                "position_embedding_type": "rope", "rope_theta": 500000,
                "rope_scaling": {"type": "ntk", "factor": 2.0}, "type_vocab_size": 0,
                "pack_qkv": True, "logn_attention_scale": False, "unpad_inputs": False,
                "use_memory_efficient_attention": False},
        "gte5": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 1,
                 "rope_parameters": {"rope_theta": 160000.0, "rope_type": "default"}},
        "jina": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2,
                 "position_embedding_type": "alibi", "feed_forward_type": "geglu",
                 "emb_pooler": "mean"},
        "deberta": {"hidden_act": "gelu", "layer_norm_eps": 1e-7, "type_vocab_size": 0,
                    "relative_attention": True, "pos_att_type": "p2c|c2p", "position_buckets": 32,
                    "max_relative_positions": -1, "norm_rel_ebd": "layer_norm",
                    "share_att_key": True, "position_biased_input": False,
                    "pooler_hidden_act": "gelu", "pooler_dropout": 0},
        "deberta1": {"hidden_act": "gelu", "layer_norm_eps": 1e-7, "type_vocab_size": 0,
                     "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
                     "max_relative_positions": -1, "position_biased_input": False,
                     "pooler_hidden_act": "gelu", "pooler_dropout": 0},
        "eurobert": {"hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 250000,
                     "rope_scaling": None, "num_key_value_heads": heads, "attention_bias": False,
                     "mlp_bias": False, "head_dim": hidden // heads, "clf_pooling": "late",
                     "pretraining_tp": 1, "tie_word_embeddings": False, "mask_token": "<|mask|>"},
        "gemma3": {"hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
                   "num_key_value_heads": 1, "head_dim": hidden // heads, "attention_bias": False,
                   "query_pre_attn_scalar": hidden // heads, "sliding_window": 16,
                   "sliding_window_pattern": 3, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                   "use_bidirectional_attention": True, "attn_logit_softcapping": None,
                   "final_logit_softcapping": None},
        "qwen3": {"hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_scaling": None,
                  "num_key_value_heads": 2, "head_dim": hidden // heads, "attention_bias": False,
                  "use_sliding_window": False, "sliding_window": None, "max_window_layers": layers,
                  "tie_word_embeddings": True},
        "jina-roberta": {"hidden_act": "gelu", "layer_norm_eps": 1e-5, "type_vocab_size": 1,
                         "position_embedding_type": "rotary", "rotary_emb_base": 20000.0, "pad_token_id": 1,
                         "use_flash_attn": True, "emb_pooler": None, "lora_adaptations": None, "lora_rank": 4,
                         "lora_alpha": 1, "matryoshka_dimensions": None},
        "jina-v3": {"hidden_act": "gelu", "layer_norm_eps": 1e-5, "type_vocab_size": 1, "pad_token_id": 1,
                    "rope_parameters": {"rope_theta": 20000.0, "rope_type": "default"}},
        "ultrabert": {"hidden_act": "silu", "rms_norm_eps": 1e-6, "num_key_value_heads": heads,
                      "attention_bias": False, "mlp_bias": False, "head_dim": hidden // heads,
                      "sliding_window": 8, "prediction_head_size": 40, "classifier_pooling": "cls",
                      "tie_word_embeddings": False}}
    more |= {"esm": published_models.esm_config(), "esmc": published_models.esm_c_config(),
             "embedding-gemma2": published_models.gemma_2_config(args), "lfm2": published_models.lfm2_config(args),
             "privacy-filter": privacy_filter.random_config(args), "mobilebert": mobile_bert.random_config(args)}
    more["llama"] = {key: more["qwen3"][key] for key in ("hidden_act", "rms_norm_eps", "attention_bias", "rope_theta",
                                                         "num_key_value_heads")} | {
        "mlp_bias": False, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                            "high_freq_factor": 4.0, "original_max_position_embeddings": 64}}
    more["mistral"] = {key: more["qwen3"][key] for key in ("hidden_act", "rms_norm_eps", "rope_theta",
                                                           "num_key_value_heads")} | {"sliding_window": args.positions}
    more["qwen2"] = {key: value for key, value in more["qwen3"].items() if key not in ("head_dim", "attention_bias")}
    return common | more["jina" if args.family == "jina-code" else args.family]


def padded(c: dict, vocab: int) -> int:
    multiple = c.get("pad_vocab_size_multiple", 1)
    return -(-vocab // multiple) * multiple


def encoder(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    hidden, p, vocab = args.shape[1], PREFIXES[args.family], padded(c, vocab)
    wholes = published_models.ENCODERS | {"bart": bart.random_weights, "privacy-filter": privacy_filter.random_weights,
                                          "clip": clip.random_weights, "clip-text": clip.random_weights,
                                          "mobilebert": mobile_bert.random_weights}
    if whole := wholes.get(args.family):
        return whole(w, args, c, vocab)
    names = {"modernbert": ("embeddings.tok_embeddings", "embeddings.norm"),
             "nomic": ("embeddings.word_embeddings", "emb_ln"),
             "nomic-moe": ("embeddings.word_embeddings", "emb_ln"),
             "jina-roberta": ("embeddings.word_embeddings", "emb_ln"),
             "jina-v3": ("embeddings.word_embeddings", "emb_ln"), "eurobert": ("embed_tokens", ""),
             **dict.fromkeys(DECODERS, ("embed_tokens", "")),
             "ultrabert": ("embed_tokens", ""), "gemma3": ("embed_tokens", "")}
    names |= {"t5": ("shared", ""), "t5-gated": ("shared", ""), "mt5": ("encoder.embed_tokens", "")}
    words, norm = names.get(args.family, ("embeddings.word_embeddings", "embeddings.LayerNorm"))
    width = c.get("embedding_size", hidden)
    w.add(p + words + ".weight", (vocab, width), 0.1)
    if c.get("type_vocab_size"):
        w.add(p + "embeddings.token_type_embeddings.weight", (c["type_vocab_size"], width), 0.05)
    if c.get("position_biased_input") or (args.family == "jina-roberta"
                                          and c["position_embedding_type"] == "absolute"):
        w.add(p + "embeddings.position_embeddings.weight", (args.positions, width), 0.05)
    if width != hidden:
        w.dense(p + "embeddings.embed_proj", hidden, width, 1, False)
    if norm:
        w.norm(p + norm, hidden, c.get("norm_bias", True))
    for i in range(args.shape[0]):
        LAYERS[args.family](w, p, i, args.shape, c)
    if args.family == "modernbert":
        w.norm(p + "final_norm", hidden, c["norm_bias"])
    if args.family in ("eurobert", "ultrabert", "gemma3", *DECODERS):
        gains(w, p + "norm", hidden, c)
    if "Qwen3BidirectionalModel" in str(c.get("auto_map")):
        w.dense("linear", c["num_labels"], hidden, 1, False)
    if args.family in T5:
        gains(w, p + "encoder.final_layer_norm", hidden, c)
    if args.family in ("deberta", "deberta1"):
        relative_embeddings(w, p, hidden, c)


def relative_embeddings(w, p: str, hidden: int, c: dict) -> None:
    if c.get("relative_attention"):
        span = c.get("position_buckets", -1)
        if span < 1:
            span = c["max_relative_positions"]
            span = c["max_position_embeddings"] if span < 1 else span
        w.add(p + "encoder.rel_embeddings.weight", (2 * span, hidden), 1)
        if "layer_norm" in c.get("norm_rel_ebd", "none"):
            w.norm(p + "encoder.LayerNorm", hidden)
    if size := c.get("conv_kernel_size", 0):
        w.add(p + "encoder.conv.conv.weight", (hidden, hidden, size), (hidden * size)**-0.5)
        w.add(p + "encoder.conv.conv.bias", (hidden,), 0.1)
        w.norm(p + "encoder.conv.LayerNorm", hidden)


def modern_bert_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"layers.{i}."
    if i:
        w.norm(p + "attn_norm", hidden, c["norm_bias"])
    w.dense(p + "attn.Wqkv", 3 * hidden, hidden, 1.2, c["attention_bias"])
    w.dense(p + "attn.Wo", hidden, hidden, 1, c["attention_bias"])
    w.norm(p + "mlp_norm", hidden, c["norm_bias"])
    w.dense(p + "mlp.Wi", 2 * intermediate, hidden, 1, c["mlp_bias"])
    w.dense(p + "mlp.Wo", hidden, intermediate, 1, c["mlp_bias"])


def nomic_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layers.{i}."
    wide = -(-intermediate // 256) * 256
    w.dense(p + "attn.Wqkv", 3 * hidden, hidden, 1.2, False)
    w.dense(p + "attn.out_proj", hidden, hidden, 1, False)
    w.norm(p + "norm1", hidden)
    w.dense(p + "mlp.fc11", wide, hidden, 1, False)
    w.dense(p + "mlp.fc12", wide, hidden, 1, False)
    w.dense(p + "mlp.fc2", hidden, wide, 1, False)
    w.norm(p + "norm2", hidden)


def nomic_experts_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layers.{i}."
    w.dense(p + "attn.Wqkv", 3 * hidden, hidden, 1.2)
    w.dense(p + "attn.out_proj", hidden, hidden, 1)
    w.norm(p + "norm1", hidden)
    if i % c["moe_every_n_layers"] == 1:
        rows = c["num_experts"] * intermediate
        w.dense(p + "mlp.router.layer", c["num_experts"], hidden, 1, False)
        w.add(p + "mlp.experts.mlp.w1", (rows, hidden), 1 / hidden**0.5)
        w.add(p + "mlp.experts.mlp.w2", (rows, hidden), 1.5 / intermediate**0.5)
        w.add(p + "mlp.experts.bias", (hidden,), 0.1)
    else:
        w.dense(p + "mlp.fc1", intermediate, hidden, 1)
        w.dense(p + "mlp.fc2", hidden, intermediate, 1)
    w.norm(p + "norm2", hidden)


def projections_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p, bias = p + f"layers.{i}.", c["model_type"] == "gte"
    for name in "qkv":
        w.dense(f"{p}self_attn.{name}_proj", hidden, hidden, 1.2, bias)
    w.dense(p + "self_attn.o_proj", hidden, hidden, 1, bias)
    w.norm(p + "post_attention_layernorm", hidden)
    w.dense(p + "mlp.up_proj", intermediate, hidden, 1, False)
    w.dense(p + "mlp.gate_proj", intermediate, hidden, 1, False)
    w.dense(p + "mlp.down_proj", hidden, intermediate, 1, bias)
    w.norm(p + "post_mlp_layernorm", hidden)


def gte_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layer.{i}."
    if c["pack_qkv"]:
        w.dense(p + "attention.qkv_proj", 3 * hidden, hidden, 1.2)
    else:
        for name in "qkv":
            w.dense(f"{p}attention.{name}_proj", hidden, hidden, 1.2)
    w.dense(p + "attention.o_proj", hidden, hidden, 1)
    w.norm(p + "attn_ln", hidden)
    w.dense(p + "mlp.up_gate_proj", 2 * intermediate, hidden, 1, False)
    w.dense(p + "mlp.down_proj", hidden, intermediate, 1)
    w.norm(p + "mlp_ln", hidden)


def bert_attention(w, p: str, hidden: int, names: tuple[str, str, str]) -> None:
    for name in names:
        w.dense(p + "attention.self." + name, hidden, hidden, 1.2)
    w.dense(p + "attention.output.dense", hidden, hidden, 1)
    w.norm(p + "attention.output.LayerNorm", hidden)


def jina_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layer.{i}."
    bert_attention(w, p, hidden, ("query", "key", "value"))
    w.dense(p + "mlp.gated_layers", 2 * intermediate, hidden, 1, False)
    w.dense(p + "mlp.wo", hidden, intermediate, 1)
    w.norm(p + "mlp.layernorm", hidden)


def jina_code_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layer.{i}."
    bert_attention(w, p, hidden, ("query", "key", "value"))
    for name in ("attention.self.layer_norm_q", "attention.self.layer_norm_k", "layer_norm_1",
                 "layer_norm_2"):
        w.norm(p + name, hidden)
    w.dense(p + "mlp.up_gated_layer", 2 * intermediate, hidden, 1, False)
    w.dense(p + "mlp.down_layer", hidden, intermediate, 1)


def jina_roberta_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layers.{i}."
    w.dense(p + "mixer.Wqkv", 3 * hidden, hidden, 1.2)
    w.dense(p + "mixer.out_proj", hidden, hidden, 1)
    w.norm(p + "norm1", hidden)
    w.dense(p + "mlp.fc1", intermediate, hidden, 1.5)
    w.dense(p + "mlp.fc2", hidden, intermediate, 0.8)
    w.norm(p + "norm2", hidden)


def deberta_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, _, intermediate = shape
    p += f"encoder.layer.{i}."
    if c["model_type"] == "deberta":
        bert_attention(w, p, hidden, ())
        w.dense(p + "attention.self.in_proj", 3 * hidden, hidden, 1.2, False)
        for name in ("q_bias", "v_bias"):
            w.add(p + "attention.self." + name, (hidden,), 0.1)
        w.dense(p + "attention.self.pos_proj", hidden, hidden, 1.2, False)
        w.dense(p + "attention.self.pos_q_proj", hidden, hidden, 1.2)
    else:
        bert_attention(w, p, hidden, ("query_proj", "key_proj", "value_proj"))
    if c.get("relative_attention") and not c.get("share_att_key", True):
        for name, kind in (("pos_key_proj", "c2p"), ("pos_query_proj", "p2c")):
            if kind in c["pos_att_type"]:
                w.dense(p + "attention.self." + name, hidden, hidden, 1.2)
    w.dense(p + "intermediate.dense", intermediate, hidden, 1.5)
    w.dense(p + "output.dense", hidden, intermediate, 0.8)
    w.norm(p + "output.LayerNorm", hidden)


def language_model_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, heads, intermediate = shape
    p, size = p + f"layers.{i}.", c.get("head_dim", hidden // heads)
    shared, inside = size * c["num_key_value_heads"], size * heads
    biases, qwen2 = (c.get("attention_bias", False), c.get("mlp_bias", False)), c["model_type"] == "qwen2"
    for name, rows, columns in (("q", inside, hidden), ("k", shared, hidden), ("v", shared, hidden),
                                ("o", hidden, inside)):
        w.dense(f"{p}self_attn.{name}_proj", rows, columns, 1.2, name != "o" if qwen2 else biases[0])
    for name in ("up", "gate"):
        w.dense(f"{p}mlp.{name}_proj", intermediate, hidden, 1, biases[1])
    w.dense(p + "mlp.down_proj", hidden, intermediate, 1, biases[1])
    norms = ["input_layernorm", "post_attention_layernorm"]
    if c["model_type"] == "gemma3_text":
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    if c["model_type"] in ("gemma3_text", "qwen3", "bidirectional_pplx_qwen3") or c.get("is_decoder"):
        for name in "qk":
            gains(w, f"{p}self_attn.{name}_norm", size, c)
    for name in norms:
        gains(w, p + name, hidden, c)


def t5_layer(w, p: str, i: int, shape: list[int], c: dict) -> None:
    _, hidden, heads, intermediate = shape
    p, inside = p + f"encoder.block.{i}.layer.", heads * c["d_kv"]
    for name in "qkv":  # scores are not scaled, so queries are small
        w.dense(f"{p}0.SelfAttention.{name}", inside, hidden, 1.2 if name != "q" else c["d_kv"]**-0.5, False)
    w.dense(p + "0.SelfAttention.o", hidden, inside, 1, False)
    if i == 0:
        w.add(p + "0.SelfAttention.relative_attention_bias.weight", (32, heads), 1)
    wide = ("wi",) if c["feed_forward_proj"] == "relu" else ("wi_0", "wi_1")
    for name in wide:
        w.dense(f"{p}1.DenseReluDense.{name}", intermediate, hidden, 1, False)
    w.dense(p + "1.DenseReluDense.wo", hidden, intermediate, 1, False)
    for part in "01":
        gains(w, f"{p}{part}.layer_norm", hidden, c)


def gains(w, name: str, width: int, c: dict) -> None:
    """Adds the gains of a norm without a bias. Gemma stores them minus 1, and normalises what is added
    to the hidden state, which therefore grows from layer to layer."""
    centre = 1
    if c["model_type"] == "gemma3_text":
        centre = -0.6 if "post_" in name else 0
    w.add(name + ".weight", (width,), 0.1, centre)


LAYERS = {"t5": t5_layer, "t5-gated": t5_layer, "mt5": t5_layer,
          "eurobert": language_model_layer, "ultrabert": language_model_layer, "gemma3": language_model_layer,
          **dict.fromkeys(DECODERS, language_model_layer),
          "jina-roberta": jina_roberta_layer, "jina-v3": jina_roberta_layer, "modernbert": modern_bert_layer,
          "nomic": nomic_layer, "nomic-moe": nomic_experts_layer, "nomic5": projections_layer,
          "gte": gte_layer, "gte5": projections_layer, "jina": jina_layer,
          "jina-code": jina_code_layer, "deberta": deberta_layer, "deberta1": deberta_layer}


def change(c: dict, changes: list[tuple[str, object]]) -> None:
    for key, value in changes:
        if not key:
            raise FormatError("--set is KEY=JSON, expected a key")
        c[key] = value
