# SPDX-License-Identifier: Apache-2.0
"""The config.json of the newer families."""
from dataclasses import dataclass
from pathlib import Path

from reference_inputs import read_json

FAMILIES = {"modernbert": ("ModernBert", ("model.",)), "nomic_bert": ("NomicBert", ("nomic_bert.",
            "bert.")), "new": ("New", ("new.",)), "gte": ("Gte", ("gte.",)),
            "jina": ("JinaBert", ("bert.",)), "deberta-v2": ("DebertaV2", ("deberta.",)),
            "deberta": ("Deberta", ("deberta.",)),
            "jina-roberta": ("XLMRoberta", ("roberta.",)),
            "jina_embeddings_v3": ("JinaEmbeddingsV3", ("roberta.",)),
            "eurobert": ("EuroBert", ("model.",)), "ultrabert": ("Ultrabert", ("model.", "ultrabert.")),
            "gemma3_text": ("Gemma3Text", ("model.",)),
            "embedding_gemma2": ("EmbeddingGemma2", ("language_model.",)),
            "embedding_gemma2_text": ("EmbeddingGemma2Text", ("model.",)),
            "llama": ("Llama", ("model.",)), "mistral": ("Mistral", ("model.",)), "qwen2": ("Qwen2", ("model.",)),
            "qwen3": ("Qwen3", ("model.",)), "llama_bidirec": ("LlamaBidirectional", ("model.",)),
            "ministral3": ("Ministral3", ("model.",)), "bidirectional_pplx_qwen3": ("PPLXQwen3", ("model.",)),
            "jina_embeddings_v5": ("JinaEmbeddingsV5", ("model.",)), "lfm2": ("Lfm2", ("model.", "lfm2.")),
            "lfm2_bidirectional": ("Lfm2Bidirectional", ("model.", "lfm2.")), "t5": ("T5", ("transformer.",)),
            "mt5": ("MT5", ("transformer.",)), "esm": ("Esm", ("esm.",)),
            "esmc": ("Esmc", ("esmc.",)), "neobert": ("NeoBERT", ("model.",)),
            "bart": ("Bart", ("model.",)), "clip": ("CLIP", ("text_model.",)),
            "clip_text_model": ("CLIPText", ("text_model.",)), "mobilebert": ("MobileBert", ("mobilebert.",)),
            "openai_privacy_filter": ("OpenAIPrivacyFilter", ("model.",))}
DECODERS = ("llama", "mistral", "qwen2", "qwen3", "llama_bidirec", "ministral3", "bidirectional_pplx_qwen3",
            "jina_embeddings_v5")
GEMMAS = ("gemma3_text", "embedding_gemma2", "embedding_gemma2_text")
NO_TYPES = ("modernbert", "eurobert", "ultrabert", *GEMMAS, *DECODERS, "t5", "mt5", "esm", "esmc", "neobert",
            "bart", "clip", "clip_text_model", "openai_privacy_filter", "lfm2", "lfm2_bidirectional")
# By the class of its configuration, which auto_map names.
CODE = {"JinaBertConfig": "jina", "XLMRobertaFlashConfig": "jina-roberta"}


@dataclass
class NewerConfig:
    directory: Path
    kind: str  # model_type, or jina or jina-roberta
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
    padding: int | None = None

    def get(self, key: str, default=None):
        value = self.json.get(key)
        return default if value is None else value

    @property
    def labels(self) -> int:
        usual = 3 if self.json.get("model_type") == "bart" else 2  # as in transformers
        return len(self.json["id2label"]) if "id2label" in self.json else self.get("num_labels", usual)


def is_newer(content: dict) -> bool:
    return kind_of(content) in FAMILIES


def kind_of(content: dict) -> str:
    if "Lfm2Bidirectional" in str(content.get("auto_map")):
        return "lfm2_bidirectional"
    code = content.get("auto_map", {}).get("AutoConfig", "").split(".")[-1]
    return CODE.get(code) or content.get("model_type", "bert")


def read_newer_config(directory: Path) -> NewerConfig:
    c = read_json(directory / "config.json")
    kind = kind_of(c)
    own = {key: c[key] for key in ("architectures", "projection_dim") if key in c}
    c = c | c.get("text_config", {}) | own
    classes, prefixes = FAMILIES[kind]
    get = lambda *names: next(c[name] for name in names if name in c)  # noqa: E731
    types = {"deberta-v2": 0, "deberta": 0, "gte": 1, "new": 1, "jina_embeddings_v3": 1}.get(kind, 2)
    types = 0 if kind in NO_TYPES else c.get("type_vocab_size", types)
    vocabulary, multiple = c["vocab_size"], c.get("pad_vocab_size_multiple", 1)
    epsilon = {"modernbert": "norm_eps", "eurobert": "rms_norm_eps", "ultrabert": "rms_norm_eps",
               **dict.fromkeys(GEMMAS, "rms_norm_eps"), **dict.fromkeys(DECODERS, "rms_norm_eps"),
               "openai_privacy_filter": "rms_norm_eps", "neobert": "norm_eps", "lfm2": "norm_eps",
               "lfm2_bidirectional": "norm_eps", "t5": "layer_norm_epsilon",
               "mt5": "layer_norm_epsilon"}.get(kind, "layer_norm_eps")
    longest, padding = 1 << 15 if kind.endswith("t5") else get("max_position_embeddings",
                                                                      "n_positions", "max_length"), None
    if kind in ("esm", "jina-roberta") and c.get("position_embedding_type", "absolute") == "absolute":
        padding = c["pad_token_id"]
        longest -= padding + 1
    architecture = c["architectures"][0]
    if architecture == "HF_ColBERT":  # its head is retrieval_reference.py's
        architecture = classes + "Model"
    layers = (c["encoder_layers"] + c["decoder_layers"] if kind == "bart" else
              get("num_hidden_layers", "n_layer", "num_layers"))
    return NewerConfig(
        directory, kind, c, prefixes, classes, architecture,
        layers, get("hidden_size", "n_embd", "d_model"),
        get("num_attention_heads", "n_head", "num_heads", "encoder_attention_heads"), -(-vocabulary // multiple) * multiple, types,
        longest, 1e-5 if kind in ("esmc", "bart") else float(c.get(epsilon, c.get("layer_norm_epsilon", 1e-12))), padding)
