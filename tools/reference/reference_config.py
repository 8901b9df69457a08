# SPDX-License-Identifier: Apache-2.0
"""The families' tensor and class names for reference.py, and its reader of config.json.

Written from the published behaviour of Hugging Face transformers, separately from make_model.py.
"""
from dataclasses import dataclass, replace
from pathlib import Path

from newer.config import NewerConfig, is_newer, read_newer_config
from reference_inputs import read_json
from reference_tensors import ACTIVATIONS
from tensor_file import FormatError

EVERY_FAMILY = ("Model", "ForSequenceClassification", "ForMaskedLM", "ForTokenClassification",
                "ForQuestionAnswering", "ForMultipleChoice")
BERTS_HALVES = ("BertForPreTraining", "ErnieForPreTraining", "MegatronBertForPreTraining")
BOTH_HALVES = (*BERTS_HALVES, "AlbertForPreTraining")


@dataclass(frozen=True)
class Head:
    """The layers that score the first token's hidden state; without dense, the pooler's output."""
    dense: str | None
    activation: str
    output: str


@dataclass(frozen=True)
class MaskedLM:
    dense: str
    norm: str
    decoder: str  # equal to the word embeddings if tied
    bias: str
    activation: str | None = None  # None: hidden_act
    decoder_bias: str | None = None  # a second name of the bias


@dataclass(frozen=True)
class Family:
    classes: str
    prefix: str
    attention: tuple[str, str, str, str]  # query, key, value, output
    attention_norm: str
    wide: str
    narrow: str
    norm: str
    classification: Head
    choice: Head
    masked_lm: MaskedLM
    pooler: str | None = "pooler.dense"
    more_heads: tuple[str, ...] = ()
    layer: str = "encoder.layer.{}."
    projection: str | None = None  # from the embedding width to the hidden width
    has_types: bool = True
    final_norm: str | None = None  # with it, the norms come before attention and feed-forward
    norms_embeddings: bool = True
    projects_texts: bool = False  # an embedding is the first token's hidden state, projected


POOLED = Head(None, "", "classifier")  # on the pooler's output
DENSE_TANH = Head("classifier.dense", "tanh", "classifier.out_proj")
PRE_CLASSIFIER = Head("pre_classifier", "relu", "classifier")
BERT_ATTENTION = ("attention.self.query", "attention.self.key", "attention.self.value",
                  "attention.output.dense")
BERT_LAYER = (BERT_ATTENTION, "attention.output.LayerNorm", "intermediate.dense", "output.dense",
              "output.LayerNorm")
LM_HEAD = MaskedLM("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder.weight", "lm_head.bias",
                   "gelu", "lm_head.decoder.bias")
FAMILIES = {
    "bert": Family(
        "Bert", "bert.", *BERT_LAYER, POOLED, POOLED,
        MaskedLM("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                 "cls.predictions.decoder.weight", "cls.predictions.bias",
                 decoder_bias="cls.predictions.decoder.bias"),
        more_heads=("ForPreTraining", "ForNextSentencePrediction")),
    "distilbert": Family(
        "DistilBert", "distilbert.",
        ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
        "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm", PRE_CLASSIFIER,
        PRE_CLASSIFIER, MaskedLM("vocab_transform", "vocab_layer_norm", "vocab_projector.weight",
                                 "vocab_projector.bias"),
        pooler=None, layer="transformer.layer.{}.", has_types=False),
    "electra": Family(
        "Electra", "electra.", *BERT_LAYER, Head("classifier.dense", "gelu", "classifier.out_proj"),
        Head("sequence_summary.summary", "gelu", "classifier"),
        MaskedLM("generator_predictions.dense", "generator_predictions.LayerNorm",
                 "generator_lm_head.weight", "generator_lm_head.bias", "gelu"),
        pooler=None, more_heads=("ForPreTraining",), projection="embeddings_project"),
    "albert": Family(
        "Albert", "albert.",
        ("attention.query", "attention.key", "attention.value", "attention.dense"),
        "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm", POOLED, POOLED,
        MaskedLM("predictions.dense", "predictions.LayerNorm", "predictions.decoder.weight",
                 "predictions.bias", decoder_bias="predictions.decoder.bias"),
        pooler="pooler", more_heads=("ForPreTraining",),
        layer="encoder.albert_layer_groups.{}.albert_layers.{}.",
        projection="encoder.embedding_hidden_mapping_in"),
    "xlm-roberta": Family("XLMRoberta", "roberta.", *BERT_LAYER, DENSE_TANH, POOLED, LM_HEAD),
    "camembert": Family("Camembert", "roberta.", *BERT_LAYER, DENSE_TANH, POOLED, LM_HEAD),
    "rembert": Family(
        "RemBert", "rembert.", *BERT_LAYER, POOLED, POOLED,
        MaskedLM("cls.predictions.dense", "cls.predictions.LayerNorm", "cls.predictions.decoder.weight",
                 "cls.predictions.decoder.bias"),
        projection="encoder.embedding_hidden_mapping_in"),
    "mpnet": Family(
        "MPNet", "mpnet.",
        ("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"),
        "attention.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
        DENSE_TANH, POOLED, LM_HEAD, has_types=False),
}
# RoBERTa is XLM-RoBERTa but for its classes' names and its tokenizer, ERNIE is BERT with tasks.
BERT, ROBERTA = FAMILIES["bert"], FAMILIES["xlm-roberta"]
MODEL_TYPES = {
    **FAMILIES, "roberta": replace(ROBERTA, classes="Roberta"),
    "ernie": replace(BERT, classes="Ernie", prefix="ernie."),
    "chinese_clip": replace(BERT, classes="ChineseCLIP", prefix="text_model.", pooler=None, projects_texts=True),
    "data2vec-text": replace(ROBERTA, classes="Data2VecText", prefix="data2vec_text."),
    "longformer": replace(ROBERTA, classes="Longformer", prefix="longformer."),
    "megatron-bert": replace(BERT, classes="MegatronBert", attention_norm="attention.ln", norm="ln",
                             final_norm="encoder.ln", norms_embeddings=False),
    "roberta-prelayernorm": replace(
        ROBERTA, classes="RobertaPreLayerNorm", prefix="roberta_prelayernorm.",
        attention_norm="attention.LayerNorm", norm="intermediate.LayerNorm", final_norm="LayerNorm"),
    "xlm-roberta-xl": replace(
        ROBERTA, classes="XLMRobertaXL", attention_norm="attention.self_attn_layer_norm",
        norm="LayerNorm", final_norm="encoder.LayerNorm", norms_embeddings=False)}
DISTILBERT_KEYS = {"hidden_size": "dim", "num_hidden_layers": "n_layers",
                   "num_attention_heads": "n_heads", "intermediate_size": "hidden_dim",
                   "hidden_act": "activation"}


@dataclass
class Config:
    directory: Path
    family: Family
    architecture: str
    layers: int
    # Prefixes of the tensors of each layer in the order of application. ALBERT's repeat, and one of
    # its layers may consist of several inner ones.
    layer_names: list[str]
    hidden: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int  # rows of the position embeddings
    types: int  # 0: type ids are ignored
    tasks: int  # of ERNIE, whose first one all inputs have; 0: none
    labels: int
    activation: str
    epsilon: float
    embedding: int  # width of the embeddings
    projection: int  # width of text embeddings, where these are projected
    decoder: int  # width of the masked language model's decoder
    padding: int | None  # positions count from padding + 1; None: from 0
    position_type: str
    buckets: int  # for MPNet's relative positions; 0: none
    tied: bool
    windows: list[int] | None  # by layer, how far a token attends to each side; None: to all tokens

    @property
    def longest(self) -> int:
        """Tokens in the longest possible input."""
        return self.positions if self.padding is None else self.positions - self.padding - 1


class ConfigFile:
    """config.json; translates the keys that DistilBERT names differently."""

    def __init__(self, directory: Path):
        self.path = directory / "config.json"
        self.content = read_json(self.path)
        self.content |= {key: value for key, value in self.content.get("text_config", {}).items()
                         if key not in ("architectures", "model_type")}
        self.model_type = self.expect("model_type", tuple(MODEL_TYPES), "bert")

    def key(self, name: str) -> str:
        return DISTILBERT_KEYS.get(name, name) if self.model_type == "distilbert" else name

    def number(self, name: str, default: int | None = None, minimum: int = 1) -> int:
        value = self.content.get(self.key(name), default)
        if type(value) is not int or value < minimum:
            kind = "a positive integer" if minimum else "a non-negative integer"
            raise FormatError(f"{self.path}: {self.key(name)} is {value}, expected {kind}")
        return value

    def expect(self, name: str, allowed: tuple, default=None):
        key = self.key(name) if name != "model_type" else name
        value = self.content.get(key, default)
        if value not in allowed:
            raise FormatError(f"{self.path}: {key} is {value!r}, expected one of "
                              f"{', '.join(map(repr, allowed))}")
        return value

    def architecture(self, family: Family) -> str:
        allowed = [family.classes + head for head in EVERY_FAMILY + family.more_heads]
        found = self.content.get("architectures") or allowed[:1]
        if found == ["HF_ColBERT"]:  # its head is retrieval_reference.py's
            found = allowed[:1]
        if found[0] not in allowed:
            raise FormatError(f"{self.path}: architectures is {found}, expected one of "
                              f"{', '.join(allowed)}")
        return found[0]

    def labels(self) -> int:
        # transformers omits id2label if it is the default, two labels.
        names = self.content.get("id2label")
        return len(names) if names else self.number("num_labels", 2)

    def layer_names(self, family: Family) -> list[str]:
        layers = self.number("num_hidden_layers")
        if self.model_type != "albert":
            return [family.layer.format(i) for i in range(layers)]
        groups, inner = self.number("num_hidden_groups", 1), self.number("inner_group_num", 1)
        return [family.layer.format(i * groups // layers, j)
                for i in range(layers) for j in range(inner)]

    def windows(self, layers: int) -> list[int] | None:
        if self.model_type != "longformer":
            return None
        widths = self.content.get("attention_window", 512)
        return [width // 2 for width in (widths if isinstance(widths, list) else [widths] * layers)]

    def padding(self) -> int | None:
        if self.model_type == "mpnet":
            return 1  # regardless of pad_token_id
        is_roberta = MODEL_TYPES[self.model_type].masked_lm == LM_HEAD
        return self.number("pad_token_id", 1, minimum=0) if is_roberta else None


def read_config(directory: Path) -> Config | NewerConfig:
    if is_newer(read_json(directory / "config.json")):
        return read_newer_config(directory)
    file = ConfigFile(directory)
    kind, family = file.model_type, MODEL_TYPES[file.model_type]
    relative = ("relative_key", "relative_key_query") if kind == "bert" else ()
    file.expect("is_decoder", (False,), False)
    architecture = file.architecture(family)
    if architecture == "ElectraForMultipleChoice":
        file.expect("summary_type", ("first",), "first")
        file.expect("summary_use_proj", (True,), True)
        file.expect("summary_activation", ("gelu",), "gelu")
    hidden, heads = file.number("hidden_size"), file.number("num_attention_heads")
    if hidden % heads:
        raise FormatError(f"{file.path}: {file.key('hidden_size')} is {hidden}, expected a "
                          f"multiple of {file.key('num_attention_heads')}, {heads}")
    activation = "gelu_new" if kind == "albert" else "gelu"
    embedding = hidden
    if family.projection:
        embedding = (file.number("input_embedding_size", 256) if kind == "rembert" else
                     file.number("embedding_size", 128))
    return Config(
        directory, family, architecture, file.number("num_hidden_layers"),
        file.layer_names(family), hidden, heads,
        intermediate=file.number("intermediate_size"), vocabulary=file.number("vocab_size"),
        positions=file.number("max_position_embeddings", 512),
        types=file.number("type_vocab_size", 2) if family.has_types else 0,
        tasks=file.number("task_type_vocab_size", 3) if file.content.get("use_task_id") else 0,
        labels=file.labels(),
        activation=file.expect("hidden_act", tuple(ACTIVATIONS), activation),
        epsilon=1e-12 if kind == "distilbert" else float(file.content.get("layer_norm_eps", 1e-12)),
        embedding=embedding, projection=file.number("projection_dim", 512) if family.projects_texts else hidden,
        decoder=file.number("output_embedding_size", 1664) if kind == "rembert" else embedding,
        padding=file.padding(),
        position_type=file.expect("position_embedding_type", ("absolute", *relative), "absolute"),
        # transformers' bucket formula is for 32 regardless of the config.
        buckets=file.expect("relative_attention_num_buckets", (32,), 32) if kind == "mpnet" else 0,
        tied=kind != "rembert" and file.expect("tie_word_embeddings", (True, False), True),
        windows=file.windows(file.number("num_hidden_layers")))
