# SPDX-License-Identifier: Apache-2.0
"""Tokenizer files for make_model.py, as transformers saves them for each family.

WordPiece families get a vocab.txt, SentencePiece families a Unigram tokenizer.json and no .model
file. Both vocabularies contain letters, digits, punctuation and a few words.
"""
import argparse
import json
import shutil
from pathlib import Path

from tensor_file import FormatError

WORDS = ("a an and are at beach boy dog dogs eating girl guitar in is man men music not of on "
         "piano play playing plays running the two walking woman ##ed ##er ##ing ##ly ##s").split()
CLASSES = {"bert": "BertTokenizer", "ernie": "BertTokenizer",
           "distilbert": "DistilBertTokenizer",
           "electra": "ElectraTokenizer", "mpnet": "MPNetTokenizer", "albert": "AlbertTokenizer",
           "xlm-roberta": "XLMRobertaTokenizer", "camembert": "CamembertTokenizer", "esm": "EsmTokenizer",
           **dict.fromkeys(("data2vec-text", "roberta-prelayernorm", "xlm-roberta-xl", "longformer"),
                           "XLMRobertaTokenizer")}
BERT_SPECIAL = {f"{name}_token": f"[{name.upper()}]"
                for name in ("cls", "mask", "pad", "sep", "unk")}
ROBERTA_SPECIAL = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>",
                   "mask_token": "<mask>", "pad_token": "<pad>", "sep_token": "</s>",
                   "unk_token": "<unk>"}
# MPNet's vocabulary has <unk>, but its tokenizer produces BERT's [UNK].
SPECIAL = {"albert": {**BERT_SPECIAL, "bos_token": "[CLS]", "eos_token": "[SEP]",
                      "pad_token": "<pad>", "unk_token": "<unk>"},
           "xlm-roberta": ROBERTA_SPECIAL, "camembert": ROBERTA_SPECIAL,
           "mpnet": {**ROBERTA_SPECIAL, "unk_token": "[UNK]"},
           "esm": {f"{name}_token": f"<{name}>" for name in ("cls", "eos", "mask", "pad", "unk")}}
# The pieces before the ordinary ones, in id order.
FIRST_PIECES = {"albert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
                "xlm-roberta": ["<s>", "<pad>", "</s>", "<unk>"],
                "camembert": ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>",
                              "</s>"]}

for like in ("data2vec-text", "roberta-prelayernorm", "xlm-roberta-xl", "longformer"):
    SPECIAL[like], FIRST_PIECES[like] = ROBERTA_SPECIAL, FIRST_PIECES["xlm-roberta"]


def write_json(path: Path, content: dict | list) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def characters() -> list[str]:
    return [chr(c) for c in range(0x21, 0x7F) if not chr(c).isalpha()]


def letters() -> list[str]:
    return [chr(c) for c in range(ord("a"), ord("z") + 1)]


def unused(size: int, needed: int) -> list[str]:
    if size < needed:
        raise FormatError(f"--vocab is {size}, expected at least {needed}")
    return [f"[unused{i}]" for i in range(size - needed)]


def vocabulary(size: int, family: str = "bert") -> list[str]:
    """Special tokens, filler up to the size, letters, digits, punctuation, a few words; ESM's amino acids."""
    if family == "esm":
        return ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]
    pieces = characters() + letters() + ["##" + c for c in letters() + [str(d) for d in range(10)]]
    pieces += [word for word in WORDS if word not in pieces]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    before = ["<s>", "<pad>", "</s>", "<unk>"] if family == "mpnet" else []
    after = ["<mask>"] if family == "mpnet" else []
    filler = unused(size, len(before + special + pieces + after))
    # [PAD] first and the others after the unused pieces, as in the published vocabularies.
    return before + special[:1] + filler + special[1:] + pieces + after


def write_tokenizer(args: argparse.Namespace) -> int:
    """Writes the tokenizer's files; returns the vocabulary size."""
    special = SPECIAL.get(args.family, BERT_SPECIAL)
    # If <pad> is 1, positions count from 2.
    longest = args.positions - 2 if special["cls_token"] == "<s>" else args.positions
    write_json(args.output / "special_tokens_map.json", special)
    word_piece = args.family not in FIRST_PIECES
    is_bert = word_piece and args.family != "esm"
    lower = {"do_lower_case": not args.cased} if is_bert or args.family == "albert" else {}
    extra = {"strip_accents": None, "tokenize_chinese_chars": True} if is_bert else {}
    write_json(args.output / "tokenizer_config.json",
               {"clean_up_tokenization_spaces": True, **special, **lower,
                "model_max_length": longest, **extra, "tokenizer_class": CLASSES.get(args.family, "BertTokenizer")})
    return write_vocabulary(args) if word_piece else write_unigram(args, special)


def write_vocabulary(args: argparse.Namespace) -> int:
    path = args.output / "vocab.txt"
    if args.vocab_file:
        shutil.copyfile(args.vocab_file, path)
        pieces = path.read_bytes().rstrip(b"\n").count(b"\n") + 1
        if args.vocab and args.vocab < pieces:
            raise FormatError(f"--vocab is {args.vocab}, expected at least the {pieces} pieces of "
                              f"{args.vocab_file}")
    else:
        lines = vocabulary(args.vocab or 200, args.family)
        pieces = len(lines)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return args.vocab or pieces


def write_unigram(args: argparse.Namespace, special: dict[str, str]) -> int:
    """Writes tokenizer.json of a Unigram model, which scores longer pieces higher."""
    first = FIRST_PIECES[args.family]
    last = [] if "[MASK]" in first else ["<mask>"]
    words = ["▁" + word for word in WORDS if not word.startswith("##")]
    words += [word[2:] for word in WORDS if len(word) > 3 and word.startswith("##")]
    pieces = words + ["▁"] + letters() + characters()
    filler = unused(args.vocab or 200, len(first + pieces + last))
    vocab = [[piece, 0.0] for piece in first]
    vocab += [[piece, -2.0 - 0.01 * i - (0 if piece in words else 6)]
              for i, piece in enumerate(pieces)]
    vocab += [[piece, -20.0] for piece in filler] + [[piece, 0.0] for piece in last]
    ids = {piece: i for i, (piece, _) in enumerate(vocab)}
    added = [{"id": ids[token], "content": token, "single_word": False,
              "lstrip": token == special["mask_token"], "rstrip": False, "normalized": False,
              "special": True} for token in first + last]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    write_json(args.output / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": normalizer(args), "pre_tokenizer": metaspace,
        "post_processor": template(args.family, special, ids), "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": vocab,
                  "byte_fallback": False}})
    return len(vocab)


def normalizer(args: argparse.Namespace) -> dict:
    """As transformers converts a SentencePiece model without its own normalisation."""
    steps: list[dict] = []
    if args.family == "albert":
        steps = [{"type": "Replace", "pattern": {"String": quotes}, "content": '"'}
                 for quotes in ("``", "''")]
        steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
        steps += [] if args.cased else [{"type": "Lowercase"}]
    steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    return {"type": "Sequence", "normalizers": steps}


def template(family: str, special: dict[str, str], ids: dict[str, int]) -> dict:
    """ALBERT: [CLS] a [SEP] b [SEP], b of type 1. The others: <s> a </s> </s> b </s>, all 0."""
    cls, sep = special["cls_token"], special["sep_token"]
    second = 1 if family == "albert" else 0

    def token(name: str, kind: int = 0) -> dict:
        return {"SpecialToken": {"id": name, "type_id": kind}}

    single = [token(cls), {"Sequence": {"id": "A", "type_id": 0}}, token(sep)]
    again = [] if second else [token(sep)]
    pair = single + again + [{"Sequence": {"id": "B", "type_id": second}}, token(sep, second)]
    tokens = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (cls, sep)}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}
