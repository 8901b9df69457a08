# SPDX-License-Identifier: Apache-2.0
"""The heads of the random models of models.py."""
import argparse

from newer.families import bart, mobile_bert
from newer.models import DECODERS, PREFIXES, padded


def head(w, args: argparse.Namespace, c: dict, vocab: int) -> None:
    """The tensors of --head, named as each family's published classes do."""
    hidden, kind, family, p = args.shape[1], args.head, args.family, PREFIXES[args.family]
    vocab = padded(c, vocab)
    columns = {"classification": args.labels, "tokens": args.labels, "qa": 2, "choice": 1}
    if family == "bart":
        return bart.random_head(w, args, vocab)
    if family == "mobilebert":
        return mobile_bert.random_head(w, args, c, vocab)
    if family == "modernbert":
        if kind != "none":
            w.dense("head.dense", hidden, hidden, 1.5, c["classifier_bias"])
            w.norm("head.norm", hidden, c["norm_bias"])
        if kind == "mlm" and c["decoder_bias"]:
            w.add("decoder.bias", (vocab,), 0.1)
        if kind in columns:
            w.dense("classifier", columns[kind], hidden, 2)
        return
    if family == "eurobert":
        if kind == "mlm":
            w.add("lm_head.weight", (vocab, hidden), 0.1)
            if c["mlp_bias"]:
                w.add("lm_head.bias", (vocab,), 0.1)
        if kind == "classification":
            w.dense("dense", hidden, hidden, 1.5)
        if kind in columns:
            w.dense("classifier", columns[kind], hidden, 2)
        return
    if family == "ultrabert":
        if kind == "mlm":
            w.dense("head.linear1", c["prediction_head_size"], hidden, 1, False)
            w.dense("head.linear2", hidden, c["prediction_head_size"], 1.5, False)
            w.add("cls.weight", (vocab, hidden), 0.1)
        elif kind in columns:
            w.dense("qa_outputs" if kind == "qa" else "classifier", columns[kind], hidden, 2)
        return
    if family == "neobert":
        if kind == "mlm":
            w.dense("decoder", vocab, hidden, 1)
        elif kind == "classification":
            w.dense("dense", hidden, hidden, 1)
            w.dense("classifier", args.labels, hidden, 2)
        return
    if family == "lfm2" and kind == "mlm":
        return  # tied to the word embeddings
    if (family in DECODERS or family == "lfm2") and kind in columns:
        w.dense("score", columns[kind], hidden, 2, kind == "tokens")
        return
    if family == "esmc" and kind == "mlm":
        w.dense("lm_head.dense", hidden, hidden, 1)
        w.norm("lm_head.layer_norm", hidden)
        w.dense("lm_head.decoder", vocab, hidden, 1)
        return
    if family in ("esmc", "privacy-filter") and kind == "tokens":
        w.dense("score", args.labels, hidden, 2)
        return
    if family in ("jina-roberta", "jina-v3", "esm", "esmc") and kind == "classification":
        w.dense("classifier.dense", hidden, hidden, 1)
        w.dense("classifier.out_proj", args.labels, hidden, 2)
        return
    if kind == "mlm":
        masked_lm(w, family, hidden, c.get("embedding_size", hidden), vocab, c)
    elif kind in columns:
        if kind in ("classification", "choice"):
            w.dense(("" if "deberta" in family else p) + "pooler.dense", hidden, hidden, 1)
        w.dense("qa_outputs" if kind == "qa" else "classifier", columns[kind], hidden, 2)


def masked_lm(w, family: str, hidden: int, width: int, vocab: int, c: dict) -> None:
    names = {"nomic": ("cls.predictions.transform.dense", "cls.predictions.transform.layer_norm",
                       "cls.predictions.bias"),
             "gte": ("lm_head.dense", "lm_head.norm", "lm_head.decoder.bias"),
             "gte5": ("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder.bias"),
             "jina": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                      "cls.predictions.bias"),
             "new-deberta": ("lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm",
                             "lm_predictions.lm_head.bias")}
    names["nomic5"] = names["nomic-moe"] = names["nomic"]
    names["jina-roberta"] = names["jina-v3"] = names["esm"] = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias")
    names["jina-code"] = names["deberta"] = names["deberta1"] = names["jina"]
    key = "new-deberta" if "deberta" in family and not c.get("legacy", True) else family
    dense, norm, bias = names[key]
    w.dense(dense, width, hidden, 1)
    w.norm(norm, width)
    w.add(bias, (vocab,), 0.1)
