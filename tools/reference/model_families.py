# SPDX-License-Identifier: Apache-2.0
"""Tensor names, heads and config.json of each family, for make_model.py.

Names and keys are those of Hugging Face transformers (models/*/modeling_*.py, configuration_*.py).
tools/reference/reference.py has a separate table, so that a mistake in one of them shows.
"""
import argparse
from dataclasses import dataclass, field, replace

from tensor_file import FormatError


@dataclass(frozen=True)
class Family:
    classes: str  # prefix of its class names
    prefix: str  # prefix of the encoder's tensors if there is a head
    layer: str = "encoder.layer.{}."
    # query, key, value, attention output, its norm, feed-forward in and out, its norm
    parts: tuple[str, ...] = (
        "attention.self.query", "attention.self.key", "attention.self.value",
        "attention.output.dense", "attention.output.LayerNorm",
        "intermediate.dense", "output.dense", "output.LayerNorm")
    final_norm: str | None = None  # after layers whose norms come first
    norms_embeddings: bool = True
    pooler: str | None = "pooler.dense"
    pooled: tuple[str, ...] = ("none", "choice")  # the heads whose model has a pooler
    heads: dict[str, str] = field(default_factory=dict)
    decoder: str = ""  # weight of the masked language model, tied to the word embeddings
    decoder_bias: str = ""  # tied to the head's bias, if that has another name
    act: str = "gelu"
    types: int = 2  # 0: no token type embeddings
    epsilon: float = 1e-12
    settings: dict = field(default_factory=dict)  # more of config.json

    def decoder_in(self, head: str) -> bool:
        """Whether the head predicts vocabulary entries."""
        return head == "mlm" or ("mlm" in self.heads and self.heads["mlm"] in self.heads.get(head, ""))


# Each layer of a head: kind, name, outputs, inputs, gain. H hidden, E embedding, O decoder, V vocabulary,
# C labels, P projection.
ONE_LAYER = {"tokens": "dense classifier C H 2", "qa": "dense qa_outputs 2 H 2"}
ON_POOLER = {"classification": "dense classifier C H 2", "choice": "dense classifier 1 H 2"}
ON_FIRST = {"classification": "dense classifier.dense H H 1.5; dense classifier.out_proj C H 2",
            "choice": "dense classifier 1 H 2"}
LM_HEAD = {"mlm": "bias lm_head.bias V; dense lm_head.dense H H 1; norm lm_head.layer_norm H"}
REMBERT_LM = ("bias cls.predictions.decoder.bias V; dense cls.predictions.dense O H 1; "
              "norm cls.predictions.LayerNorm O")
BERT_LM = ("bias cls.predictions.bias V; dense cls.predictions.transform.dense H H 1; "
           "norm cls.predictions.transform.LayerNorm H")
ALBERT_LM = "bias predictions.bias V; dense predictions.dense E H 1; norm predictions.LayerNorm E"

BERT = Family("Bert", "bert.", pooled=("none", "classification", "nsp", "pretraining", "choice"),
              heads={**ONE_LAYER, **ON_POOLER, "mlm": BERT_LM,
                     "nsp": "dense cls.seq_relationship 2 H 2",
                     "pretraining": "dense cls.seq_relationship 2 H 2; " + BERT_LM},
              decoder="cls.predictions.decoder.weight",
              decoder_bias="cls.predictions.decoder.bias")
DISTILBERT = Family(
    "DistilBert", "distilbert.", "transformer.layer.{}.",
    ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
     "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"), pooler=None, types=0,
    heads={**ONE_LAYER,
           "classification": "dense pre_classifier H H 1.5; dense classifier C H 2",
           "choice": "dense pre_classifier H H 1.5; dense classifier 1 H 2",
           "mlm": "dense vocab_transform H H 1; norm vocab_layer_norm H; "
                  "bias vocab_projector.bias V"}, decoder="vocab_projector.weight")
ELECTRA = Family(
    "Electra", "electra.", pooler=None,
    heads={**ONE_LAYER, "classification": ON_FIRST["classification"],
           "choice": "dense sequence_summary.summary H H 1.5; dense classifier 1 H 2",
           "mlm": "norm generator_predictions.LayerNorm E; "
                  "dense generator_predictions.dense E H 1; bias generator_lm_head.bias V",
           "pretraining": "dense discriminator_predictions.dense H H 1.5; "
                          "dense discriminator_predictions.dense_prediction 1 H 2"},
    decoder="generator_lm_head.weight",
    settings={"summary_activation": "gelu", "summary_last_dropout": 0.1, "summary_type": "first",
              "summary_use_proj": True})
ALBERT = Family(
    "Albert", "albert.", "encoder.albert_layer_groups.{}.albert_layers.{}.",
    ("attention.query", "attention.key", "attention.value", "attention.dense",
     "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm"),
    pooler="pooler", pooled=("none", "classification", "pretraining", "choice"), act="gelu_new",
    heads={**ONE_LAYER, **ON_POOLER, "mlm": ALBERT_LM,
           "pretraining": ALBERT_LM + "; dense sop_classifier.classifier 2 H 2"},
    decoder="predictions.decoder.weight", decoder_bias="predictions.decoder.bias",
    settings={"bos_token_id": 2, "classifier_dropout_prob": 0.1, "eos_token_id": 3})
XLM_ROBERTA = Family(
    "XLMRoberta", "roberta.", heads={**ONE_LAYER, **ON_FIRST, **LM_HEAD},
    decoder="lm_head.decoder.weight", decoder_bias="lm_head.decoder.bias", types=1, epsilon=1e-5,
    settings={"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1})
CAMEMBERT = Family(
    "Camembert", "roberta.", heads=XLM_ROBERTA.heads, decoder=XLM_ROBERTA.decoder,
    decoder_bias=XLM_ROBERTA.decoder_bias, types=1, epsilon=1e-5,
    settings={"bos_token_id": 5, "eos_token_id": 6, "pad_token_id": 1})
MPNET = Family(
    "MPNet", "mpnet.", parts=(
        "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o",
        "attention.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
    heads=XLM_ROBERTA.heads, decoder=XLM_ROBERTA.decoder, decoder_bias=XLM_ROBERTA.decoder_bias,
    types=0, epsilon=1e-5,
    settings={"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1,
              "relative_attention_num_buckets": 32})

ERNIE = replace(BERT, classes="Ernie", prefix="ernie.",
                settings={"use_task_id": True, "task_type_vocab_size": 3})

REMBERT = replace(BERT, classes="RemBert", prefix="rembert.", pooled=("none", "classification", "choice"),
                  heads={**ONE_LAYER, **ON_POOLER, "mlm": REMBERT_LM}, decoder_bias="")
CHINESE_CLIP = replace(BERT, classes="ChineseCLIP", prefix="text_model.", pooled=(),
                       heads={"none": "matrix text_projection P H 1"})

DATA2VEC = replace(XLM_ROBERTA, classes="Data2VecText", prefix="data2vec_text.")
LONGFORMER = replace(XLM_ROBERTA, classes="Longformer", prefix="longformer.", pooled=("none",),
                     heads={"tokens": ONE_LAYER["tokens"], **LM_HEAD},
                     settings={**XLM_ROBERTA.settings, "attention_window": 12})


def norms_first(family: Family, attention_norm: str, norm: str, final: str, **settings) -> Family:
    parts = (*family.parts[:4], attention_norm, *family.parts[5:7], norm)
    return replace(family, parts=parts, final_norm=final, **settings)


MEGATRON = norms_first(BERT, "attention.ln", "ln", "encoder.ln", classes="MegatronBert", norms_embeddings=False)
PRE_LAYER_NORM = norms_first(XLM_ROBERTA, "attention.LayerNorm", "intermediate.LayerNorm", "LayerNorm",
                             classes="RobertaPreLayerNorm", prefix="roberta_prelayernorm.", types=2)
XLM_ROBERTA_XL = norms_first(XLM_ROBERTA, "attention.self_attn_layer_norm", "LayerNorm", "encoder.LayerNorm",
                             classes="XLMRobertaXL", norms_embeddings=False)

FAMILIES = {"bert": BERT, "ernie": ERNIE, "megatron-bert": MEGATRON, "distilbert": DISTILBERT, "electra": ELECTRA,
            "albert": ALBERT, "xlm-roberta": XLM_ROBERTA, "camembert": CAMEMBERT, "data2vec-text": DATA2VEC,
            "roberta-prelayernorm": PRE_LAYER_NORM, "xlm-roberta-xl": XLM_ROBERTA_XL, "longformer": LONGFORMER,
            "mpnet": MPNET, "rembert": REMBERT, "chinese_clip": CHINESE_CLIP}
HEADS = {"none": "Model", "classification": "ForSequenceClassification",
         "nsp": "ForNextSentencePrediction", "pretraining": "ForPreTraining",
         "mlm": "ForMaskedLM", "tokens": "ForTokenClassification", "qa": "ForQuestionAnswering",
         "choice": "ForMultipleChoice"}
POSITION_TYPES = {"absolute": tuple(FAMILIES), "relative_key": ("bert",),
                  "relative_key_query": ("bert",), "sinusoidal": ("distilbert",)}


def resolve_options(args: argparse.Namespace) -> Family:
    """Fills in the family's defaults; refuses options that it does not support."""
    family = FAMILIES[args.family]
    if args.family == "rembert" and args.head == "mlm":
        args.decoder = "untied"
    if args.head != "none" and args.head not in family.heads:
        raise FormatError(f"--head is {args.head}, expected one of none, "
                          f"{', '.join(family.heads)} for --family {args.family}")
    if args.family not in POSITION_TYPES[args.position_type]:
        raise FormatError(f"--position-type {args.position_type} requires --family "
                          f"{' or '.join(POSITION_TYPES[args.position_type])}")
    restricted = (("--embedding-size", args.embedding_size, None, ("albert", "electra", "rembert")),
                  ("--groups", args.groups, 1, ("albert",)),
                  ("--inner-groups", args.inner_groups, 1, ("albert",)))
    for option, value, default, families in restricted:
        if value != default and args.family not in families:
            raise FormatError(f"{option} requires --family {' or '.join(families)}")
    if args.decoder != "tied" and not family.decoder_in(args.head):
        raise FormatError(f"--decoder {args.decoder} requires a head that predicts tokens")
    args.act = args.act or family.act
    args.epsilon = family.epsilon if args.epsilon is None else args.epsilon
    args.types = (args.types or family.types) if family.types else 0
    args.embedding_size = args.embedding_size or args.shape[1]
    return family


def layer_names(args: argparse.Namespace) -> list[str]:
    """Name prefixes of the stored layers; ALBERT shares layers."""
    family = FAMILIES[args.family]
    if args.family == "albert":
        return [family.prefix + family.layer.format(group, inner)
                for group in range(args.groups) for inner in range(args.inner_groups)]
    return [family.prefix + family.layer.format(i) for i in range(args.shape[0])]


def decoder_width(args: argparse.Namespace) -> int:
    """Of RemBERT wider than the hidden state, as in the published model."""
    return args.shape[1] + 7 if args.family == "rembert" else args.embedding_size


def projection_width(args: argparse.Namespace) -> int:
    return args.shape[1] // 2 + 1


def with_images(text: dict, projection: int) -> dict:
    """The config.json of Chinese CLIP, of which the part for images is as small as can be."""
    top = ("architectures", "model_type", "torch_dtype")
    return {key: text[key] for key in top} | {
        "projection_dim": projection, "logit_scale_init_value": 2.6592, "initializer_factor": 1.0,
        "text_config": {key: value for key, value in text.items() if key not in top},
        "vision_config": {"hidden_size": 4, "model_type": "chinese_clip_vision_model"}}


def config(args: argparse.Namespace, vocab: int) -> dict:
    family = FAMILIES[args.family]
    layers, hidden, heads, intermediate = args.shape
    torch_dtype = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[args.dtype]
    common = {"architectures": [family.classes + HEADS[args.head]], "initializer_range": 0.02,
              "max_position_embeddings": args.positions, "model_type": args.family,
              "pad_token_id": 0, "torch_dtype": torch_dtype, "vocab_size": vocab}
    if args.decoder == "untied":
        common["tie_word_embeddings"] = False
    if args.family == "distilbert":
        return {**common, "activation": args.act, "attention_dropout": 0.1, "dim": hidden,
                "dropout": 0.1, "hidden_dim": intermediate, "n_heads": heads, "n_layers": layers,
                "qa_dropout": 0.1, "seq_classif_dropout": 0.2,
                "sinusoidal_pos_embds": args.position_type == "sinusoidal", "tie_weights_": True}
    common |= {"attention_probs_dropout_prob": 0.1, "hidden_act": args.act,
               "hidden_dropout_prob": 0.1, "hidden_size": hidden,
               "intermediate_size": intermediate, "layer_norm_eps": args.epsilon,
               "num_attention_heads": heads, "num_hidden_layers": layers, **family.settings}
    if args.family == "mpnet":
        return common
    common |= {"position_embedding_type": args.position_type, "type_vocab_size": args.types}
    if args.family == "albert":
        return {**common, "embedding_size": args.embedding_size,
                "inner_group_num": args.inner_groups, "num_hidden_groups": args.groups}
    if args.family == "rembert":
        common |= {"input_embedding_size": args.embedding_size, "output_embedding_size": decoder_width(args)}
    if args.family == "chinese_clip":
        return with_images(common, projection_width(args))
    if args.family == "electra":
        common["embedding_size"] = args.embedding_size
    return {**common, "use_cache": True}
