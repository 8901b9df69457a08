# SPDX-License-Identifier: Apache-2.0
"""What make_model.py adds to a directory with --retrieval: the files of a model for search.

  splade, splade-sum   sentence-transformers' SpladePooling, for --head mlm
  colbert              Stanford's HF_ColBERT: linear.weight and artifact.metadata
  multi-vector         sentence-transformers' modules: Dense twice, MultiVectorMask, Normalize
  logit-score          a causal language model that scores pairs: LogitScore, and lm_head
"""
import argparse
import json

import numpy as np

from model_tokenizers import write_json
from tensor_file import write_tensors

KINDS = ["splade", "splade-sum", "colbert", "multi-vector", "logit-score"]
COLUMNS, BETWEEN = 20, 24


def write_modules(args: argparse.Namespace, kinds: list[tuple[str, str]]) -> None:
    write_json(args.output / "modules.json", [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.{kind}"}
        for i, (kind, path) in enumerate(kinds)])


def write_dense(args: argparse.Namespace, name: str, inputs: int, outputs: int,
                activation: str) -> None:
    rng = np.random.default_rng([args.seed, inputs, outputs])
    shapes = {"linear.weight": (outputs, inputs), "linear.bias": (outputs,)}
    if inputs != outputs:
        shapes["residual.weight"] = (outputs, inputs)
    folder = args.output / name
    folder.mkdir(exist_ok=True)
    write_tensors(folder / "model.safetensors",
                  {key: rng.standard_normal(shape).astype("<f4") / np.float32(inputs ** 0.5)
                   for key, shape in shapes.items()}, {"format": "pt"})
    write_json(folder / "config.json", {
        "in_features": inputs, "out_features": outputs, "bias": True, "use_residual": True,
        "activation_function": f"torch.nn.modules.{activation}",
        "module_input_name": "token_embeddings", "module_output_name": "token_embeddings"})


def head_weights(args: argparse.Namespace, vocab: int) -> dict[str, np.ndarray]:
    """The tensors of a head that is not one of transformers'."""
    rows = {"colbert": ("linear.weight", COLUMNS), "logit-score": ("lm_head.weight", vocab)}
    if args.retrieval not in rows:
        return {}
    name, count = rows[args.retrieval]
    rng = np.random.default_rng([args.seed, count])
    values = rng.standard_normal((count, args.shape[1])).astype("<f4")
    return {name: values / np.float32(args.shape[1] ** 0.5)}


def write_retrieval(args: argparse.Namespace) -> None:
    hidden, config = args.shape[1], args.output / "config.json"
    if args.retrieval == "logit-score":
        content = json.loads(config.read_text())
        name = content["architectures"][0].removesuffix("Model") + "ForCausalLM"
        write_json(config, content | {"architectures": [name], "tie_word_embeddings": False})
        write_modules(args, [("base.modules.transformer.Transformer", ""),
                             ("cross_encoder.modules.logit_score.LogitScore", "1_LogitScore")])
        (args.output / "1_LogitScore").mkdir(exist_ok=True)
        write_json(args.output / "1_LogitScore" / "config.json", {"true_token_id": 7, "false_token_id": 3})
    elif args.retrieval.startswith("splade"):
        sums = args.retrieval == "splade-sum"
        write_modules(args, [("models.Transformer", ""),
                             ("sparse_encoder.models.SpladePooling", "1_SpladePooling")])
        (args.output / "1_SpladePooling").mkdir(exist_ok=True)
        write_json(args.output / "1_SpladePooling" / "config.json",
                   {"pooling_strategy": "sum" if sums else "max",
                    "activation_function": "log1p_relu" if sums else "relu",
                    "word_embedding_dimension": None})
    elif args.retrieval == "colbert":
        write_json(config, json.loads(config.read_text()) | {"architectures": ["HF_ColBERT"]})
        # Any two tokens that the small vocabulary has.
        write_json(args.output / "artifact.metadata",
                   {"query_token_id": "[CLS]", "doc_token_id": "[SEP]", "query_maxlen": 32})
    else:
        write_dense(args, "1_Dense", hidden, BETWEEN, "activation.Tanh")
        write_dense(args, "2_Dense", BETWEEN, BETWEEN, "linear.Identity")
        folder = "multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
        write_modules(args, [("base.modules.transformer.Transformer", ""),
                             ("base.modules.dense.Dense", "1_Dense"),
                             ("base.modules.dense.Dense", "2_Dense"), (folder, "3_Mask"),
                             ("base.modules.normalize.Normalize", "4_Normalize")])
        (args.output / "3_Mask").mkdir(exist_ok=True)
        write_json(args.output / "3_Mask" / "config.json",
                   {"skiplist_words": [".", ","], "skiplist_tasks": ["document"],
                    "keep_only_token_ids": None})
