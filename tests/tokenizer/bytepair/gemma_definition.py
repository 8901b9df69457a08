# SPDX-License-Identifier: Apache-2.0
"""A tokenizer.json like mmBERT's, which is Gemma's: BPE of whole texts with U+2581 for spaces and byte fallback."""
import json
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

ROOT = Path(__file__).resolve().parents[3]
SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
PAGES = ["LICENSE", "models/demo/README.md"]


def added(content: str, identity: int, **flags) -> dict:
    return {"id": identity, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": False, **flags}


def template(pair: list[str]) -> dict:
    parts = {name: {"SpecialToken": {"id": name, "type_id": 0}} for name in ("<bos>", "<eos>")}
    parts |= {name: {"Sequence": {"id": name, "type_id": 0}} for name in "AB"}
    return {"type": "TemplateProcessing", "single": [parts[name] for name in ("<bos>", "A", "<eos>")],
            "pair": [parts[name] for name in pair],
            "special_tokens": {name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]}
                               for name in ("<bos>", "<eos>")}}


def gemma_definition() -> dict:
    """With what a published file may have of padding and truncation."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("\u2581|\n"), "merged_with_next")  # to train by words
    runs = [c * n for c in ("\n", "\u2581") for n in range(2, 8)]
    pieces = [*SPECIAL, "<start_of_turn>", *runs, "\t", "<table>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.train([str(ROOT / page) for page in PAGES],
                    trainers.BpeTrainer(vocab_size=900, special_tokens=pieces, show_progress=False))
    definition = json.loads(tokenizer.to_str())
    places = {piece: place for place, piece in enumerate(pieces)}
    flags = {name: {"special": True} for name in [*SPECIAL, "<start_of_turn>"]} | {"<mask>": {"special": True,
                                                                                           "lstrip": True}}
    definition["added_tokens"] = [added(piece, place, **flags.get(piece, {})) for piece, place in places.items()
                                  if not piece.startswith("<0x")]
    definition["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
                                   "invert": False}
    definition["post_processor"] = template(["<bos>", "A", "<eos>", "B", "<eos>"])
    definition["decoder"] = json.loads(decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]).__getstate__())
    definition["padding"] = {"strategy": {"Fixed": 64}, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0,
                             "pad_type_id": 0, "pad_token": "<pad>"}
    definition["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    return definition
