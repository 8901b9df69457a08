# SPDX-License-Identifier: Apache-2.0
"""The config.json of the newer families."""
from dataclasses import dataclass
from pathlib import Path

from reference_inputs import read_json

FAMILIES = {"modernbert": ("ModernBert", ("model.",)), "nomic_bert": ("NomicBert", ("nomic_bert.",
            "bert.")), "new": ("New", ("new.",)), "gte": ("Gte", ("gte.",)),
            "jina": ("JinaBert", ("bert.",)), "deberta-v2": ("DebertaV2", ("deberta.",)),
            "eurobert": ("EuroBert", ("model.",)), "gemma3_text": ("Gemma3Text", ("model.",))}
NO_TYPES = ("modernbert", "eurobert", "gemma3_text")


@dataclass
class NewerConfig:
    directory: Path
    kind: str  # model_type, or jina
    json: dict
    prefixes: tuple[str, ...]
    classes: str
    architecture: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    types: int
    longest: int
    epsilon: float
    padding = None

    def get(self, key: str, default=None):
        value = self.json.get(key)
        return default if value is None else value

    @property
    def labels(self) -> int:
        return len(self.json["id2label"]) if "id2label" in self.json else self.get("num_labels", 2)


def is_newer(content: dict) -> bool:
    return content.get("model_type") in FAMILIES or is_jina(content)


def is_jina(content: dict) -> bool:
    return "JinaBertConfig" in content.get("auto_map", {}).get("AutoConfig", "")


def read_newer_config(directory: Path) -> NewerConfig:
    c = read_json(directory / "config.json")
    kind = "jina" if is_jina(c) else c["model_type"]
    classes, prefixes = FAMILIES[kind]
    get = lambda *names: next(c[name] for name in names if name in c)  # noqa: E731
    types = {"deberta-v2": 0, "gte": 1, "new": 1}.get(kind, 2)
    types = 0 if kind in NO_TYPES else c.get("type_vocab_size", types)
    vocabulary, multiple = c["vocab_size"], c.get("pad_vocab_size_multiple", 1)
    epsilon = {"modernbert": "norm_eps", "eurobert": "rms_norm_eps",
               "gemma3_text": "rms_norm_eps"}.get(kind, "layer_norm_eps")
    return NewerConfig(
        directory, kind, c, prefixes, classes, c["architectures"][0],
        get("num_hidden_layers", "n_layer"), get("hidden_size", "n_embd"),
        get("num_attention_heads", "n_head"), -(-vocabulary // multiple) * multiple, types,
        get("max_position_embeddings", "n_positions"),
        float(c.get(epsilon, c.get("layer_norm_epsilon", 1e-12))))
