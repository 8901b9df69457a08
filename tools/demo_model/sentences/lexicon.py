# SPDX-License-Identifier: Apache-2.0
"""The words of the demo model's sentences, their inflection and their relations.

Every pool was written for this project, the most common words first. WordNet, if given, adds rarer
nouns, verbs and adjectives, so that the model learns to compare words that it hardly knows.
"""
import hashlib
import string

from .everyday import PREDICATES, SENTENCES
from .wordnet import wordnet_words
from .words import (ACTS, ALWAYS, ANIMAL_ADJ, BODY, CITIES, COLOURS, DOUBLED, DRINKS, EXTRA_ADJ,
                   FEELS, FEMALE, FOODS, FORMS, FURNITURE, GAMES, HYPERNYMS, INSIDE, KINDS, MALE,
                   MORE_ADJ, MOUTH, OUTSIDE, PEOPLE, PERSON_ADJ, PETS, PLURALS, SCALES, SPORTS,
                   THINGS, THING_ADJ, TRANSITIVE)

VOWELS = "aeiou"


def plural(noun: str) -> str:
    if noun in PLURALS:
        return PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def article(phrase: str) -> str:
    an = phrase[0] in VOWELS and not phrase.startswith(("uni", "eu", "use", "one", "ukulele"))
    return ("an " if an or phrase.startswith(("hour", "honest")) else "a ") + phrase


def third(verb: str) -> str:
    return {
        "be": "is",
        "have": "has",
        "do": "does",
        "go": "goes"
    }.get(verb) or (verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in VOWELS else verb +
                    "es" if verb.endswith(("s", "x", "ch", "sh", "z")) else verb + "s")


def ing(verb: str) -> str:
    if verb in ("lie", "die", "tie"):
        return verb[:-2] + "ying"
    if verb in DOUBLED:
        return verb + verb[-1] + "ing"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith(
        ("ee", "be", "oe")) else verb) + "ing"


def past(verb: str, participle: bool = False) -> str:
    if verb in FORMS:
        return FORMS[verb][2 if participle else 1]
    if verb in DOUBLED:
        return verb + verb[-1] + "ed"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


TO_SPACE = {ord(c): " " for c in string.punctuation}


def words_of(text: str) -> list:
    return text.lower().translate(TO_SPACE).split()


def held_out(word: str) -> bool:
    """True for two fifths of all words, chosen by a hash of their spelling."""
    return hashlib.md5(word.encode()).digest()[0] < 102


class Lexicon:
    """The word pools, with (split="held") or without (split="train") the held-out words."""
    def __init__(self, split: str = "train", wordnet: str = ""):
        self.split = split
        self.everyday = everyday_words()
        self.hypernyms = {w: u.split() for w, u in HYPERNYMS.items()}
        self.general, pools = {}, {}
        for kind, text in KINDS.items():
            pools[kind] = text.split()
        self.extra = wordnet_words(wordnet) if wordnet else {}
        known = {w for p in pools.values() for w in p}
        for kind, words in self.extra.items():
            if kind in pools:
                pools[kind] += [w for w in words if w not in known]
        for kind, words in pools.items():
            for word in words:
                self.general[word] = kind
                general = [kind, "animal"] if kind in ("bird", "fish") else [kind]
                self.hypernyms.setdefault(word, general)
        pools.update(people=PEOPLE.split(), pet=PETS.split(), thing=THINGS.split(),
                     food=FOODS.split(), drink=DRINKS.split(), sport=SPORTS.split(),
                     game=GAMES.split(), male=MALE.split(), female=FEMALE.split(),
                     city=CITIES.split(), inside=INSIDE.split(), outside=OUTSIDE.split(),
                     furniture=FURNITURE.split(), body=BODY.split(), mouth=MOUTH.split(),
                     acts=ACTS.split(), feels=FEELS.split(), transitive=list(TRANSITIVE),
                     colour=COLOURS.split())
        pools["scale"] = [s[0].split()[0] + "/" + s[1].split()[0] for s in SCALES]
        pools["person_adj"], pools["animal_adj"] = PERSON_ADJ.split(";"), ANIMAL_ADJ.split(";")
        pools["thing_adj"], pools["more"] = THING_ADJ.split(";"), MORE_ADJ.split()
        pools["rare_adj"] = EXTRA_ADJ.split() + self.extra.get("adjective", [])
        pools["rare_noun"] = self.extra.get("noun", []) or THINGS.split()
        pools["rare_verb"] = self.extra.get("verb", []) or ACTS.split()
        self.pools = {k: self._split_pool(v) for k, v in pools.items()}
        self._find_held_out()
        self._add_derived_pools()

    def _split_pool(self, words):
        """(seen, held out): the first half of a pool is everyday language and always seen."""
        first = (len(words) + 1) // 2 if len(words) < 100 else 50
        always = set(words[:first]) | ALWAYS | self.everyday
        keep = [
            w for w in words if w in always or "-" in w or w.split("/")[0] in always or
            not held_out(w.split("/")[0])
        ]
        return (keep, [w for w in words if w not in set(keep)])

    def _find_held_out(self):
        """A word is held out only if no pool has it among its seen words."""
        kept = {x for keep, _ in self.pools.values() for w in keep for x in w.split("/")}
        self.held = {x for _, out in self.pools.values() for w in out for x in w.split("/")} - kept
        inflections = lambda w: {w, plural(w), third(w), ing(w), past(w), past(w, True)}
        self.forms = {f for w in self.held for f in inflections(w)
                     } - {f for w in kept for f in inflections(w)}

    def _add_derived_pools(self):
        p = self.pools
        join = lambda *kinds: tuple(sum((p[k][i] for k in kinds), []) for i in (0, 1))
        p["food"] = join("fruit", "vegetable", "meal", "food")
        p["plantfood"], p["dish"] = join("fruit", "vegetable"), join("meal", "food")
        p["goods"] = join("thing", "vehicle", "toy", "garment", "tool", "fruit", "instrument")
        p["device"] = join("vehicle", "instrument", "toy", "boat")
        p["beast"] = join("animal", "bird", "pet")
        p["reading"] = ([
            "book", "newspaper", "magazine", "letter", "poem", "story", "novel", "map", "report"
        ], [])
        p["writing"] = ([
            "letter", "poem", "story", "book", "song", "report", "note", "diary", "message"
        ], [])
        p["show"] = ([
            "movie", "game", "play", "parade", "concert", "sunset", "film", "race", "cartoon"
        ], [])
        p["built"] = ([
            "house", "wall", "bridge", "boat", "tower", "fence", "sandcastle", "snowman", "barn"
        ], [])
        p["ridden"] = ([
            "horse", "bike", "motorcycle", "camel", "donkey", "scooter", "pony", "elephant"
        ], [])
        p["floor"] = (["floor", "street", "yard", "kitchen", "stairs", "room"], [])
        p["opened"] = ([
            "door", "window", "box", "bottle", "bag", "letter", "book", "gate", "present"
        ], [])

    def pick(self, rng, kind: str, held: float = 0.5) -> str:
        """A word of a pool; in the held split, a held-out one with this probability."""
        keep, out = self.pools[kind]
        if self.split == "held" and out and rng.random() < held:
            return rng.choice(out)
        if len(keep) > 60 and not kind.startswith("rare") and rng.random() < 0.6:
            return rng.choice(keep[:40])
        return rng.choice(keep)

    def has_held(self, text: str) -> bool:
        return any(w in self.forms for w in words_of(text))


def everyday_words() -> set:
    """The words of the everyday rows and their possible base forms."""
    text = set(words_of(PREDICATES + SENTENCES))
    return text | {w[:-n] for w in text for n in (1, 2, 3) if len(w) > n + 1
                  } | {w[:-3] + "e" for w in text if w.endswith("ing")}
