# SPDX-License-Identifier: Apache-2.0
"""Writes a BERT encoder as a graph of ONNX Runtime's fused CPU operators."""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import reference

MICROSOFT = "com.microsoft"


def quantised(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric int8 with a scale for each column."""
    scale = (np.maximum(np.abs(weight).max(0), 1e-12) / 127).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


class Graph:
    """Collects nodes and weights. A value is named after the layer that computes it."""

    def __init__(self, directory: Path, precision: str):
        self.int8 = precision == "int8"
        self.config = reference.read_config(directory)
        self.checkpoint = reference.Checkpoint(directory)
        self.nodes, self.weights = [], []

    def tensor(self, name: str) -> np.ndarray:
        file, stored = self.checkpoint.tensors[name]
        return file.read(stored).astype(np.float32)

    def constant(self, name: str, values: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def stored(self, name: str) -> str:
        return self.constant(name, self.tensor(name))

    def fused(self, operator: str, inputs: list[str], outputs: list[str], **attributes) -> None:
        self.nodes.append(
            helper.make_node(operator, inputs, outputs, domain=MICROSOFT, **attributes))

    def product(self, x: str, name: str) -> str:
        """x W^T; the fused operator that follows adds the bias."""
        weight = self.tensor(name + ".weight").T
        if self.int8:
            values, scale = quantised(weight)
            self.fused("DynamicQuantizeMatMul", [x, self.constant(name + ".weight", values),
                                                 self.constant(name + ".scale", scale)], [name])
        else:
            weight = self.constant(name + ".weight", weight)
            self.nodes.append(helper.make_node("MatMul", [x, weight], [name]))
        return name

    def save(self, path: Path, inputs: list, output: str, opset: int) -> None:
        """output: [B, S, H]."""
        states = helper.make_tensor_value_info(output, TensorProto.FLOAT,
                                               ["B", "S", self.config.hidden])
        model = helper.make_model(
            helper.make_graph(self.nodes, "encoder", inputs, [states], self.weights),
            opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])
        model.ir_version = 8
        onnx.save(model, str(path))

    def embeddings(self) -> str:
        e = "embeddings."
        tables = [self.stored(e + table + "_embeddings.weight")
                  for table in ("word", "position", "token_type")]
        norm = [self.stored(e + "LayerNorm." + part) for part in ("weight", "bias")]
        self.fused("EmbedLayerNormalization", ["ids", "type_ids", *tables, *norm, "mask"],
                   ["embedded", "lengths"], epsilon=self.config.epsilon)
        return "embedded"

    def add_and_norm(self, x: str, residual: str, name: str) -> str:
        parts = ["LayerNorm.weight", "LayerNorm.bias", "dense.bias"]
        self.fused("SkipLayerNormalization",
                   [x, residual, *(self.stored(f"{name}.{part}") for part in parts)],
                   [name + ".sum"], epsilon=self.config.epsilon)
        return name + ".sum"

    def attention(self, x: str, p: str, weight: np.ndarray, bias: str) -> None:
        heads, out = self.config.heads, [p + "context"]
        if not self.int8:
            weight = self.constant(p + "qkv.weight", weight)
            self.fused("Attention", [x, weight, bias, "lengths"], out, num_heads=heads)
            return
        values, scale = quantised(weight)
        inputs = [p + "qkv.input", p + "qkv.input.scale", p + "qkv.input.zero"]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], inputs))
        self.fused("QAttention",
                   [inputs[0], self.constant(p + "qkv.weight", values), bias, inputs[1],
                    self.constant(p + "qkv.scale", scale), "lengths", inputs[2],
                    self.constant(p + "qkv.zero", np.zeros(len(scale), np.int8))],
                   out, num_heads=heads)

    def layer(self, x: str, i: int) -> str:
        p = f"encoder.layer.{i}."
        names = [p + "attention.self." + part for part in ("query", "key", "value")]
        weight = np.concatenate([self.tensor(n + ".weight").T for n in names], 1)
        bias = np.concatenate([self.tensor(n + ".bias") for n in names])
        self.attention(x, p, weight, self.constant(p + "qkv.bias", bias))
        dense = self.product(p + "context", p + "attention.output.dense")
        x = self.add_and_norm(dense, x, p + "attention.output")
        wide = self.product(x, p + "intermediate.dense")
        self.fused("BiasGelu", [wide, self.stored(p + "intermediate.dense.bias")], [p + "gelu"])
        return self.add_and_norm(self.product(p + "gelu", p + "output.dense"), x, p + "output")


def write(directory: Path, path: Path, precision: str) -> None:
    """precision: f32, or int8 as in ONNX Runtime's dynamic quantisation, with a scale for each
    column of the weights. Inputs: ids, type_ids and mask, int32 [B, S]. Output: the last hidden
    state, [B, S, H]."""
    graph = Graph(directory, precision)
    x = graph.embeddings()
    for i in range(graph.config.layers):
        x = graph.layer(x, i)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, ["B", "S"])
              for name in ("ids", "type_ids", "mask")]
    graph.save(path, inputs, x, opset=14)
