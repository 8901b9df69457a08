# SPDX-License-Identifier: Apache-2.0
"""Training of a lower-cased WordPiece vocabulary, by repeatedly merging the most frequent pair of
pieces, and its tokenizer.

For ASCII text the tokenizer matches Hugging Face's BERT tokenizer: lower case, punctuation split
off, longest match first."""
import collections
import heapq
import string

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation


def basic(text: str) -> list:
    return "".join(" %s " % c if c in string.punctuation else c for c in text.lower()).split()


def train(counts: dict, size: int) -> list:
    """A vocabulary of this size: all characters, at a word's start and inside, then merges."""
    vocabulary = SPECIAL + list(CHARACTERS) + ["##" + c for c in CHARACTERS]
    words = sorted((w, n) for w, n in counts.items() if w.isalnum() and w.isascii())
    splits = [[w[0]] + ["##" + c for c in w[1:]] for w, _ in words]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, split in enumerate(splits):
        for pair in zip(split, split[1:]):
            pairs[pair] += words[i][1]
            where[pair].add(i)
    known, heap = set(vocabulary), [(-n, pair) for pair, n in pairs.items()]
    heapq.heapify(heap)
    while len(vocabulary) < size:
        count, best = heapq.heappop(heap)
        if -count != pairs.get(best):  # this entry is out of date
            continue
        piece = best[0] + best[1][2:]
        if piece not in known:
            known.add(piece)
            vocabulary.append(piece)
        changed = set()
        for i in sorted(where.pop(best)):
            split, n = splits[i], words[i][1]
            for pair in zip(split, split[1:]):
                pairs[pair] -= n
                changed.add(pair)
            merged, j = [], 0
            while j < len(split):
                take = 2 if j + 1 < len(split) and (split[j], split[j + 1]) == best else 1
                merged.append(piece if take == 2 else split[j])
                j += take
            splits[i] = merged
            for pair in zip(merged, merged[1:]):
                pairs[pair] += n
                where[pair].add(i)
                changed.add(pair)
        pairs.pop(best, None)
        for pair in changed - {best}:
            heapq.heappush(heap, (-pairs[pair], pair))
    return vocabulary


class WordPiece:
    def __init__(self, vocabulary: list):
        self.ids = {piece: i for i, piece in enumerate(vocabulary)}
        self.cache = {}

    def word(self, word: str) -> list:
        if word not in self.cache:
            self.cache[word] = self._split(word)
        return self.cache[word]

    def _split(self, word: str) -> list:
        out, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return [self.ids["[UNK]"]]
            out.append(self.ids[piece])
            start = end
        return out if len(word) <= 100 else [self.ids["[UNK]"]]

    def text(self, text: str) -> list:
        return [i for w in basic(text) for i in self.word(w)]

    def pair(self, first: str, second: str):
        """ids and type_ids of [CLS] first [SEP] second [SEP]."""
        a, b = self.text(first), self.text(second)
        cls, sep = self.ids["[CLS]"], self.ids["[SEP]"]
        return [cls] + a + [sep] + b + [sep], [0] * (len(a) + 2) + [1] * (len(b) + 1)
