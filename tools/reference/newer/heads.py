# SPDX-License-Identifier: Apache-2.0
"""The poolers and heads of the newer families, by the names of tensors that each has."""
import numpy as np

from newer.config import DECODERS, GEMMAS, NewerConfig
from newer.tensors import Tensors, activation

DEBERTA = ("deberta", "deberta-v2")

def scores(config: NewerConfig, t: Tensors, x: np.ndarray) -> dict[str, np.ndarray]:
    """The pooler and the head of one input."""
    head, stages = config.architecture.removeprefix(config.classes), {}
    of_input = head in ("ForSequenceClassification", "ForMultipleChoice")
    if config.kind == "modernbert":
        if head == "Model":
            return {}
        if of_input:
            mean = config.get("classifier_pooling", "cls") == "mean"
            x = x.mean(0, keepdims=True) if mean else x[:1]
        act = activation(config.get("classifier_activation", "gelu"))
        x = t.norm(act(t.linear(x, "head.dense")), "head.norm")
        if head == "ForMaskedLM":
            return {"logits": predictions(t, x, "embeddings.tok_embeddings.weight", "decoder")}
        return {"logits": t.linear(x, "classifier")}
    if config.kind == "eurobert":
        return euro_bert(config, t, x, head)
    if config.kind == "neobert":
        return neo_bert(t, x, head)
    if config.kind == "ultrabert":
        return ultra_bert(config, t, x, head)
    if config.kind == "llama_bidirec" and of_input:
        pooling = config.get("pooling", "avg")
        x = x.mean(0, keepdims=True) if pooling == "avg" else x[:1] if pooling == "cls" else x[-1:]
        return {"logits": t.linear(x, "score") / config.get("temperature", 1.0)}
    if config.kind in DECODERS and head.endswith("Classification"):
        return {"logits": t.linear(x[-1:] if of_input else x, "score")}
    if config.kind == "lfm2_bidirectional" and head != "Model":
        if head == "ForMaskedLM":
            return {"logits": x @ t["embed_tokens.weight"].T}
        return {"logits": t.linear(x[-1:] if of_input else x, "score")}
    if config.kind in (*GEMMAS, *DECODERS, "lfm2", "lfm2_bidirectional") or head == "EncoderModel":
        return {}
    if config.kind in ("esmc", "openai_privacy_filter") and head == "ForTokenClassification":
        return {"logits": t.linear(x, "score")}
    if config.kind in ("esmc", "openai_privacy_filter") and head == "Model":
        return {}
    of_first = config.kind.startswith("jina") or config.kind in ("esm", "esmc")
    if of_first and head == "ForSequenceClassification" and "classifier.dense.weight" in t:
        return {"logits": t.linear(np.tanh(t.linear(x[:1], "classifier.dense")), "classifier.out_proj")}
    if head in ("ForMaskedLM", "ForPreTraining"):
        return {"logits": masked_lm(config, t, x)}
    if of_input or (config.kind not in DEBERTA and "pooler.dense.weight" in t):
        act = np.tanh
        if config.kind in DEBERTA:
            act = activation(config.get("pooler_hidden_act", "gelu"))
        pooled = act(t.linear(x[:1], "pooler.dense"))
        if config.kind not in DEBERTA:
            stages["pooler"] = pooled
        x = pooled if of_input else x
    if head != "Model":
        name = "qa_outputs" if head == "ForQuestionAnswering" else "classifier"
        stages["logits"] = t.linear(x, name)
    return stages


def euro_bert(config: NewerConfig, t: Tensors, x: np.ndarray, head: str) -> dict[str, np.ndarray]:
    if head == "Model":
        return {}
    if head == "ForMaskedLM":
        return {"logits": predictions(t, x, "embed_tokens.weight", "lm_head")}
    if head == "ForTokenClassification":
        return {"logits": t.linear(x, "classifier")}
    pooling = config.get("classifier_pooling", config.get("clf_pooling", "late"))
    if pooling != "late":
        x = x.mean(0, keepdims=True) if pooling == "mean" else x[:1]
    each = t.linear(activation("gelu")(t.linear(x, "dense")), "classifier")
    return {"logits": each.mean(0, keepdims=True)}


def ultra_bert(config: NewerConfig, t: Tensors, x: np.ndarray, head: str) -> dict[str, np.ndarray]:
    if head == "Model":
        return {}
    if head == "ForMaskedLM":
        act = activation("gelu_pytorch_tanh")
        x = act(t.linear(act(t.linear(x, "head.linear1")), "head.linear2"))
        return {"logits": predictions(t, x, "embed_tokens.weight", "cls")}
    if head == "ForSequenceClassification":
        mean = config.get("classifier_pooling", "cls") == "mean"
        x = x.mean(0, keepdims=True) if mean else x[:1]
    return {"logits": t.linear(x, "qa_outputs" if head == "ForQuestionAnswering" else "classifier")}


def neo_bert(t: Tensors, x: np.ndarray, head: str) -> dict[str, np.ndarray]:
    if not head:
        return {}
    if head == "LMHead":
        return {"logits": t.linear(x, "decoder")}
    return {"logits": t.linear(np.tanh(t.linear(x[:1], "dense")), "classifier")}


def predictions(t: Tensors, x: np.ndarray, words: str, decoder: str, bias: str = "") -> np.ndarray:
    name = bias or decoder + ".bias"
    weight = t[decoder + ".weight"] if decoder + ".weight" in t else t[words]
    return x @ weight.T + (t[name] if name in t else 0)


def masked_lm(config: NewerConfig, t: Tensors, x: np.ndarray) -> np.ndarray:
    act = activation(config.get("hidden_act", config.get("activation_function")))
    words = "embeddings.word_embeddings.weight"
    if config.kind == "esmc":
        x = t.norm(activation("gelu")(t.linear(x, "lm_head.dense")), "lm_head.layer_norm")
        return t.linear(x, "lm_head.decoder")
    if "lm_head.dense.weight" in t:
        norm = "lm_head.norm" if "lm_head.norm.weight" in t else "lm_head.layer_norm"
        bias = "lm_head.bias" if config.kind.startswith("jina") or config.kind == "esm" else ""
        return predictions(t, t.norm(act(t.linear(x, "lm_head.dense")), norm), words,
                           "lm_head.decoder", bias)
    p = "lm_predictions.lm_head."
    if p + "dense.weight" in t:
        x = t.norm(act(t.linear(x, p + "dense")), p + "LayerNorm")
        return predictions(t, x, words, p + "decoder", p + "bias")
    p = "cls.predictions."
    norm = p + "transform." + ("layer_norm" if config.kind == "nomic_bert" else "LayerNorm")
    x = t.norm(act(t.linear(x, p + "transform.dense")), norm)
    return predictions(t, x, words, p + "decoder", p + "bias")
