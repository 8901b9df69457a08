# SPDX-License-Identifier: Apache-2.0
"""The engines that tools/peers/compare times, each set up as its documentation recommends for a CPU.

An engine takes a batch of ids, padded to its longest input with a mask, to the last hidden states
[N, S, H]. Its module is imported where it is used, so that start and memory are its own.
"""
import json
import os
from pathlib import Path

import numpy as np

BATCH = 32  # sentences at a time, of similar length
PRECISIONS = {"onnxruntime": ["f32", "int8"], "openvino": ["f32", "bf16", "int8"],
              "ctranslate2": ["f32", "int8"], "pytorch": ["f32", "bf16", "int8"],
              "torch.compile": ["f32", "bf16"]}
# Those that are set up for other families than BERT here, by model_type.
OTHERS = {"modernbert": {"onnxruntime": ["f32"], "openvino": ["f32", "bf16"], "pytorch": ["f32", "bf16"]},
          "gemma3_text": {"pytorch": ["f32", "bf16"]}, "embedding_gemma2_text": {"pytorch": ["f32", "bf16"]},
          "qwen3": {"pytorch": ["f32", "bf16"]}}
FAMILIES = {"modernbert": "ModernBERT", "gemma3_text": "EmbeddingGemma", "embedding_gemma2_text": "EmbeddingGemma 2",
            "qwen3": "Qwen3"}


def why_left_out(name: str, precision: str, model_type: str) -> str:
    """Empty if the engine can be set up."""
    precisions, of_family = OTHERS.get(model_type, PRECISIONS), ""
    if model_type in FAMILIES:
        of_family = f" for {FAMILIES[model_type]}"
    if name not in precisions:
        return f"not set up{of_family} here"
    return "" if precision in precisions[name] else f"not set up in {precision}{of_family} here"


def pad(rows: list[list[int]]) -> np.ndarray:
    padded = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for row, values in zip(padded, rows):
        row[:len(values)] = values
    return padded


class Engine:
    """model: a Hugging Face directory. calibration: id lists to quantise with."""
    version = ""

    def __init__(self, model: Path, precision: str, threads: int, calibration: list):
        self.model, self.precision, self.threads = model, precision, threads
        self.calibration = calibration
        self.config = json.loads((model / "config.json").read_text())
        model_type = self.config.get("model_type")
        self.is_modern = model_type == "modernbert"
        self.names = ["input_ids", "attention_mask"] + ["token_type_ids"] * (model_type not in OTHERS)
        self.load()

    @staticmethod
    def prepared(precision: str) -> str:
        """Names what the first process with this precision leaves to the next ones."""
        return "model"

    def load(self) -> None:
        raise NotImplementedError

    def states(self, ids: list[list[int]], type_ids: list[list[int]]) -> np.ndarray:
        return self.run(pad(ids), pad(type_ids), pad([[1] * len(row) for row in ids]))

    def run(self, ids: np.ndarray, type_ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def embed(self, texts: list[str]) -> np.ndarray:
        """Normalised means of the last hidden states, as the sentence models at hand have them."""
        from transformers import AutoTokenizer
        if not hasattr(self, "tokenizer"):
            self.tokenizer = AutoTokenizer.from_pretrained(str(self.model))
        encoded = self.tokenizer(texts, truncation=True, max_length=256)["input_ids"]
        order = np.argsort([-len(ids) for ids in encoded])
        embeddings = None
        for first in range(0, len(texts), BATCH):
            rows = order[first:first + BATCH]
            batch = [encoded[i] for i in rows]
            mask = pad([[1] * len(ids) for ids in batch])
            states = self.run(pad(batch), np.zeros_like(mask), mask)
            means = (states * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
            if embeddings is None:
                embeddings = np.empty((len(texts), means.shape[1]), np.float32)
            embeddings[rows] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return embeddings


class OnnxRuntime(Engine):
    """Its graph of fused BERT operators; int8: dynamic quantisation."""

    @staticmethod
    def prepared(precision):
        return precision

    def load(self) -> None:
        import onnxruntime
        import modernbert_graph
        import onnx_graph
        graph = Path(os.environ["PEERS_SCRATCH"]) / f"{self.prepared(self.precision)}.onnx"
        if not graph.exists() and self.is_modern:
            modernbert_graph.write(self.model, graph)
        elif not graph.exists():
            onnx_graph.write(self.model, graph, self.precision)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(str(graph), options,
                                                    providers=["CPUExecutionProvider"])
        self.version = onnxruntime.__version__

    def run(self, ids, type_ids, mask):
        if self.is_modern:
            import modernbert_graph
            window = self.config["local_attention"] // 2
            return self.session.run(None, modernbert_graph.feed(ids, mask, window))[0]
        feed = {"ids": ids, "type_ids": type_ids, "mask": mask}
        return self.session.run(None, {k: v.astype(np.int32) for k, v in feed.items()})[0]


def pytorch_model(model: Path, dtype: str = "float32", attention: str = "sdpa"):
    import torch
    from transformers import AutoModel
    return AutoModel.from_pretrained(str(model), attn_implementation=attention,
                                     dtype=getattr(torch, dtype)).eval()


class OpenVino(Engine):
    """The latency hint; int8: weights and activations quantised by NNCF after training."""

    @staticmethod
    def prepared(precision):
        return "quantised" if precision == "int8" else "openvino"

    def load(self) -> None:
        import openvino
        path = Path(os.environ["PEERS_SCRATCH"]) / f"{self.prepared(self.precision)}.xml"
        if not path.exists():
            openvino.save_model(self.convert(), str(path), compress_to_fp16=False)
        hint = "bf16" if self.precision == "bf16" else "f32"
        compiled = openvino.Core().compile_model(
            str(path), "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": self.threads,
                               "INFERENCE_PRECISION_HINT": hint})
        self.request = compiled.create_infer_request()
        self.version = openvino.__version__.split("-")[0]

    def convert(self):
        import openvino
        import torch
        example = {name: torch.ones(2, 9, dtype=torch.int64) for name in self.names}
        # Padding a window away from all tokens is NaN in its fused attention. As fast without.
        network = pytorch_model(self.model, attention="eager" if self.is_modern else "sdpa")
        model = openvino.convert_model(network, example_input=example)
        if self.precision != "int8":
            return model
        import nncf
        feeds = [dict(zip(self.names, (np.array([ids]), np.ones((1, len(ids)), np.int64),
                                  np.zeros((1, len(ids)), np.int64)))) for ids in self.calibration]
        return nncf.quantize(model, nncf.Dataset(feeds), model_type=nncf.ModelType.TRANSFORMER)

    def run(self, ids, type_ids, mask):
        return self.request.infer(dict(zip(self.names, (ids, mask, type_ids))))[0]


class CTranslate2(Engine):
    """Pads by itself. It has no bfloat16 on these processors."""

    def load(self) -> None:
        import ctranslate2
        path = Path(os.environ["PEERS_SCRATCH"]) / "ctranslate2"
        if not path.exists():
            ctranslate2.converters.TransformersConverter(str(self.model)).convert(str(path))
        kind = {"f32": "float32", "int8": "int8"}[self.precision]
        self.encoder = ctranslate2.Encoder(str(path), device="cpu", compute_type=kind,
                                           intra_threads=self.threads, inter_threads=1)
        self.version = ctranslate2.__version__

    def run(self, ids, type_ids, mask):
        lengths = mask.sum(1)
        rows = [[row[:n].tolist() for row, n in zip(values, lengths)] for values in (ids, type_ids)]
        return np.array(self.encoder.forward_batch(rows[0], token_type_ids=rows[1]).last_hidden_state)


class PyTorch(Engine):
    """Scaled dot product attention; int8: dynamic quantisation of the dense layers."""

    def load(self) -> None:
        import torch
        torch.set_num_threads(self.threads)
        dtype = "bfloat16" if self.precision == "bf16" else "float32"
        self.network = pytorch_model(self.model, dtype)
        if self.precision == "int8":
            self.network = torch.ao.quantization.quantize_dynamic(
                self.network, {torch.nn.Linear}, dtype=torch.qint8)
        self.version = torch.__version__.split("+")[0]

    def run(self, ids, type_ids, mask):
        import torch
        with torch.inference_mode():
            values = map(torch.from_numpy, (ids, mask, type_ids))
            states = self.network(**dict(zip(self.names, values))).last_hidden_state
        return states.float().numpy()

    def embed(self, texts):
        """As users of sentence-transformers run it."""
        from sentence_transformers import SentenceTransformer
        if not hasattr(self, "sentences"):
            self.sentences = SentenceTransformer(str(self.model), device="cpu")
            self.sentences[0].model = self.network
        return self.sentences.encode(texts, batch_size=BATCH, normalize_embeddings=True,
                                     show_progress_bar=False)


class CompiledPyTorch(PyTorch):
    def load(self) -> None:
        import torch
        super().load()
        self.network = torch.compile(self.network, dynamic=True)


ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "ctranslate2": CTranslate2,
           "pytorch": PyTorch, "torch.compile": CompiledPyTorch}
