# SPDX-License-Identifier: Apache-2.0
"""The pooler and the heads of each architecture, for reference.py."""
import numpy as np

from reference_config import BERTS_HALVES, Config, Head
from reference_tensors import ACTIVATIONS, Checkpoint
from tensor_file import FormatError


def add_heads(config: Config, checkpoint: Checkpoint, stages: dict[str, np.ndarray]) -> None:
    """Adds pooler, logits and next_sentence, as far as the architecture has them."""
    family, states = config.family, stages[f"layer.{config.layers - 1}"]
    head = config.architecture.removeprefix(family.classes)
    first = states[stages["starts"][:-1]]
    sentence = {"ForSequenceClassification": (family.classification, config.labels),
                "ForMultipleChoice": (family.choice, 1),
                "ForNextSentencePrediction": (Head(None, "", "cls.seq_relationship"), 2)}
    if config.architecture in BERTS_HALVES:
        sentence[head] = Head(None, "", "cls.seq_relationship"), 2
    elif config.architecture == "AlbertForPreTraining":
        sentence[head] = Head(None, "", "sop_classifier.classifier"), 2
    needs_pooler = head in sentence and sentence[head][0].dense is None
    if needs_pooler or (family.pooler and family.pooler + ".weight" in checkpoint.tensors):
        stages["pooler"] = np.tanh(checkpoint.linear(first, family.pooler, config.hidden))
    if head == "ForMaskedLM" or (head in sentence and head == "ForPreTraining"):
        stages["logits"] = masked_lm(config, checkpoint, states)
    elif head in ("ForTokenClassification", "ForQuestionAnswering"):
        name, columns = (("classifier", config.labels) if head == "ForTokenClassification"
                         else ("qa_outputs", 2))
        stages["logits"] = checkpoint.linear(states, name, columns)
    elif config.architecture == "ElectraForPreTraining":
        name = "discriminator_predictions.dense"
        wide = ACTIVATIONS[config.activation](checkpoint.linear(states, name, config.hidden))
        stages["logits"] = checkpoint.linear(wide, name + "_prediction", 1)
    if family.projects_texts:
        rows = config.projection, config.hidden
        stages["embedding"] = first @ checkpoint.get("text_projection.weight", *rows).T
    if head in sentence:
        x = stages["pooler"] if needs_pooler else first
        name = "next_sentence" if head == "ForPreTraining" else "logits"
        stages[name] = sentence_scores(checkpoint, x, *sentence[head])


def sentence_scores(checkpoint: Checkpoint, x: np.ndarray, head: Head, columns: int) -> np.ndarray:
    """x: [N, H], the pooler's output or the hidden states of the first tokens."""
    if head.dense:
        activation = np.tanh if head.activation == "tanh" else ACTIVATIONS[head.activation]
        x = activation(checkpoint.linear(x, head.dense, x.shape[1]))
    return checkpoint.linear(x, head.output, columns)


def masked_lm(config: Config, checkpoint: Checkpoint, states: np.ndarray) -> np.ndarray:
    """[T, V]: each token's scores over the vocabulary."""
    names = config.family.masked_lm
    x = checkpoint.linear(states, names.dense, config.decoder)
    x = ACTIVATIONS[names.activation or config.activation](x)
    x = checkpoint.layer_norm(x, names.norm, config.epsilon)
    bias = checkpoint.get(names.bias, config.vocabulary)
    has_own_bias = names.decoder_bias in checkpoint.tensors
    if not config.tied:
        if has_own_bias:
            bias = checkpoint.get(names.decoder_bias, config.vocabulary)
        return x @ checkpoint.get(names.decoder, config.vocabulary, config.decoder).T + bias
    words = checkpoint.get("embeddings.word_embeddings.weight", config.vocabulary, config.embedding)
    if has_own_bias:
        require_equal(checkpoint, names.decoder_bias, bias, names.bias)
    if names.decoder in checkpoint.tensors:
        require_equal(checkpoint, names.decoder, words, "embeddings.word_embeddings.weight")
    return x @ words.T + bias


def require_equal(checkpoint: Checkpoint, name: str, values: np.ndarray, other: str) -> None:
    """If tied tensors differ, transformers 4 uses the other one and transformers 5 this one."""
    if not np.array_equal(checkpoint.get(name, *values.shape), values):
        raise FormatError(f"{checkpoint.path}: {name} differs from {other}, to which it is tied "
                          "(tie_word_embeddings)")
