# SPDX-License-Identifier: Apache-2.0
"""The encoders of ESM, ModernBERT, NomicBert, GTE, JinaBert v2, Jina's XLM-RoBERTa and DeBERTa v2 in
float64; those of EuroBERT, UltraBERT, EmbeddingGemma, Qwen and T5 are in language_models.py.

One function a family, written from the papers (Warner et al. 2024, Nussbaum et al. 2024, Zhang et
al. 2024, Günther et al. 2023, Sturua et al. 2024, He et al. 2021 and 2023) and the published code, in its names. Only
the angles of rotary positions and the buckets of distances are float32, as there: at far positions
they depend on how they are rounded.
"""
import math

import numpy as np

from newer.config import NewerConfig
from newer.tensors import Tensors, activation, softmax
from reference_tensors import ACTIVATIONS


def split(x: np.ndarray, heads: int) -> np.ndarray:
    """[S, H] to [A, S, D]."""
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


def join(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def distances(tokens: int) -> np.ndarray:
    """[S, S]: the query's position less the key's."""
    return np.subtract.outer(np.arange(tokens), np.arange(tokens))


def attend(keys: int, q: np.ndarray, k: np.ndarray, v: np.ndarray, more: np.ndarray | float = 0,
           window: int | None = None, causal: bool = False) -> np.ndarray:
    """[S, H] from q, k, v [A, S, D]; more is added to the scaled scores. Only the first `keys`
    tokens are attended to, and if causal none after the query."""
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2]) + more
    scores[..., keys:] = -np.inf
    if window is not None:
        scores = np.where(np.abs(distances(q.shape[1])) <= window, scores, -np.inf)
    if causal:
        scores = np.where(distances(q.shape[1]) >= 0, scores, -np.inf)
    return join(softmax(scores) @ v)


def frequencies(theta: float, size: int) -> np.ndarray:
    exponents = np.arange(0, size, 2, dtype=np.float32) / np.float32(size)
    powers = (np.float64(theta) ** exponents.astype(np.float64)).astype(np.float32)
    return np.float32(1) / powers


def rotate(x: np.ndarray, inv_freq: np.ndarray) -> np.ndarray:
    """x: [A, S, D]. The two halves of a head are the real and imaginary parts of D / 2 numbers."""
    angles = np.arange(x.shape[1], dtype=np.float32)[:, None] * inv_freq[None]
    half = x.shape[2] // 2
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles.astype(np.float64))
    return np.concatenate([turned.real, turned.imag], 2)


def modern_bert(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    act, half = activation(config.get("hidden_activation", "gelu")), 0
    size = config.hidden // config.heads
    rope = config.get("rope_parameters", {})
    thetas = {"full_attention": config.get("global_rope_theta", 160000.0)}
    thetas["sliding_attention"] = config.get("local_rope_theta", 10000.0)
    thetas |= {kind: values["rope_theta"] for kind, values in rope.items() if "rope_theta" in values}
    every = config.get("global_attn_every_n_layers", 3)
    types = config.get("layer_types", ["sliding_attention" if i % every else "full_attention"
                                       for i in range(config.layers)])
    half = config.get("local_attention", 128) // 2
    x = t.norm(t["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
    stages = [x]
    for i, kind in enumerate(types):
        p = f"layers.{i}."
        y = t.norm(x, p + "attn_norm") if i else x
        qkv = t.linear(y, p + "attn.Wqkv").reshape(len(x), 3, config.heads, size)
        q, k, v = qkv.transpose(1, 2, 0, 3)
        inv_freq = frequencies(thetas[kind], size)
        context = attend(t.keys, rotate(q, inv_freq), rotate(k, inv_freq), v,
                         window=half if kind == "sliding_attention" else None)
        x = x + t.linear(context, p + "attn.Wo")
        inner, gate = np.split(t.linear(t.norm(x, p + "mlp_norm"), p + "mlp.Wi"), 2, 1)
        x = x + t.linear(act(inner) * gate, p + "mlp.Wo")
        stages.append(x)
    stages[-1] = t.norm(x, "final_norm")
    return stages


def embed(config: NewerConfig, t: Tensors, ids: np.ndarray, types: np.ndarray) -> np.ndarray:
    x = t["embeddings.word_embeddings.weight"][ids]
    return x + t["embeddings.token_type_embeddings.weight"][types] if config.types else x


def turned_bert(config: NewerConfig, t: Tensors, ids: np.ndarray, types: np.ndarray
                ) -> list[np.ndarray]:
    """NomicBert and GTE: post-norm layers with rotary positions and a gated feed-forward."""
    size, published = config.hidden // config.heads, "emb_ln.weight" in t
    act = activation(config.get("hidden_act", config.get("activation_function")))
    theta = config.get("rope_theta", config.get("rotary_emb_base", 1000.0))
    theta = config.get("rope_parameters", {}).get("rope_theta", theta)
    inv_freq = frequencies(theta, size)
    if scaling := config.get("rope_scaling"):
        inv_freq = stretched(theta, size, scaling)
    x = embed(config, t, ids, types)
    x = t.norm(x, "emb_ln" if published else "embeddings.LayerNorm")
    stages = [x]
    for i in range(config.layers):
        q, k, v, o, norm, mlp, norm2 = turned_layer(t, x, i, config.get("moe_top_k", 0))
        q, k, v = (split(y, config.heads) for y in (q, k, v))
        context = attend(t.keys, rotate(q, inv_freq), rotate(k, inv_freq), v)
        x = t.norm(x + t.linear(context, o), norm)
        x = t.norm(x + mlp(x, act), norm2)
        stages.append(x)
    return stages


def experts(t: Tensors, x: np.ndarray, act, p: str, chosen: int) -> np.ndarray:
    """For each token, the outputs of the networks that the router scores highest, weighted by these
    scores, which are a softmax over all networks."""
    scores = np.exp(t.linear(x, p + "router.layer"))
    scores /= scores.sum(1, keepdims=True)
    w1, w2 = (np.split(t[p + f"experts.mlp.{name}"], scores.shape[1]) for name in ("w1", "w2"))
    out = np.zeros_like(x)
    for token, row in enumerate(scores):
        for network in np.argsort(-row)[:chosen]:
            out[token] += row[network] * (act(x[token] @ w1[network].T) @ w2[network])
    return out + t[p + "experts.bias"]


def turned_layer(t: Tensors, x: np.ndarray, i: int, chosen: int) -> tuple:
    """q, k, v, the names of the output and its norm, the feed-forward, the name of its norm."""
    nomic, gte, both = f"encoder.layers.{i}.", f"encoder.layer.{i}.", f"layers.{i}."
    if nomic + "norm1.weight" in t:
        if nomic + "mlp.router.layer.weight" in t:
            inner = lambda x, act: experts(t, x, act, nomic + "mlp.", chosen)  # noqa: E731
        elif nomic + "mlp.fc1.weight" in t:
            inner = lambda x, act: t.linear(act(t.linear(x, nomic + "mlp.fc1")), nomic + "mlp.fc2")  # noqa: E731
        else:
            inner = lambda x, act: t.linear(  # noqa: E731
                t.linear(x, nomic + "mlp.fc11") * act(t.linear(x, nomic + "mlp.fc12")), nomic + "mlp.fc2")
        return (*np.split(t.linear(x, nomic + "attn.Wqkv"), 3, 1), nomic + "attn.out_proj",
                nomic + "norm1", inner, nomic + "norm2")
    if both + "mlp.up_proj.weight" in t:
        return (*(t.linear(x, f"{both}self_attn.{name}_proj") for name in "qkv"),
                both + "self_attn.o_proj", both + "post_attention_layernorm",
                lambda x, act: t.linear(t.linear(x, both + "mlp.up_proj")
                                        * act(t.linear(x, both + "mlp.gate_proj")),
                                        both + "mlp.down_proj"), both + "post_mlp_layernorm")

    def mlp(x: np.ndarray, act) -> np.ndarray:
        up, gate = np.split(t.linear(x, gte + "mlp.up_gate_proj"), 2, 1)
        return t.linear(act(gate) * up, gte + "mlp.down_proj")

    if gte + "attention.qkv_proj.weight" in t:
        qkv = np.split(t.linear(x, gte + "attention.qkv_proj"), 3, 1)
    else:
        qkv = [t.linear(x, f"{gte}attention.{name}_proj") for name in "qkv"]
    return (*qkv, gte + "attention.o_proj", gte + "attn_ln", mlp, gte + "mlp_ln")


def jina_roberta(config: NewerConfig, t: Tensors, ids: np.ndarray, types: np.ndarray
                 ) -> list[np.ndarray]:
    """XLM-RoBERTa as Jina's code has it (Sturua et al. 2024): post-norm layers with rotary positions,
    or with a table of positions that counts from the padding token's id + 1 and skips its tokens."""
    act, size = activation(config.get("hidden_act", "gelu")), config.hidden // config.heads
    x = embed(config, t, ids, types)
    inv_freq = None
    if config.get("position_embedding_type", "rotary") == "rotary":
        theta = config.get("rotary_emb_base", 20000.0)
        inv_freq = frequencies(config.get("rope_parameters", {}).get("rope_theta", theta), size)
    else:
        counted = ids != config.padding
        x = x + t["embeddings.position_embeddings.weight"][config.padding + counted.cumsum() * counted]
    x = t.norm(x, "emb_ln")
    stages = [x]
    for i in range(config.layers):
        p = f"encoder.layers.{i}."
        q, k, v = (split(y, config.heads) for y in np.split(t.linear(x, p + "mixer.Wqkv"), 3, 1))
        if inv_freq is not None:
            q, k = rotate(q, inv_freq), rotate(k, inv_freq)
        x = t.norm(x + t.linear(attend(t.keys, q, k, v), p + "mixer.out_proj"), p + "norm1")
        wide = act(t.linear(x, p + "mlp.fc1"))
        x = t.norm(x + t.linear(wide, p + "mlp.fc2"), p + "norm2")
        stages.append(x)
    return stages


def esm(config: NewerConfig, t: Tensors, ids: np.ndarray, _) -> list[np.ndarray]:
    """Rives et al. 2021 and Lin et al. 2023: pre-norm layers. With token_dropout, masks have no embedding,
    and all others are scaled as if 15 % * 80 % of the tokens were masks, as in training."""
    x = t["embeddings.word_embeddings.weight"][ids]
    if config.get("token_dropout", False):
        masks = ids == config.json["mask_token_id"]
        x = np.where(masks[:, None], 0, x) * ((1 - 0.15 * 0.8) / max(1 - masks.mean(), 1e-9))
    rotary = config.get("position_embedding_type", "absolute") == "rotary"
    if not rotary:
        counted = ids != config.padding
        x = x + t["embeddings.position_embeddings.weight"][config.padding + counted.cumsum() * counted]
    if config.get("emb_layer_norm_before", False):
        x = t.norm(x, "embeddings.layer_norm")
    stages = [x]
    for i in range(config.layers):
        p = f"encoder.layer.{i}."
        y = t.norm(x, p + "attention.LayerNorm")
        q, k, v = (split(t.linear(y, f"{p}attention.self.{name}"), config.heads) for name in ("query", "key", "value"))
        if rotary:
            inv_freq = t[p + "attention.self.rotary_embeddings.inv_freq"].astype(np.float32)
            q, k = rotate(q, inv_freq), rotate(k, inv_freq)
        x = x + t.linear(attend(t.keys, q, k, v), p + "attention.output.dense")
        wide = ACTIVATIONS["gelu"](t.linear(t.norm(x, p + "LayerNorm"), p + "intermediate.dense"))
        x = x + t.linear(wide, p + "output.dense")
        stages.append(x)
    stages[-1] = t.norm(x, "encoder.emb_layer_norm_after")
    return stages


def stretched(theta: float, size: int, scaling: dict) -> np.ndarray:
    """GTE's "ntk" for a factor over 1."""
    factor, b = scaling["factor"], scaling.get("mixed_b")
    if factor <= 1:
        return frequencies(theta, size)
    if b is None:
        return frequencies(theta * factor, size) / np.float32(factor ** (2 / size))
    a = math.log(factor) / (size / 2) ** b
    return frequencies(theta, size) / np.exp(
        a * np.arange(1, size // 2 + 1.0) ** b).astype(np.float32)


def slopes(heads: int) -> np.ndarray:
    """Press et al. 2022, and what their code does if heads is no power of two."""
    power = 1 << (heads.bit_length() - 1)
    first = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    more = [2.0 ** (-8 * (i + 1) / (2 * power)) for i in range(2 * power)]
    return np.array(first + more[0::2][:heads - power])


def jina_bert(config: NewerConfig, t: Tensors, ids: np.ndarray, types: np.ndarray
              ) -> list[np.ndarray]:
    act = {"geglu": ACTIVATIONS["gelu"], "reglu": ACTIVATIONS["relu"]}[config.json["feed_forward_type"]]
    alibi = -slopes(config.heads)[:, None, None] * np.abs(distances(len(ids)))
    x = t.norm(embed(config, t, ids, types), "embeddings.LayerNorm")
    stages = [x]
    for i in range(config.layers):
        p = f"encoder.layer.{i}."
        q, k, v = (t.linear(x, f"{p}attention.self.{name}") for name in ("query", "key", "value"))
        code = p + "layer_norm_1.weight" in t
        if code:
            q = t.norm(q, p + "attention.self.layer_norm_q")
            k = t.norm(k, p + "attention.self.layer_norm_k")
        context = attend(t.keys, *(split(y, config.heads) for y in (q, k, v)), alibi)
        y = t.norm(x + t.linear(context, p + "attention.output.dense"),
                   p + "attention.output.LayerNorm")
        if code:
            z = t.norm(x + y, p + "layer_norm_1")
            up, gate = np.split(t.linear(z, p + "mlp.up_gated_layer"), 2, 1)
            x = t.norm(z + t.linear(up * act(gate), p + "mlp.down_layer"), p + "layer_norm_2")
        else:
            gated, up = np.split(t.linear(y, p + "mlp.gated_layers"), 2, 1)
            x = t.norm(y + t.linear(act(gated) * up, p + "mlp.wo"), p + "mlp.layernorm")
        stages.append(x)
    return stages


def log_buckets(relative: np.ndarray, buckets: int, most: int) -> np.ndarray:
    """He et al. 2023: as distances up to half of the buckets, beyond by their logarithm."""
    middle = buckets // 2
    far = np.maximum(np.abs(relative), middle).astype(np.float32) / np.float32(middle)
    steps = np.log(far) / np.log(np.float32((most - 1) / middle))
    log = np.ceil(steps * np.float32(middle - 1)).astype(int) + middle
    return np.where(np.abs(relative) <= middle, relative, np.sign(relative) * log)


def deberta(config: NewerConfig, t: Tensors, ids: np.ndarray, types: np.ndarray
            ) -> list[np.ndarray]:
    act, tokens = activation(config.get("hidden_act", "gelu")), len(ids)
    x = embed(config, t, ids, types)
    if config.get("position_biased_input", True):
        x = x + t["embeddings.position_embeddings.weight"][:tokens]
    if "embeddings.embed_proj.weight" in t:
        x = t.linear(x, "embeddings.embed_proj")
    x = t.norm(x, "embeddings.LayerNorm")
    stages = [x]
    for i in range(config.layers):
        p = f"encoder.layer.{i}."
        context = disentangled(config, t, x, p + "attention.self.")
        x = t.norm(x + t.linear(context, p + "attention.output.dense"),
                   p + "attention.output.LayerNorm")
        wide = act(t.linear(x, p + "intermediate.dense"))
        x = t.norm(x + t.linear(wide, p + "output.dense"), p + "output.LayerNorm")
        if i == 0 and config.get("conv_kernel_size", 0):
            conv = activation(config.get("conv_act", "tanh"))(convolution(t, stages[0]))
            x = t.norm(x + conv, "encoder.conv.LayerNorm")
        stages.append(x)
    return stages


def convolution(t: Tensors, x: np.ndarray) -> np.ndarray:
    weight = t["encoder.conv.conv.weight"]  # [H, H, k]
    size = weight.shape[2]
    padded = np.pad(x, ((size // 2, size // 2), (0, 0)))
    y = sum(padded[j:j + len(x)] @ weight[:, :, j].T for j in range(size))
    return y + t["encoder.conv.conv.bias"]


def disentangled(config: NewerConfig, t: Tensors, x: np.ndarray, p: str) -> np.ndarray:
    first = config.kind == "deberta"  # He et al. 2021: each head's three parts follow each other
    if first:
        stacked = split(x @ t[p + "in_proj.weight"].T, config.heads)
        q, k, v = np.split(stacked, 3, 2)
        q, v = q + split(t[p + "q_bias"][None], config.heads), v + split(t[p + "v_bias"][None], config.heads)
    else:
        names = ("query_proj", "key_proj", "value_proj")
        q, k, v = (split(t.linear(x, p + name), config.heads) for name in names)
    kinds = config.get("pos_att_type", []) if config.get("relative_attention", False) else []
    scale = math.sqrt(q.shape[2] * (1 + sum(kind in config.get("pos_att_type", [])
                                            for kind in ("c2p", "p2c"))))
    scores = q @ k.swapaxes(1, 2)
    if config.get("relative_attention", False):
        most, buckets = config.get("max_relative_positions", -1), config.get("position_buckets", -1)
        most = config.longest if most < 1 else most
        span = buckets if buckets > 0 else most
        relative = distances(len(x))
        if buckets > 0:
            relative = log_buckets(relative, buckets, most)
        index = np.clip(relative + span, 0, 2 * span - 1)
        r = t["encoder.rel_embeddings.weight"]
        if "layer_norm" in config.get("norm_rel_ebd", "none"):
            r = t.norm(r, "encoder.LayerNorm")
        shared = config.get("share_att_key", False)
        if "c2p" in kinds:
            name = "pos_proj" if first else "key_proj" if shared else "pos_key_proj"
            keys = split(t.linear(r, p + name), config.heads)
            scores = scores + np.take_along_axis(q @ keys.swapaxes(1, 2), index[None], 2)
        if "p2c" in kinds:
            name = "pos_q_proj" if first else "query_proj" if shared else "pos_query_proj"
            queries = split(t.linear(r, p + name), config.heads)
            by_key = k @ queries.swapaxes(1, 2)  # [A, key, 2 span]
            scores = scores + np.take_along_axis(by_key.swapaxes(1, 2), index[None], 1)
    return join(softmax(scores / scale) @ v)
