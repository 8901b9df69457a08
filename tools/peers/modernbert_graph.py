# SPDX-License-Identifier: Apache-2.0
"""Writes a ModernBERT as a graph of ONNX Runtime's fused CPU operators, in float32."""
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import reference
from onnx_graph import MICROSOFT, Graph

FAR = -1e30  # added to the score of a key that a query does not see


class ModernGraph(Graph):
    def __init__(self, directory: Path):
        super().__init__(directory, "f32")
        self.checkpoint = reference.Checkpoint(directory, "model.")
        c = self.config.json
        self.size = self.config.hidden // self.config.heads
        for kind, theta in ("global", 160000.0), ("local", 10000.0):
            angles = np.outer(np.arange(c["max_position_embeddings"]),
                              c.get(f"{kind}_rope_theta", theta) ** -(np.arange(0, self.size, 2)
                                                                      / self.size))
            self.constant(kind + ".cos", np.cos(angles).astype(np.float32))
            self.constant(kind + ".sin", np.sin(angles).astype(np.float32))

    def plain(self, operator: str, inputs: list[str], outputs: list[str], **attributes) -> str:
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0]

    def dense(self, x: str, name: str) -> str:
        weight = self.constant(name + ".weight", self.tensor(name + ".weight").T)
        return self.plain("MatMul", [x, weight], [name])

    def split(self, x: str, names: list[str], width: int) -> None:
        sizes = self.constant(x + ".sizes", np.full(len(names), width, np.int64))
        self.plain("Split", [x, sizes], names, axis=2)

    def add_and_norm(self, x: str, residual: str, norm: str) -> tuple[str, str]:
        """(norm(x + residual), x + residual)"""
        names = norm + ".normed", norm + ".sum"
        self.fused("SkipLayerNormalization", [x, residual, self.stored(norm + ".weight")],
                   [names[0], "", "", names[1]], epsilon=self.config.epsilon)
        return names

    def layer(self, x: str, residual: str, i: int) -> tuple[str, str]:
        """x: the layer's normalised input. Returns those of the next layer."""
        p, hidden = f"layers.{i}.", self.config.hidden
        kind = "local" if i % self.config.json["global_attn_every_n_layers"] else "global"
        self.split(self.dense(x, p + "attn.Wqkv"), [p + "q", p + "k", p + "v"], hidden)
        for name in p + "q", p + "k":
            self.fused("RotaryEmbedding", [name, "positions", kind + ".cos", kind + ".sin"],
                       [name + ".turned"], num_heads=self.config.heads)
        self.fused("MultiHeadAttention",
                   [p + "q.turned", p + "k.turned", p + "v", "", "", kind + ".bias"],
                   [p + "context"], num_heads=self.config.heads)
        x, residual = self.add_and_norm(self.dense(p + "context", p + "attn.Wo"), residual,
                                        p + "mlp_norm")
        self.split(self.dense(x, p + "mlp.Wi"), [p + "inner", p + "gate"],
                    self.config.json["intermediate_size"])
        self.fused("Gelu", [p + "inner"], [p + "gelu"])
        self.plain("Mul", [p + "gelu", p + "gate"], [p + "gated"])
        last = i + 1 == self.config.layers
        return self.add_and_norm(self.dense(p + "gated", p + "mlp.Wo"), residual,
                                 "final_norm" if last else f"layers.{i + 1}.attn_norm")


def write(directory: Path, path: Path) -> None:
    """Inputs: ids and positions, int64 [B, S]; global.bias and local.bias, float [B or 1, 1, S, S].
    Output: the last hidden state, [B, S, H]."""
    graph = ModernGraph(directory)
    word = graph.plain("Gather", [graph.stored("embeddings.tok_embeddings.weight"), "ids"],
                       ["embedded"])
    x = residual = graph.plain("LayerNormalization", [word, graph.stored("embeddings.norm.weight")],
                               ["normed"], axis=-1, epsilon=graph.config.epsilon)
    for i in range(graph.config.layers):
        x, residual = graph.layer(x, residual, i)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "S"])
              for name in ("ids", "positions")]
    inputs += [helper.make_tensor_value_info(f"{kind}.bias", TensorProto.FLOAT, ["N", 1, "S", "S"])
               for kind in ("global", "local")]
    graph.save(path, inputs, x, opset=17)


def feed(ids: np.ndarray, mask: np.ndarray, window: int) -> dict[str, np.ndarray]:
    """The inputs of a padded batch; window: how many tokens apart local attention reaches."""
    positions = np.arange(ids.shape[1])
    sees = np.broadcast_to(mask[:, None, None, :] != 0, (len(ids), 1, ids.shape[1], ids.shape[1]))
    if mask.all():
        sees = sees[:1]
    near = np.abs(positions[:, None] - positions) <= window
    return {"ids": ids, "positions": np.broadcast_to(positions, ids.shape).copy(),
            "global.bias": np.where(sees, 0, FAR).astype(np.float32),
            "local.bias": np.where(sees & near, 0, FAR).astype(np.float32)}
