# SPDX-License-Identifier: Apache-2.0
"""Random GLiNERs and their logits in float64, written from Zaratiana et al. 2023 and Stepanov and
Shtopko 2024, with the names of the published library's tensors.

write_span_model(DIR, NAME) makes the model DIR/NAME/ and DIR/NAME.json:
{"labels": [...], "texts": [{"text", "words": [[begin, end], ...], "logits": [[...], ...]}]}
with a row of logits for each span, those of word 0 by ascending width first, and in it a logit for
each label; or by_words, a row for each word and label, those of word 0 first, and in it those of a
beginning, an end and an inside.
"""
import json
import re
from pathlib import Path

import numpy as np

import make_model
import reference
from model_tokenizers import write_json
from reference_inputs import Input, WordPiece, read_json
from reference_tensors import Checkpoint
from tensor_file import write_tensors

WIDTH, WIDEST, WORDS = 20, 4, 12  # D; the most words of a span, and of a text
MARKER, SEPARATOR = "<<ENT>>", "<<SEP>>"
LABELS = ["man", "a walking girl"]
TEXTS = ["A man is playing a guitar.", "dogs", "Ca\u0301fé \u4f60\u597d, x_1-y--z!\u3000(42)", "two  dogs on the-beach?"]
Tensors = dict[str, np.ndarray]


def head_tensors(hidden: int, by_words: bool) -> Tensors:
    rng = np.random.default_rng(hidden)
    tensors: Tensors = {}

    def dense(name: str, columns: int, width: int) -> None:
        tensors[name + ".weight"] = rng.standard_normal((columns, width)) * 1.5 / width**0.5
        tensors[name + ".bias"] = 0.1 * rng.standard_normal(columns)

    dense("token_rep_layer.projection", WIDTH, hidden)
    for layer in range(2):
        for end in (f"l{layer}", f"l{layer}_reverse"):
            for part, width in (("ih", WIDTH), ("hh", WIDTH // 2)):
                tensors[f"rnn.lstm.weight_{part}_{end}"] = rng.standard_normal((2 * WIDTH, width)) / width**0.5
                tensors[f"rnn.lstm.bias_{part}_{end}"] = 0.1 * rng.standard_normal(2 * WIDTH)
    p = "span_rep_layer.span_rep_layer."
    if by_words:
        dense("scorer.proj_token", 2 * WIDTH, WIDTH)
        dense("scorer.proj_label", 2 * WIDTH, WIDTH)
        dense("scorer.out_mlp.0", 4 * WIDTH, 3 * WIDTH)
        dense("scorer.out_mlp.3", 3, 4 * WIDTH)
    else:
        for name, width in ((p + "project_start", WIDTH), (p + "project_end", WIDTH),
                            (p + "out_project", 2 * WIDTH), ("prompt_rep_layer", WIDTH)):
            dense(name + ".0", 4 * WIDTH, width)
            dense(name + ".3", WIDTH, 4 * WIDTH)
    return {name: values.astype("<f4") for name, values in tensors.items()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def linear(t: Tensors, name: str, x: np.ndarray) -> np.ndarray:
    return x @ t[name + ".weight"].T.astype("<f8") + t[name + ".bias"]


def two_layers(t: Tensors, name: str, x: np.ndarray) -> np.ndarray:
    return linear(t, name + ".3", np.maximum(linear(t, name + ".0", x), 0))


def lstm(t: Tensors, x: np.ndarray, end: str) -> np.ndarray:
    """One direction, in PyTorch's order of gates: input, forget, cell, output."""
    p = "rnn.lstm."
    cell = hidden = np.zeros(WIDTH // 2)
    out = []
    for row in x[::-1] if end.endswith("reverse") else x:
        gates = (t[f"{p}weight_ih_{end}"].astype("<f8") @ row + t[f"{p}bias_ih_{end}"]
                 + t[f"{p}weight_hh_{end}"].astype("<f8") @ hidden + t[f"{p}bias_hh_{end}"])
        i, f, g, o = np.split(gates, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        out.append(hidden)
    return np.array(out[::-1] if end.endswith("reverse") else out)


def logits_of(t: Tensors, words: np.ndarray, labels: np.ndarray) -> np.ndarray:
    words, labels = (linear(t, "token_rep_layer.projection", x) for x in (words, labels))
    for layer in range(2):
        words = np.concatenate([lstm(t, words, f"l{layer}"), lstm(t, words, f"l{layer}_reverse")], 1)
    return (word_logits if "scorer.proj_token.weight" in t else span_logits)(t, words, labels)


def word_logits(t: Tensors, words: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """[words * labels, 3]"""
    words, labels = linear(t, "scorer.proj_token", words), linear(t, "scorer.proj_label", labels)
    return two_layers(t, "scorer.out_mlp", np.array([
        np.concatenate([word[:WIDTH], label[:WIDTH], word[WIDTH:] * label[WIDTH:]])
        for word in words for label in labels]))


def span_logits(t: Tensors, words: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """[spans, labels]"""
    p = "span_rep_layer.span_rep_layer."
    starts, ends = (two_layers(t, p + name, words) for name in ("project_start", "project_end"))
    spans = [np.concatenate([starts[i], ends[j]]) for i in range(len(words))
             for j in range(i, min(len(words), i + WIDEST))]
    return two_layers(t, p + "out_project", np.maximum(spans, 0)) @ two_layers(t, "prompt_rep_layer", labels).T


def write_span_model(directory: Path, name: str, by_words: bool = False) -> None:
    model = directory / name
    make_model.make(["-o", str(model), *"--family deberta --shape 2,52,4,37 --positions 64 --head none".split()])
    lines = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
    ids = {lines[i]: i for i in (1, 2)}
    assert all(token.startswith("[unused") for token in ids)
    lines[1:3] = MARKER, SEPARATOR
    (model / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = read_json(model / "tokenizer_config.json")
    settings["added_tokens_decoder"] = {
        str(i): {"content": lines[i], "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
                 "special": True} for i in (1, 2)}
    write_json(model / "tokenizer_config.json", settings)
    config, head = read_json(model / "config.json"), head_tensors(52, by_words)
    write_reference(model, directory / f"{name}.json", head)
    checkpoint = Checkpoint(model, "")
    encoder = {"token_rep_layer.bert_layer.model." + tensor: checkpoint.get(tensor, *file.shape(tensor)).astype("<f4")
               for tensor, (file, _) in checkpoint.tensors.items()}
    write_tensors(model / "model.safetensors", encoder | head, {"format": "pt"})
    (model / "config.json").unlink()
    write_json(model / "gliner_config.json", {
        "model_type": "gliner_uni_encoder_span", "hidden_size": WIDTH, "max_width": WIDEST, "max_len": WORDS,
        "num_rnn_layers": 2, "span_mode": "token_level" if by_words else "markerV0", "ent_token": MARKER,
        "sep_token": SEPARATOR, "class_token_index": 1, "vocab_size": len(lines), "embed_ent_token": True, "encoder_config": config})


def write_reference(model: Path, path: Path, head: Tensors) -> None:
    """model: still an encoder by itself."""
    pieces = WordPiece(model)

    def ids_of(text: str) -> list[int]:
        return pieces.encode([text])[0][1:-1]

    before = [pieces.ids["[CLS]"]]
    markers = []
    for label in LABELS:
        markers.append(len(before))
        before += [1, *ids_of(label)]
    before.append(2)
    found = []
    for text in TEXTS:
        # A word without a token, such as a mark that the normalizer drops, is none.
        words = [word for word in re.finditer(r"\w+(?:[-_]\w+)*|\S", text) if ids_of(word.group())]
        ids, firsts = list(before), []
        for word in words:
            firsts.append(len(ids))
            ids += ids_of(word.group())
        ids.append(pieces.ids["[SEP]"])
        states = reference.compute(model, [Input(ids, [0] * len(ids))])["layer.1"]
        logits = logits_of(head, states[firsts], states[markers])
        found.append({"text": text, "words": [word.span() for word in words], "logits": logits.tolist()})
    path.write_text(json.dumps({"labels": LABELS, "texts": found}) + "\n", encoding="utf-8")
