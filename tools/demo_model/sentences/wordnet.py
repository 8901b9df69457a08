# SPDX-License-Identifier: Apache-2.0
"""Reads words and their kinds from WordNet's files, as installed by Debian's wordnet-base."""
import os

ROOTS = {
    "person": 'worker adult',
    "animal": "mammal reptile",
    "bird": "bird",
    "fish": "fish",
    "insect": "insect",
    "fruit": "edible_fruit",
    "vegetable": "vegetable",
    "instrument": "musical_instrument",
    "vehicle": "motor_vehicle",
    "garment": "garment",
    "tool": "hand_tool",
    "building": "building",
    "flower": "flower",
    "tree": "tree"
}


def wordnet_words(directory: str) -> dict:
    """Single words of WordNet: by kind, if a word's first sense lies under it, and the other
    common words by part of speech."""
    hyponyms, lemmas = {}, {}
    for line in open(os.path.join(directory, "data.noun"), encoding="ascii"):
        if line.startswith(" "):
            continue
        f = line.split("|")[0].split()
        n = int(f[3], 16)
        lemmas[f[0]] = [f[4 + 2 * i] for i in range(n)]
        rest = f[5 + 2 * n:]
        for i in range(0, len(rest) - 3, 4):
            if rest[i] in ("@", "@i"):
                hyponyms.setdefault(rest[i + 1], []).append(f[0])
    out, first, common = {}, {}, {}
    for pos in ("noun", "verb", "adj"):
        common[pos] = []
        for line in open(os.path.join(directory, "index." + pos), encoding="ascii"):
            f = line.split()
            if line.startswith(" ") or not f[0].isalpha() or not 3 <= len(f[0]) <= 12:
                continue
            offsets = f[-int(f[2]):]
            if pos == "noun":
                first[f[0]] = offsets[0]
            if int(f[-int(f[2]) -
                     1]) > (1 if pos == "noun" else 0):  # senses seen in WordNet's tagged texts
                common[pos].append(f[0])
    all_first = {}
    for line in open(os.path.join(directory, "index.noun"), encoding="ascii"):
        f = line.split()
        if not line.startswith(" "):
            all_first[f[0]] = f[-int(f[2]):]
    seen, everyday = set(), set(common["noun"])
    for kind, roots in ROOTS.items():
        below, queue = set(), [o for r in roots.split() for o in all_first[r]]
        while queue:
            offset = queue.pop()
            if offset not in below:
                below.add(offset)
                queue += hyponyms.get(offset, [])
        words = sorted({w for o in below for w in lemmas[o] if first.get(w) == o} - seen)
        seen.update(words)
        out[kind] = [w for w in words if w in everyday]
    out["noun"] = [w for w in common["noun"] if w not in seen]
    out["verb"] = [
        w for w in common["verb"] if len(w) < 9 and w not in ("be", "have", "do", "can", "still")
    ]
    out["adjective"] = common["adj"]
    return out
