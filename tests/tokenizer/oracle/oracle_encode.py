#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oracle_encode.mjs with Python's tokenizers, which tools/peers/setup installs:

    build/peers/bin/python oracle_encode.py TOKENIZER_JSON < inputs.jsonl > encodings.jsonl
"""
import itertools
import json
import sys

from tokenizers import Tokenizer


def main() -> None:
    tokenizer = Tokenizer.from_file(sys.argv[1])
    tokenizer.no_padding()
    with open(sys.argv[1], encoding="utf-8") as file:
        direction = ((json.load(file).get("truncation") or {}).get("direction") or "Right").lower()
    inputs = map(json.loads, sys.stdin)
    for length, group in itertools.groupby(inputs, lambda item: item.get("max_length")):
        if length:
            tokenizer.enable_truncation(length, direction=direction)
        else:
            tokenizer.no_truncation()
        while batch := list(itertools.islice(group, 1000)):
            texts = [(x["first"], x["second"]) if "second" in x else x["first"] for x in batch]
            for item, encoding in zip(batch, tokenizer.encode_batch(texts)):
                offsets = [end for offset in encoding.offsets for end in offset]
                item |= {"ids": encoding.ids, "type_ids": encoding.type_ids, "offsets": offsets}
                print(json.dumps(item))


if __name__ == "__main__":
    main()
