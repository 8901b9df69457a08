#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Generates labelled sentence pairs on standard output: lines of first TAB second TAB label.

    pairs.py --count 500 --seed 7 [--split train|tenth|words|templates] [--wordnet DIR]

tenth: a random tenth of the training distribution, held out; words: pairs with at least one
noun, verb or adjective of the fifth that training never sees; templates: sentence forms that
training never sees."""
import argparse
import hashlib
import random
import sys

from sentences import events, predicates, quantities, relations, scenes, things
from sentences.grammar import sentence
from sentences.lexicon import Lexicon, words_of

LABELS = ("entailment", "neutral", "contradiction")
FAMILIES = {
    scenes.scene_pair: 30,
    predicates.predicate_pair: 22,
    predicates.fact_pair: 4,
    relations.swap_pair: 14,
    relations.compare_pair: 7,
    relations.relation_pair: 6,
    quantities.number_pair: 7,
    quantities.quantifier_pair: 7,
    things.where_pair: 5,
    things.state_pair: 8,
    things.wear_pair: 4,
    events.give_pair: 7,
    events.modal_pair: 7,
    events.join_pair: 6,
    events.order_pair: 3
}
# Sentence forms that training never sees.
TEMPLATES = {"cleft", "not_as", "most", "give_get_borrow", "see"}
# Families whose first sentences may surround another's, and the words that the two may share.
CONTEXT_FAMILIES = (scenes.scene_pair, scenes.scene_pair, relations.swap_pair,
                    relations.compare_pair, relations.relation_pair, events.give_pair,
                    things.where_pair, things.wear_pair)
FUNCTION_WORDS = set(
    "a an the is are was were be being been not no in on at of to and or with from by near"
    " behind under next front than s t there"
    .split())
SPLITS = ("train", "tenth", "words", "templates")


def in_tenth(first: str, second: str) -> bool:
    text = " ".join((first + "\t" + second).lower().replace(".", "").replace("!", "").split())
    return hashlib.md5(text.encode()).digest()[1] % 10 == 0


def keep_rate(first: str, second: str, label: int) -> float:
    """The probability of keeping a pair, so that word overlap does not give away the label."""
    known, asked = set(words_of(first)), set(words_of(second))
    if asked <= known:
        return (0.2 if asked == known else 0.45, 1.0, 1.0)[label]
    return (1.0, 0.5, 0.75)[label]


class Generator:
    """Draws pairs of one split; the same seed gives the same pairs."""
    def __init__(self, seed: int, split: str = "train", wordnet: str = "", unfiltered: int = 0):
        if split not in SPLITS:
            raise ValueError("split %r: expected one of %s" % (split, ", ".join(SPLITS)))
        self.rng = random.Random("%s %d" % (split, seed))
        self.split, self.unfiltered = split, unfiltered  # keep_rate spares this many first pairs
        self.lex = Lexicon("held" if split == "words" else "train", wordnet)
        self.tags = set()
        self.makers, self.weights = list(FAMILIES), list(FAMILIES.values())

    def draw(self):
        """(first, second, label, family) of this split."""
        maker = self.rng.choices(self.makers, self.weights)[0]
        label = self.rng.randrange(3)
        while True:
            self.tags = set()
            if self.split == "templates":  # draw again: not every family has such forms
                maker = self.rng.choices(self.makers, self.weights)[0]
            first, second = maker(self, label)
            first, second = sentence(self.rng, first), sentence(self.rng, second)
            first = self._with_context(first, second, maker)
            if self._in_split(first, second) and (
                    self.unfiltered > 0 or self.rng.random() < keep_rate(first, second, label)):
                self.unfiltered -= 1
                return first, second, label, maker.__name__

    def _with_context(self, first: str, second: str, maker) -> str:
        """Sometimes surrounds the first sentence with others that share no content word with the
        pair."""
        if maker in (quantities.quantifier_pair, predicates.fact_pair) or self.rng.random() > 0.06:
            return first
        around = [first]
        used = {w for w in words_of(first + " " + second) if w not in FUNCTION_WORDS}
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            other = self.rng.choice(CONTEXT_FAMILIES)(self, self.rng.randrange(3))[0]
            words = words_of(other)
            if used.isdisjoint(words) and FUNCTION_WORDS.issuperset(w for w in words if len(w) < 4):
                used.update(w for w in words if w not in FUNCTION_WORDS)
                around.insert(self.rng.randint(0, len(around)), sentence(self.rng, other))
        return " ".join(s if s[-1] in ".!" else s + "."
                        for s in around[:-1]) + (" " if len(around) > 1 else "") + around[-1]

    def _in_split(self, first: str, second: str) -> bool:
        if bool(self.tags & TEMPLATES) != (self.split == "templates"):
            return False
        if self.lex.has_held(first + " " + second) != (self.split == "words"):
            return False
        return self.split == "words" or self.split == "templates" or in_tenth(
            first, second) == (self.split == "tenth")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--split", choices=SPLITS, default="tenth")
    parser.add_argument("--wordnet", default="", metavar="DIR")
    args = parser.parse_args()
    generator = Generator(args.seed, args.split, args.wordnet)
    for _ in range(args.count):
        first, second, label, _ = generator.draw()
        print(first, second, LABELS[label], sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
