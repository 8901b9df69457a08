# SPDX-License-Identifier: Apache-2.0
"""Noun phrases, verb phrases and their inflection."""
from dataclasses import dataclass, field, replace
import random
import re

from .lexicon import article, ing, past, plural, third
from .words import FEMALE, MALE, NUMBERS

# Verbs that are not used in the progressive.
STATIVE = set(
    "have own know like love hate see hear fear trust admire respect miss need want live"
    " understand remember"
    " speak-of keep envy notice forgive feel lose say belong taste".split())
LEADING = {"never", "always", "often", "sometimes", "still", "just", "also", "now", "really"}
FEMALE_NOUNS = set("woman girl lady mother grandmother nun queen princess nurse mom".split()) | set(
    FEMALE.split())
MALE_NOUNS = set("man boy gentleman father grandfather policeman fisherman king prince priest dad".
                 split()) | set(MALE.split())

NAMES = set((MALE + " " + FEMALE).split())


@dataclass
class Subject:
    noun: str
    kind: str = "p"  # p person, a animal, t thing
    count: int = 1  # 0: an unspecified number, "some"
    det: str = "a"  # a, the, or "" for a name
    adjectives: list = field(default_factory=list)
    dressed: str = ""  # e.g. "in a red coat"

    def but(self, **changes):
        changes.setdefault("adjectives", list(self.adjectives))
        return replace(self, **changes)

    @property
    def many(self):
        return self.count != 1

    def text(self, rng: random.Random) -> str:
        if self.det == "":
            return self.noun
        noun = plural(self.noun) if self.many else self.noun
        phrase = " ".join(self.adjectives + [noun] + [self.dressed] * bool(self.dressed))
        if not self.many:
            return article(phrase) if self.det == "a" else self.det + " " + phrase
        if self.count == 0:
            return (self.det if self.det != "a" else rng.choice(
                ("some", "some", "several"))) + " " + phrase
        number = NUMBERS[self.count] if rng.random() < 0.6 else str(self.count)
        return ("the " if self.det == "the" else "") + number + " " + phrase

    def pronoun(self) -> str:
        if self.noun in ("i", "we", "he", "she"):
            return self.noun
        if self.many:
            return "they"
        return "she" if self.noun in FEMALE_NOUNS else "he" if self.noun in MALE_NOUNS else (
            "it" if self.kind != "p" else "this person")


def split_vp(vp: str):
    words = vp.split()
    negative = words[0] == "not"
    words = words[negative:]
    lead = ""
    if words[0] in LEADING and len(words) > 1:
        lead, words = words[0] + " ", words[1:]
    return negative, lead, words[0], (" " + " ".join(words[1:])) if words[1:] else ""


def ing_phrase(vp: str) -> str:
    negative, lead, verb, rest = split_vp(vp)
    return ("not " if negative else "") + lead + ing(verb) + rest


def negate(vp: str) -> str:
    return vp[4:] if vp.startswith("not ") else "not " + vp


def be(many: bool, tense: str) -> str:
    return ("were" if many else "was") if tense == "past" else ("are" if many else "is")


def finite(vp: str, many: bool, tense: str, aspect: str, short: bool = False) -> str:
    """The inflected predicate; tense is present or past, aspect progressive or simple."""
    negative, lead, verb, rest = split_vp(vp)
    no = ("n't" if short else " not") if negative else ""
    if verb == "be":
        return be(many, tense) + no + " " + lead + rest.strip()
    if aspect == "progressive" and verb not in STATIVE and not lead:
        return be(many, tense) + no + " " + ing(verb) + rest
    if negative:
        do = "did" if tense == "past" else "do" if many else "does"
        return do + no + " " + lead + verb + rest
    if tense == "past":
        return lead + past(verb) + rest
    return lead + (verb if many else third(verb)) + rest


def passive(verb: str, rest: str, many: bool, tense: str, aspect: str,
            negative: bool = False) -> str:
    middle = "being " if aspect == "progressive" else ""
    return be(many, tense) + (" not " if negative else " ") + middle + past(verb, True) + rest


def sentence(rng: random.Random, text: str) -> str:
    """As people type: usually, but not always, with a capital letter and a full stop."""
    text = text.replace("-", " ").replace("  ", " ").strip()
    text = re.sub(r"\bi (are|aren't)\b", lambda m: "i am" + (" not" if "n't" in m[1] else ""), text)
    text = re.sub(r"\bi were\b", "i was", text)
    style = rng.random()
    if style < 0.85:
        text = text[0].upper() + text[1:]
    words = text.split(" ")
    if style < 0.9:
        words = [w.capitalize() if w in NAMES else w for w in words]
    text = " ".join(words)
    if rng.random() < 0.02:
        text = text.upper()
    return text + rng.choices((".", "", "!"), (85, 13, 2))[0]
