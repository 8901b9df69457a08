# SPDX-License-Identifier: Apache-2.0
"""Subjects, actions and places of a scene, and what excludes, implies or leaves open what."""
from dataclasses import dataclass

from .grammar import Subject
from .lexicon import article
from .words import (DAYTIMES, EXCLUDE, KINDS, SCALES, SYNONYM_PAIRS, TAKES_ON, TRANSITIVE,
                   VERB_HYPERNYMS, VERB_SYNONYMS, WEEKDAYS)

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
# General words for the objects of a pool.
GENERAL = {
    "food": "fruit vegetable",
    "plantfood": "fruit vegetable",
    "instrument": "instrument",
    "vehicle": "vehicle",
    "goods": "vehicle fruit tool toy",
    "animal": "animal bird",
    "device": "vehicle boat",
    "dish": "meal"
}
STILL = {"sit", "stand"}
SYNONYMS = {}
for _a, _b in SYNONYM_PAIRS.items():
    SYNONYMS.setdefault(_a, []).append(_b)
    SYNONYMS.setdefault(_b, []).append(_a)
SIDES = {}  # adjective -> (its own side, the other side)
for _left, _right in SCALES:
    for _side, _other in ((_left, _right), (_right, _left)):
        for _word in _side.split():
            SIDES.setdefault(_word, (_side.split(), _other.split()))
MAIN_ACTIVITIES = ("play the", "play", "cook", "drive", "paint", "draw", "write", "ride", "read",
                   "build", "sweep")
SPECIFIC_VERBS = {}  # general verb -> more specific verbs
for _special, _general in VERB_HYPERNYMS.items():
    SPECIFIC_VERBS.setdefault(_general, []).append(_special)


@dataclass
class Action:
    verb: str  # the first word inflects
    kind: str = "body"  # body, mouth or hands: actions of one kind exclude each other
    object: str = ""
    pool: str = ""  # of the object
    colour: str = ""
    special: str = ""  # a more specific verb

    def vp(self) -> str:
        if not self.object:
            return self.verb
        bare = self.verb.split()[-1] == "the" or self.pool in (
            "sport", "food", "drink") and self.object not in COUNTABLE
        phrase = (self.colour + " " if self.colour else "") + self.object
        return self.verb + " " + (phrase if bare else article(phrase))


COUNTABLE = set(" ".join(KINDS[k] for k in ("fruit", "vegetable", "meal")).split()) | {
    "cake", "fruit", "vegetable", "meal"
}
PRONOUNS = {"i", "we", "he", "she", "they"}
PLAIN_ADJ = set(
    "big small large little old young tall short rich poor clever kind famous beautiful ugly fat"
    " slim new expensive cheap friendly honest patient"
    " married lucky strong polite".split())


@dataclass
class Scene:
    subject: Subject
    action: str = ""
    place: str = ""
    time: str = ""
    tail: str = ""  # why, for whom, with whom


def place_phrase(g, kind=""):
    kind = kind or g.rng.choice(("inside", "outside", "outside", "near", "furniture"))
    if kind == "near":
        return g.rng.choice(
            ("near", "in front of", "behind", "next to")) + " the " + g.lex.pick(g.rng, "building")
    if kind == "furniture":
        return g.rng.choice(
            ("on", "under", "behind", "next to")) + " the " + g.lex.pick(g.rng, "furniture")
    word = g.lex.pick(g.rng, kind)
    return ("on" if word in TAKES_ON else "in") + " the " + word


def other_place(g, place):
    """A place that excludes this one."""
    head, _, noun = place.rpartition(" the ")
    if g.rng.random() < 0.25 and head in ("on", "under") and noun not in TAKES_ON:
        return ("under" if head == "on" else "on") + " the " + noun
    while True:
        other = place_phrase(g, g.rng.choice(("inside", "outside")))
        if other.split()[-1] not in SYNONYMS.get(noun, []) + [noun]:
            return other


def adjective(g, kind):
    left, right = g.lex.pick(g.rng, {
        "p": "person_adj",
        "a": "animal_adj"
    }.get(kind, "thing_adj")).split("/")
    return g.rng.choice((left, right))


def unrelated(g, kind, word):
    """An adjective of another scale."""
    while True:
        other = adjective(g, kind) if g.rng.random() < 0.7 else g.lex.pick(g.rng, "rare_adj")
        if other != word and other not in sum(SIDES.get(word, ([], [])), []):
            return other


def draw_subject(g, kind=None, plain=False):
    rng = g.rng
    kind = kind or rng.choice("pppa")
    if kind == "p" and rng.random() < 0.12:
        pronoun = rng.choice(("he", "she", "she", "he", "they", "we", "i", "i"))
        return Subject(pronoun, "p", 1 if pronoun in ("he", "she") else 0, "")
    if kind == "p" and rng.random() < 0.2:
        return Subject(g.lex.pick(rng, rng.choice(("male", "female"))), "p", 1, "")
    if kind == "p":
        noun = g.lex.pick(rng, rng.choice(("people", "people", "person")))
        if rng.random() < 0.1:
            noun = rng.choice(("person", "child", "adult"))
    else:
        noun = g.lex.pick(rng, rng.choice(("animal", "beast", "animal", "beast", "insect")))
        if rng.random() < 0.1:
            noun = rng.choice(("animal", "bird", "dog"))
    count = 1
    if rng.random() < 0.2 and not plain:
        count = rng.choice((2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 0, 0))
    subject = Subject(noun, kind, count, rng.choice(("a", "the")))
    if rng.random() < 0.25:
        subject.adjectives.append(
            adjective(g, kind) if rng.random() < 0.7 else g.lex.
            pick(rng, "colour") if kind != "p" else g.lex.pick(rng, "rare_adj"))
    return subject


def special_noun(g, noun):
    """A word that entails this noun: a kind of it or a synonym."""
    choices = list(SYNONYMS.get(noun, []))
    for pool in ("people", "pet", "person", "animal", "bird", "fish", "insect"):
        if noun in g.lex.general.values() or noun in ("child", "man", "woman", "dog", "cat",
                                                      "adult", "kid", "horse"):
            choices += [w for w in g.lex.pools[pool][0][:40] if noun in g.lex.hypernyms.get(w, [])]
    return g.rng.choice(choices) if choices else noun


def other_noun(g, subject):
    """A noun that cannot describe the same subject."""
    noun = subject.noun
    if noun in EXCLUDE:
        return g.rng.choice(EXCLUDE[noun].split())
    while True:
        other = g.lex.pick(g.rng,
                           g.lex.general.get(noun, "animal" if subject.kind == "a" else "person"))
        same_or_general = [noun] + SYNONYMS.get(noun, []) + g.lex.hypernyms.get(noun, [])
        if other not in same_or_general and noun not in g.lex.hypernyms.get(other, []):
            return other


def general_noun(g, noun):
    """A word that this noun entails but that does not entail it."""
    ups = [u for u in g.lex.hypernyms.get(noun, []) if noun not in g.lex.hypernyms.get(u, [])]
    return g.rng.choice(ups) if ups else ""


def draw_action(g, kind):
    rng = g.rng
    if kind == "a":
        return Action(
            rng.choice(
                "run sleep swim jump eat stand lie play drink sit rest hide wait walk dig".split()))
    roll = rng.random()
    if roll < 0.2:
        which = rng.choice(("body", "mouth"))
        return Action(g.lex.pick(rng, which), which)
    if roll < 0.28:
        return Action(g.lex.pick(rng, "rare_verb"), "rare")
    verb = g.lex.pick(rng, "transitive")
    pool = TRANSITIVE[verb][0]
    action = Action(verb, "hands",
                    g.lex.pick(rng, pool) if rng.random() < 0.85 else g.lex.pick(rng, "rare_noun"),
                    pool)
    if pool in GENERAL and rng.random() < 0.15:
        action.object = rng.choice(GENERAL[pool].split())
    if pool in ("thing", "goods", "garment", "vehicle", "device") and rng.random() < 0.25:
        action.colour = g.lex.pick(rng, "colour")
    return action


def other_action(g, action, kind):
    """An action that cannot be done at the same time."""
    rng = g.rng
    if kind == "a":
        wrong = {
            "run": "sleep lie sit stand swim",
            "sleep": "run swim jump eat play drink walk dig",
            "swim": "sleep run lie dig",
            "jump": "sleep lie sit",
            "eat": "sleep swim run",
            "stand": "sit lie run sleep",
            "lie": "stand run jump walk",
            "play": "sleep rest",
            "drink": "sleep run dig",
            "sit": "stand run walk swim",
            "rest": "run play dig jump",
            "hide": "play swim",
            "wait": "run sleep",
            "walk": "sleep lie sit swim",
            "dig": "sleep swim rest"
        }
        return Action(rng.choice(wrong[action.verb].split()))
    if action.kind == "hands" and rng.random() < 0.7:
        for _ in range(20):
            other = g.lex.pick(rng, action.pool)
            old = action.object
            same_or_general = [old] + SYNONYMS.get(old, []) + g.lex.hypernyms.get(old, [])
            if other not in same_or_general and old not in g.lex.hypernyms.get(
                    other, []) and old not in GENERAL.get(action.pool, "").split():
                return Action(action.verb, "hands", other, action.pool, action.colour)
    if action.kind == "rare":
        return Action(rng.choice(("sleep", "rest", g.lex.pick(rng, "rare_verb"))), "rare")
    if action.kind == "hands":
        if action.verb in MAIN_ACTIVITIES and rng.random() < 0.5:
            first = action.verb.split()[0]
            verb = rng.choice([v for v in MAIN_ACTIVITIES if v.split()[0] != first])
            return Action(verb, "hands", g.lex.pick(rng, TRANSITIVE[verb][0]), TRANSITIVE[verb][0])
        return Action(rng.choice(("sleep", "swim", "take a nap", "lie in bed")))
    while True:
        other = g.lex.pick(rng, action.kind)
        if other != action.verb:
            return Action(other, action.kind)


def closer_action(g, action):
    """The same action in other or more specific words."""
    rng = g.rng
    if action.object in g.lex.pools and action.object in GENERAL.get(action.pool,
                                                                     "") and rng.random() < 0.8:
        return Action(action.verb, action.kind, g.lex.pick(rng, action.object), action.pool,
                      action.colour)
    first, _, rest = action.verb.partition(" ")
    choices = SPECIFIC_VERBS.get(action.verb, []) + VERB_SYNONYMS.get(first, "").split()
    if choices and not (action.verb == "make"):
        special = rng.choice(choices)
        return Action((special + " " + rest).strip(), action.kind, action.object, action.pool,
                      action.colour)
    return action


def open_action(g, action, kind):
    """A verb phrase that leaves this action open, or "" for no action at all."""
    rng = g.rng
    roll = rng.random()
    if action.kind == "hands" and rng.random() < 0.4:
        noun = general_noun(g, action.object)
        if noun and noun not in ("person", "building"):
            return Action(action.verb, "hands", noun, action.pool, action.colour).vp()
    if roll < 0.25:
        return rng.choice(("want to ", "plan to ", "hope to ", "like to ", "be ready to ",
                           "try to learn how to ")) + action.vp()
    if kind == "p" and roll < 0.5 and action.kind == "hands":
        return rng.choice(TRANSITIVE[action.verb][1].split("|"))
    if kind == "p" and roll < 0.65 and action.kind != "rare":
        return rng.choice(sorted(STILL)) if action.kind != "body" else rng.choice(
            ("sing", "whistle", "talk"))
    if roll < 0.75 and action.kind == "hands":
        thing = Action("see", "hands", action.object, action.pool,
                       action.colour).vp().partition(" ")[2]
        return rng.choice(
            ("look at ", "think about ",
             "talk about ")) + (thing if action.verb != "play the" else "the " + thing)
    return ""


def time_phrase(g):
    return "on " + g.rng.choice(WEEKDAYS.split()) if g.rng.random() < 0.3 else g.rng.choice(
        sorted(DAYTIMES))


def other_time(g, time):
    if time.startswith("on "):
        return "on " + g.rng.choice([d for d in WEEKDAYS.split() if d not in time])
    return g.rng.choice([
        t for t, k in sorted(DAYTIMES.items())
        if k == DAYTIMES[time] and t != time and (k != 1 or t[:3] != time[:3])
    ])
