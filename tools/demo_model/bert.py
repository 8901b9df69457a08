# SPDX-License-Identifier: Apache-2.0
"""A BERT sequence classifier in plain torch modules (Devlin et al. 2019), saved as a Hugging Face
directory."""
import json
import os
import struct

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, LAYERS, HEADS, INNER, POSITIONS, LABELS = 128, 4, 4, 384, 128, ("entailment", "neutral",
                                                                       "contradiction")
PREFIX = "bert.encoder.layer.%d."


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.attention_output = nn.Linear(WIDTH, WIDTH)
        self.attention_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.intermediate = nn.Linear(WIDTH, INNER)
        self.output = nn.Linear(INNER, WIDTH)
        self.output_norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x, mask):  # x: [B, S, H], mask: [B, 1, 1, S] or None
        b, s, h = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, HEADS, h // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (h // HEADS)**-0.5
        scores = scores if mask is None else scores + mask
        context = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, s, h)
        x = self.attention_norm(x + self.attention_output(context))
        return self.output_norm(x + self.output(F.gelu(self.intermediate(x))))


class Classifier(nn.Module):
    def __init__(self, vocabulary: int):
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.classifier = nn.Linear(WIDTH, len(LABELS))
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(
                    p, std=0.05 if name.startswith(
                        ("words", "positions", "types")) else p.shape[1]**-0.5 * 0.7)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        self._start_from_matching()

    @torch.no_grad()
    def _start_from_matching(self):
        """Small models learn to compare much sooner if they are initialised for it (after Trockman
        and Kolter 2023): in the first layers, half of the heads attend to the same word in the
        other sentence and subtract what they find. Position embeddings start as sinusoids."""
        half = WIDTH // 2
        side = nn.functional.normalize(torch.randn(WIDTH), dim=0)
        self.types.weight[0], self.types.weight[1] = side * 0.28, side * -0.28
        for layer in self.layers[:2]:
            rows = torch.randn(half, WIDTH) * 0.1
            layer.qkv.weight[:half] = rows
            layer.qkv.weight[WIDTH:WIDTH + half] = rows - 2 * (rows @ side)[:, None] * side
            found = torch.randn(half, WIDTH) * WIDTH**-0.5
            layer.qkv.weight[2 * WIDTH:2 * WIDTH + half] = found
            layer.attention_output.weight[:, :half] = -found.T
        at = torch.arange(POSITIONS)[:, None] / 1000**(torch.arange(half) / half)
        self.positions.weight[:, 0::2] = at.sin() * 0.03
        self.positions.weight[:, 1::2] = at.cos() * 0.03

    def forward(self, ids, types, mask=None, stages=None):  # ids, types: [B, S] -> [B, C]
        x = self.norm(self.words(ids) + self.types(types) + self.positions.weight[:ids.shape[1]])
        if stages is not None:
            stages.append(x)
        for layer in self.layers:
            x = layer(x, mask)
            if stages is not None:
                stages.append(x)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))

    def tensors(self) -> dict:
        """The weights under Hugging Face's names."""
        e = "bert.embeddings."
        out = {
            e + "word_embeddings.weight": self.words.weight,
            e + "position_embeddings.weight": self.positions.weight,
            e + "token_type_embeddings.weight": self.types.weight
        }
        modules = {
            e + "LayerNorm": self.norm,
            "bert.pooler.dense": self.pooler,
            "classifier": self.classifier
        }
        for i, layer in enumerate(self.layers):
            p = PREFIX % i
            for part, name in enumerate(("query", "key", "value")):
                rows = slice(part * WIDTH, (part + 1) * WIDTH)
                out[p + "attention.self." + name + ".weight"] = layer.qkv.weight[rows]
                out[p + "attention.self." + name + ".bias"] = layer.qkv.bias[rows]
            modules.update({
                p + "attention.output.dense": layer.attention_output,
                p + "attention.output.LayerNorm": layer.attention_norm,
                p + "intermediate.dense": layer.intermediate,
                p + "output.dense": layer.output,
                p + "output.LayerNorm": layer.output_norm
            })
        for name, module in modules.items():
            out[name + ".weight"], out[name + ".bias"] = module.weight, module.bias
        return {k: v.detach() for k, v in out.items()}

    def load(self, directory: str):
        """Loads the directory's weights exactly as stored."""
        stored = read_safetensors(os.path.join(directory, "model.safetensors"))
        for name, tensor in self.tensors().items():
            tensor.copy_(stored[name])  # tensor is a view of the parameter
        return self


DTYPES = {
    torch.float16: "F16",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.uint8: "U8",
    torch.int64: "I64"
}


def write_safetensors(path: str, tensors: dict, metadata: dict):
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for name, t in tensors.items():
        blob = t.contiguous().numpy().tobytes()
        header[name] = {
            "dtype": DTYPES[t.dtype],
            "shape": list(t.shape),
            "data_offsets": [at, at + len(blob)]
        }
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path: str) -> dict:
    data = open(path, "rb").read()
    (n,) = struct.unpack("<Q", data[:8])
    dtypes = {v: k for k, v in DTYPES.items()}
    return {
        k:
        torch.frombuffer(bytearray(data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]),
                         dtype=dtypes[v["dtype"]]).reshape(v["shape"])
        for k, v in json.loads(data[8:8 + n]).items()
        if k != "__metadata__"
    }


def save(directory: str, model: Classifier, vocabulary: list):
    os.makedirs(directory, exist_ok=True)
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": len(vocabulary),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "initializer_range": 0.02,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "position_embedding_type": "absolute",
        "pad_token_id": 0,
        "torch_dtype": "float16",
        "id2label": {str(i): n for i, n in enumerate(LABELS)},
        "label2id": {n: i for i, n in enumerate(LABELS)}
    }
    tokenizer = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "model_max_length": POSITIONS,
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "tokenize_chinese_chars": True,
        "strip_accents": None
    }
    for name, content in (("config.json", config), ("tokenizer_config.json", tokenizer)):
        with open(os.path.join(directory, name), "w") as f:
            f.write(json.dumps(content, indent=2) + "\n")
    with open(os.path.join(directory, "vocab.txt"), "w") as f:
        f.write("\n".join(vocabulary) + "\n")
    write_safetensors(os.path.join(directory, "model.safetensors"),
                      {k: v.half() for k, v in model.tensors().items()}, {"format": "pt"})
