# SPDX-License-Identifier: Apache-2.0
"""EuroBERT, UltraBERT and both EmbeddingGemmas in float64: the layers of the language models Llama and Gemma 3
without a mask; Llama, Mistral, Qwen2, Qwen3 and Gemma 3 with it, and embedding models made of them with it or
without; LFM2 (Liquid AI 2025), also without; ESM C; NeoBERT; and T5's encoder. Written from the papers
(Boizard et al. 2025, Schechter Vera et al. 2025, Grattafiori et al. 2024, Jiang et al. 2023, Yang et al. 2025,
Le Breton et al. 2025, Raffel et al. 2020) and the published code, in its names."""
import numpy as np

from newer.config import NewerConfig
from newer.encoders import attend, distances, frequencies, rotate, split
from newer.tensors import Tensors, activation


def rms_norm(config: NewerConfig, x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + config.epsilon) * gain


def feed_forward(t: Tensors, x: np.ndarray, p: str, act) -> np.ndarray:
    inner = act(t.linear(x, p + "gate_proj")) * t.linear(x, p + "up_proj")
    return t.linear(inner, p + "down_proj")


def projections(config: NewerConfig, t: Tensors, x: np.ndarray, p: str) -> list[np.ndarray]:
    """Queries, keys and values [A, S, D]; several heads of queries have the same keys and values."""
    groups = config.get("num_key_value_heads", config.heads)
    heads = (config.heads, groups, groups)
    parts = [split(t.linear(x, f"{p}{name}_proj"), n) for name, n in zip("qkv", heads)]
    return [parts[0], *(part.repeat(config.heads // groups, 0) for part in parts[1:])]


def slowed(rope: dict, inv_freq: np.ndarray) -> np.ndarray:
    """Llama 3.1's frequencies, from how often each turns in the positions that it was trained on."""
    turns = rope["original_max_position_embeddings"] * inv_freq / np.float32(2 * np.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = np.clip((turns - np.float32(low)) / np.float32(high - low), 0, 1)
    return inv_freq * (kept + (1 - kept) / np.float32(rope["factor"]))


def yarn(rope: dict, theta: float, size: int) -> tuple[np.ndarray, float]:
    """The frequencies of Peng et al. 2023, and what queries and keys are multiplied by."""
    factor, trained = rope["factor"], rope["original_max_position_embeddings"]
    edges = [size * np.log(trained / (turns * 2 * np.pi)) / (2 * np.log(theta))
             for turns in (rope.get("beta_fast", 32), rope.get("beta_slow", 1))]
    if rope.get("truncate", True):
        edges = [np.floor(edges[0]), np.ceil(edges[1])]
    low, high = max(edges[0], 0), min(edges[1], size - 1)
    ramp = (np.arange(size // 2, dtype=np.float32) - np.float32(low)) / np.float32(high - low)
    kept, powers = 1 - np.clip(ramp, 0, 1), theta ** (np.arange(0, size, 2, dtype=np.float32) / np.float32(size))
    powers = powers.astype(np.float32)
    inv_freq = 1 / (np.float32(factor) * powers) * (1 - kept) + 1 / powers * kept
    gain = 0.1 * np.log(factor) + 1
    if "mscale" in rope and "mscale_all_dim" in rope:
        gain = (rope["mscale"] * (gain - 1) + 1) / (rope["mscale_all_dim"] * (gain - 1) + 1)
    return inv_freq, rope.get("attention_factor", gain)


def windows(config: NewerConfig) -> list[int | None]:
    """How many tokens a token attends to, itself included, in each layer."""
    width = config.get("sliding_window")
    if config.kind in ("mistral", "ministral3"):
        return [width] * config.layers
    if not config.get("use_sliding_window"):
        return [None] * config.layers
    types = config.get("layer_types", ["sliding_attention" if i >= config.get("max_window_layers", 28)
                                       else "full_attention" for i in range(config.layers)])
    return [width if kind == "sliding_attention" else None for kind in types]


def is_causal(config: NewerConfig, t: Tensors) -> bool:
    """Of Jina's two models, the one with norms of heads is."""
    if config.kind == "jina_embeddings_v5":
        return "layers.0.self_attn.q_norm.weight" in t
    if config.kind in ("eurobert", "llama_bidirec", "bidirectional_pplx_qwen3") or "linear.weight" in t:
        return False
    return config.get("is_causal", True)


def llama(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    """EuroBERT; Llama, Mistral, Qwen2 and Qwen3, in which no token attends to later ones; and what is made of them."""
    act = activation(config.get("hidden_act", "silu"))
    causal = is_causal(config, t)
    rope = config.get("rope_parameters", config.get("rope_scaling", {}))
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    inv_freq = frequencies(theta, config.get("head_dim", config.hidden // config.heads))
    gain = 1.0
    if rope.get("rope_type") == "linear":
        inv_freq = inv_freq / np.float32(rope["factor"])
    elif rope.get("rope_type") == "llama3":
        inv_freq = slowed(rope, inv_freq)
    elif rope.get("rope_type") == "yarn":
        inv_freq, gain = yarn(rope, theta, config.get("head_dim", config.hidden // config.heads))
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    x = t["embed_tokens.weight"][ids]
    stages = [x]
    for i, width in enumerate(windows(config)):
        p = f"layers.{i}."
        q, k, v = projections(config, t, norm(x, p + "input_layernorm"), p + "self_attn.")
        if p + "self_attn.q_norm.weight" in t:
            q, k = norm(q, p + "self_attn.q_norm"), norm(k, p + "self_attn.k_norm")
        q, k = gain * rotate(q, inv_freq), gain * rotate(k, inv_freq)
        reach = width - 1 if width and causal else width
        x = x + t.linear(attend(t.keys, q, k, v, window=reach, causal=causal), p + "self_attn.o_proj")
        x = x + feed_forward(t, norm(x, p + "post_attention_layernorm"), p + "mlp.", act)
        stages.append(x)
    x = norm(x, "norm")
    stages[-1] = t.linear(x, "linear") if "linear.weight" in t else x
    return stages


def ultra_bert(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    """EuroBERT with windows, which reach sliding_window tokens to each side."""
    act, size = activation(config.get("hidden_act", "silu")), config.hidden // config.heads
    types = config.get("layer_types", ["sliding_attention" if (i + 1) % 3 else "full_attention"
                                       for i in range(config.layers)])
    thetas, reach = {"full_attention": 2560000.0, "sliding_attention": 1e4}, config.get("sliding_window", 128)
    if windows := config.get("attention_windows"):  # the published files'
        types = ["sliding_attention" if window else "full_attention" for window in windows]
        reach = max(windows)
        thetas |= dict(zip(types, config.json["rope_theta"]))
    thetas |= {kind: values["rope_theta"] for kind, values in config.get("rope_parameters", {}).items()}
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    x = t["embed_tokens.weight"][ids]
    stages = [x]
    for i, kind in enumerate(types):
        p, inv_freq = f"layers.{i}.", frequencies(thetas[kind], size)
        q, k, v = projections(config, t, norm(x, p + "input_layernorm"), p + "self_attn.")
        context = attend(t.keys, rotate(q, inv_freq), rotate(k, inv_freq), v,
                         window=reach if kind == "sliding_attention" else None)
        x = x + t.linear(context, p + "self_attn.o_proj")
        x = x + feed_forward(t, norm(x, p + "post_attention_layernorm"), p + "mlp.", act)
        stages.append(x)
    stages[-1] = norm(x, "norm")
    return stages


def gemma3(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    act = activation(config.get("hidden_activation", "gelu_pytorch_tanh"))
    rope = config.get("rope_parameters", {})
    thetas = {"full_attention": config.get("rope_theta", 1e6),
              "sliding_attention": config.get("rope_local_base_freq", 1e4)}
    thetas |= {kind: values["rope_theta"] for kind, values in rope.items()}
    every = config.get("sliding_window_pattern", 6)
    types = config.get("layer_types", ["sliding_attention" if (i + 1) % every else "full_attention"
                                       for i in range(config.layers)])
    causal, width, size = not config.get("use_bidirectional_attention"), config.get("sliding_window"), config.get("head_dim")
    # The last of as many tokens as the window has, or as many on either side as make it up, or one more.
    reach = width - 1 if causal else width // 2
    slower = {"full_attention": (config.get("rope_scaling") or {}).get("factor", 1)}
    slower |= {kind: values.get("factor", 1) for kind, values in rope.items()}
    scale = np.sqrt(size / config.get("query_pre_attn_scalar"))  # beside that of attend()
    norm = lambda x, name: rms_norm(config, x, 1 + t[name + ".weight"])  # noqa: E731
    x = t["embed_tokens.weight"][ids] * np.sqrt(np.float32(config.hidden)).astype(float)
    stages = [x]
    for i, kind in enumerate(types):
        p, inv_freq = f"layers.{i}.", frequencies(thetas[kind], size) / np.float32(slower.get(kind, 1))
        q, k, v = projections(config, t, norm(x, p + "input_layernorm"), p + "self_attn.")
        q, k = scale * norm(q, p + "self_attn.q_norm"), norm(k, p + "self_attn.k_norm")
        context = attend(t.keys, rotate(q, inv_freq), rotate(k, inv_freq), v,
                         window=reach if kind == "sliding_attention" else None, causal=causal)
        y = t.linear(context, p + "self_attn.o_proj")
        x = x + norm(y, p + "post_attention_layernorm")
        y = feed_forward(t, norm(x, p + "pre_feedforward_layernorm"), p + "mlp.", act)
        x = x + norm(y, p + "post_feedforward_layernorm")
        stages.append(x)
    stages[-1] = norm(x, "norm")
    return stages


def embedding_gemma2(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    """Gemma 3's layers, with other heads where there is no window, and a third part that reads the embeddings."""
    act = activation(config.get("hidden_activation", "gelu_pytorch_tanh"))
    rope, width = config.get("rope_parameters"), config.get("hidden_size_per_layer_input")
    own = {int(layer): settings for layer, settings in config.get("per_layer_config").items()}
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    x = t["embed_tokens.weight"][ids] * np.sqrt(np.float32(config.hidden)).astype(float)
    stages, embeddings = [x], x / np.sqrt(config.hidden)
    for i, kind in enumerate(config.get("layer_types")):
        p, of = f"layers.{i}.", config.json | own.get(i, {})
        y, groups = norm(x, p + "input_layernorm"), of["num_key_value_heads"]
        q, k, v = (split(t.linear(y, f"{p}self_attn.{name}_proj"), heads)
                   for name, heads in zip("qkv", (config.heads, groups, groups)))
        q, k = norm(q, p + "self_attn.q_norm"), norm(k, p + "self_attn.k_norm")
        v, inv_freq = rms_norm(config, v, 1), frequencies(rope[kind]["rope_theta"], of["head_dim"])
        q, k = rotate(q, inv_freq) * np.sqrt(of["head_dim"]), rotate(k, inv_freq)  # scores are not scaled
        context = attend(t.keys, q, *(part.repeat(config.heads // groups, 0) for part in (k, v)),
                         window=config.get("sliding_window") if kind == "sliding_attention" else None)
        x = x + norm(t.linear(context, p + "self_attn.o_proj"), p + "post_attention_layernorm")
        y = feed_forward(t, norm(x, p + "pre_feedforward_layernorm"), p + "mlp.", act)
        x = x + norm(y, p + "post_feedforward_layernorm")
        slice_of_layer = t["ple.per_layer_model_projection.weight"][i * width:(i + 1) * width]
        given = norm(embeddings @ slice_of_layer.T, "ple.per_layer_projection_norm")
        block = p + "ple_block."
        y = t.linear(act(t.linear(x, block + "per_layer_input_gate")) * given, block + "per_layer_projection")
        x = (x + norm(y, block + "post_per_layer_input_norm")) * t[p + "layer_scalar"]
        stages.append(x)
    stages[-1] = t.linear(norm(x, "norm"), "embedding_projection")
    return stages


def short_convolution(t: Tensors, x: np.ndarray, p: str, before: int) -> np.ndarray:
    """LFM2's: gates each column, convolves it from `before` tokens earlier on, and gates the result.
    Tokens that none attends to count as zeros."""
    x = np.where(np.arange(len(x))[:, None] < t.keys, x, 0)
    gate_in, gate_out, values = np.split(t.linear(x, p + "in_proj"), 3, 1)
    taps = t[p + "conv.weight"][:, 0]  # [H, K]
    padded = np.pad(gate_in * values, ((before, taps.shape[1]), (0, 0)))
    sums = sum(taps[:, k] * padded[k:k + len(x)] for k in range(taps.shape[1]))
    return t.linear(gate_out * sums, p + "out_proj")


def lfm2(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    causal = config.kind == "lfm2"
    taps, act = config.get("conv_L_cache", 3), activation("silu")
    rope = config.get("rope_parameters", {})
    theta = rope.get("rope_theta", config.get("rope_theta", 1e6))
    inv_freq = frequencies(theta, config.get("head_dim", config.hidden // config.heads))
    types = config.get("layer_types", ["full_attention" if i in config.get("full_attn_idxs") else "conv"
                                       for i in range(config.layers)])
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    x = t["embed_tokens.weight"][ids]
    stages = [x]
    for i, kind in enumerate(types):
        p = f"layers.{i}."
        y = norm(x, p + "operator_norm")
        if kind == "conv":
            x = x + short_convolution(t, y, p + "conv.", taps - 1 if causal else taps // 2)
        else:
            q, k, v = projections(config, t, y, p + "self_attn.")
            q, k = norm(q, p + "self_attn.q_layernorm"), norm(k, p + "self_attn.k_layernorm")
            context = attend(t.keys, rotate(q, inv_freq), rotate(k, inv_freq), v, causal=causal)
            x = x + t.linear(context, p + "self_attn.out_proj")
        y, p = norm(x, p + "ffn_norm"), p + "feed_forward."
        x = x + t.linear(act(t.linear(y, p + "w1")) * t.linear(y, p + "w3"), p + "w2")
        stages.append(x)
    stages[-1] = norm(x, "embedding_norm")
    return stages


def esm_c(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    act, inv_freq = activation(config.get("hidden_act", "silu")), frequencies(10000.0, config.hidden // config.heads)
    x, smaller = t["embed_tokens.weight"][ids], np.sqrt(36 / config.layers)
    stages = [x]
    for i in range(config.layers):
        p = f"layers.{i}."
        y, attention = t.norm(x, p + "input_layernorm"), p + "self_attn."
        q, k = (t.norm(t.linear(y, f"{attention}{name}_proj"), f"{attention}{name}_norm") for name in "qk")
        q, k, v = (split(part, config.heads) for part in (q, k, t.linear(y, attention + "v_proj")))
        context = attend(t.keys, rotate(q, inv_freq), rotate(k, inv_freq), v)
        x = x + smaller * t.linear(context, attention + "o_proj")
        x = x + smaller * feed_forward(t, t.norm(x, p + "post_attention_layernorm"), p + "mlp.", act)
        stages.append(x)
    stages[-1] = t.norm(x, "norm")
    return stages


def rotate_neighbours(x: np.ndarray, inv_freq: np.ndarray) -> np.ndarray:
    """x: [A, S, D]. Each two neighbours in a head are the real and imaginary part of a number."""
    angles = np.arange(x.shape[1], dtype=np.float32)[:, None] * inv_freq[None]
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles.astype(np.float64))
    return np.stack([turned.real, turned.imag], 3).reshape(x.shape)


def neo_bert(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    act, inv_freq = activation("silu"), frequencies(10000.0, config.hidden // config.heads)
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    x = t["encoder.weight"][ids]
    stages = [x]
    for i in range(config.layers):
        p = f"transformer_encoder.{i}."
        by_head = split(t.linear(norm(x, p + "attention_norm"), p + "qkv"), config.heads)
        q, k, v = np.split(by_head, 3, 2)
        context = attend(t.keys, rotate_neighbours(q, inv_freq), rotate_neighbours(k, inv_freq), v)
        x = x + t.linear(context, p + "wo")
        gate, up = np.split(t.linear(norm(x, p + "ffn_norm"), p + "ffn.w12"), 2, 1)
        x = x + t.linear(act(gate) * up, p + "ffn.w3")
        stages.append(x)
    stages[-1] = norm(x, "layer_norm")
    return stages


def bucket(distance: int) -> int:
    """distance: the query's position minus the key's. Each direction has 16 of the 32 buckets; from 8 on
    their widths grow, by a factor of 2 for every two of them."""
    far = abs(distance)
    near = far if far < 8 else min(15, 8 + sum(far * far >= 2**n for n in range(7, 15)))
    return near + (16 if distance < 0 else 0)


def t5(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    kind = config.get("feed_forward_proj", "relu")
    act = activation({"gated-gelu": "gelu_new"}.get(kind, kind))
    norm = lambda x, name: rms_norm(config, x, t[name + ".weight"])  # noqa: E731
    p = "encoder.block.0.layer.0.SelfAttention."
    table = t[p + "relative_attention_bias.weight"]
    biases = table[np.vectorize(bucket)(distances(len(ids)))].transpose(2, 0, 1)
    x = t["shared.weight" if "shared.weight" in t else "encoder.embed_tokens.weight"][ids]
    stages = [x]
    for i in range(config.layers):
        p = f"encoder.block.{i}.layer."
        y = norm(x, p + "0.layer_norm")
        q, k, v = (split(t.linear(y, f"{p}0.SelfAttention.{name}"), config.heads) for name in "qkv")
        context = attend(t.keys, q * np.sqrt(q.shape[2]), k, v, biases)  # scores are not scaled
        x = x + t.linear(context, p + "0.SelfAttention.o")
        y, dense = norm(x, p + "1.layer_norm"), p + "1.DenseReluDense."
        if kind.startswith("gated-"):
            y = act(t.linear(y, dense + "wi_0")) * t.linear(y, dense + "wi_1")
        else:
            y = act(t.linear(y, dense + "wi"))
        x = x + t.linear(y, dense + "wo")
        stages.append(x)
    stages[-1] = norm(x, "encoder.final_layer_norm")
    return stages
