# SPDX-License-Identifier: Apache-2.0
"""Scenes: who does what, where and when.

The second sentence is drawn first and without knowing the label; the first sentence is then written so
that it entails the second, contradicts it or leaves it open. The second alone therefore tells nothing.
All sentences of a pair describe one scene: another animal, number, colour or place contradicts.
"""
from dataclasses import dataclass

from everyday import PREDICATES, SENTENCES, rows
from grammar import Subject, be, finite, ing_phrase, negate, passive
from lexicon import (DAYTIMES, EXCLUDE, FEMALE, KINDS, MALE, ON, SAME, SCALES, TRANSITIVE, VERB_SAME, VERB_UP,
                     WEEKDAYS, article)

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
ROWS, FACTS = rows(PREDICATES), rows(SENTENCES)
# What an object's pool may be summed up as.
GENERAL = {"food": "fruit vegetable", "plantfood": "fruit vegetable", "instrument": "instrument", "vehicle": "vehicle",
           "goods": "vehicle fruit tool toy", "animal": "animal bird", "device": "vehicle boat", "dish": "meal"}
STILL = {"sit", "stand"}
SYNONYMS = {}
for _a, _b in SAME:
    SYNONYMS.setdefault(_a, []).append(_b)
    SYNONYMS.setdefault(_b, []).append(_a)
SIDES = {}      # adjective -> (its own side, the other side)
for _left, _right in SCALES:
    for _side, _other in ((_left, _right), (_right, _left)):
        for _word in _side.split():
            SIDES.setdefault(_word, (_side.split(), _other.split()))
MAIN = ("play the", "play", "cook", "drive", "paint", "draw", "write", "ride", "read", "build", "sweep")
LESS = {}       # general verb -> special verbs
for _special, _general in VERB_UP.items():
    LESS.setdefault(_general, []).append(_special)


@dataclass
class Action:
    verb: str                # the first word inflects
    kind: str = "body"       # body, mouth or hands: exclusive within a kind
    object: str = ""
    pool: str = ""           # where the object comes from
    colour: str = ""
    special: str = ""        # a more special verb

    def vp(self) -> str:
        if not self.object:
            return self.verb
        bare = self.verb.split()[-1] == "the" or self.pool in ("sport", "food", "drink") and self.object not in COUNTABLE
        phrase = (self.colour + " " if self.colour else "") + self.object
        return self.verb + " " + (phrase if bare else article(phrase))


COUNTABLE = set(" ".join(KINDS[k] for k in ("fruit", "vegetable", "meal")).split()) | {"cake", "fruit", "vegetable", "meal"}
PRONOUNS = {"i", "we", "he", "she", "they"}
# Predicates that no act bears on.
LASTING = ("have a", "have children", "have hair", "have blond", "be married", "be rich", "live ", "be old", "be young", "be able to speak", "never eat", "own ",
           "be kind", "be a good", "be a musician", "be a student", "be good at", "like animals", "know how", "have a job")
PLAIN_ADJ = set("big small large little old young tall short rich poor clever kind famous beautiful ugly fat slim new expensive cheap friendly honest patient"
                " married lucky strong polite".split())


@dataclass
class Scene:
    subject: Subject
    action: str = ""
    place: str = ""
    time: str = ""
    tail: str = ""           # why, for whom, with whom


def place_phrase(g, kind=""):
    kind = kind or g.rng.choice(("inside", "outside", "outside", "near", "furniture"))
    if kind == "near":
        return g.rng.choice(("near", "in front of", "behind", "next to")) + " the " + g.lex.pick(g.rng, "building")
    if kind == "furniture":
        return g.rng.choice(("on", "under", "behind", "next to")) + " the " + g.lex.pick(g.rng, "furniture")
    word = g.lex.pick(g.rng, kind)
    return ("on" if word in ON else "in") + " the " + word


def other_place(g, place):
    """A place that excludes this one."""
    head, _, noun = place.rpartition(" the ")
    if g.rng.random() < 0.25 and head in ("on", "under") and noun not in ON:
        return ("under" if head == "on" else "on") + " the " + noun
    while True:
        other = place_phrase(g, g.rng.choice(("inside", "outside")))
        if other.split()[-1] not in SYNONYMS.get(noun, []) + [noun]:
            return other


def adjective(g, kind):
    left, right = g.lex.pick(g.rng, {"p": "person_adj", "a": "animal_adj"}.get(kind, "thing_adj")).split("/")
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
        subject.adjectives.append(adjective(g, kind) if rng.random() < 0.7 else g.lex.pick(rng, "colour")
                                  if kind != "p" else g.lex.pick(rng, "rare_adj"))
    return subject


def special_noun(g, noun):
    """A word that entails this noun: a kind of it or another name for it."""
    choices = list(SYNONYMS.get(noun, []))
    for pool in ("people", "pet", "person", "animal", "bird", "fish", "insect"):
        if noun in g.lex.general.values() or noun in ("child", "man", "woman", "dog", "cat", "adult", "kid", "horse"):
            choices += [w for w in g.lex.pools[pool][0][:40] if noun in g.lex.up.get(w, [])]
    return g.rng.choice(choices) if choices else noun


def other_noun(g, subject):
    """A noun that the same being cannot bear."""
    noun = subject.noun
    if noun in EXCLUDE:
        return g.rng.choice(EXCLUDE[noun].split())
    while True:
        other = g.lex.pick(g.rng, g.lex.general.get(noun, "animal" if subject.kind == "a" else "person"))
        if other != noun and other not in SYNONYMS.get(noun, []) + g.lex.up.get(noun, []) and (
                noun not in g.lex.up.get(other, [])):
            return other


def general_noun(g, noun):
    """A word that this noun entails and that does not entail it."""
    ups = [u for u in g.lex.up.get(noun, []) if noun not in g.lex.up.get(u, [])]
    return g.rng.choice(ups) if ups else ""


def draw_action(g, kind):
    rng = g.rng
    if kind == "a":
        return Action(rng.choice("run sleep swim jump eat stand lie play drink sit rest hide wait walk dig".split()))
    roll = rng.random()
    if roll < 0.2:
        which = rng.choice(("body", "mouth"))
        return Action(g.lex.pick(rng, which), which)
    if roll < 0.28:
        return Action(g.lex.pick(rng, "rare_verb"), "rare")
    verb = g.lex.pick(rng, "transitive")
    pool = TRANSITIVE[verb][0]
    action = Action(verb, "hands", g.lex.pick(rng, pool) if rng.random() < 0.85 else g.lex.pick(rng, "rare_noun"), pool)
    if pool in GENERAL and rng.random() < 0.15:
        action.object = rng.choice(GENERAL[pool].split())
    if pool in ("thing", "goods", "garment", "vehicle", "device") and rng.random() < 0.25:
        action.colour = g.lex.pick(rng, "colour")
    return action


def other_action(g, action, kind):
    """Something that nobody does at the same time."""
    rng = g.rng
    if kind == "a":
        wrong = {"run": "sleep lie sit stand swim", "sleep": "run swim jump eat play drink walk dig", "swim": "sleep run lie dig",
                 "jump": "sleep lie sit", "eat": "sleep swim run", "stand": "sit lie run sleep", "lie": "stand run jump walk",
                 "play": "sleep rest", "drink": "sleep run dig", "sit": "stand run walk swim", "rest": "run play dig jump",
                 "hide": "play swim", "wait": "run sleep", "walk": "sleep lie sit swim", "dig": "sleep swim rest"}
        return Action(rng.choice(wrong[action.verb].split()))
    if action.kind == "hands" and rng.random() < 0.7:
        for _ in range(20):
            other = g.lex.pick(rng, action.pool)
            if other != action.object and other not in SYNONYMS.get(action.object, []) + g.lex.up.get(action.object, []) and (
                    action.object not in g.lex.up.get(other, [])) and action.object not in GENERAL.get(action.pool, "").split():
                return Action(action.verb, "hands", other, action.pool, action.colour)
    if action.kind == "rare":
        return Action(rng.choice(("sleep", "rest", g.lex.pick(rng, "rare_verb"))), "rare")
    if action.kind == "hands":
        if action.verb in MAIN and rng.random() < 0.5:
            verb = rng.choice([v for v in MAIN if v.split()[0] != action.verb.split()[0]])
            return Action(verb, "hands", g.lex.pick(rng, TRANSITIVE[verb][0]), TRANSITIVE[verb][0])
        return Action(rng.choice(("sleep", "swim", "take a nap", "lie in bed")))
    while True:
        other = g.lex.pick(rng, action.kind)
        if other != action.verb:
            return Action(other, action.kind)


def closer_action(g, action):
    """The same act in other or more special words."""
    rng = g.rng
    if action.object in g.lex.pools and action.object in GENERAL.get(action.pool, "") and rng.random() < 0.8:
        return Action(action.verb, action.kind, g.lex.pick(rng, action.object), action.pool, action.colour)
    first, _, rest = action.verb.partition(" ")
    choices = LESS.get(action.verb, []) + VERB_SAME.get(first, "").split()
    if choices and not (action.verb == "make"):
        special = rng.choice(choices)
        return Action((special + " " + rest).strip(), action.kind, action.object, action.pool, action.colour)
    return action


def open_action(g, action, kind):
    """What leaves this act open, as a verb phrase, or "" for no act at all."""
    rng = g.rng
    roll = rng.random()
    if action.kind == "hands" and rng.random() < 0.4:
        noun = general_noun(g, action.object)
        if noun and noun not in ("person", "building"):
            return Action(action.verb, "hands", noun, action.pool, action.colour).vp()
    if roll < 0.25:
        return rng.choice(("want to ", "plan to ", "hope to ", "like to ", "be ready to ", "try to learn how to ")) + action.vp()
    if kind == "p" and roll < 0.5 and action.kind == "hands":
        return rng.choice(TRANSITIVE[action.verb][1].split("|"))
    if kind == "p" and roll < 0.65 and action.kind != "rare":
        return rng.choice(sorted(STILL)) if action.kind != "body" else rng.choice(("sing", "whistle", "talk"))
    if roll < 0.75 and action.kind == "hands":
        thing = Action("see", "hands", action.object, action.pool, action.colour).vp().partition(" ")[2]
        return rng.choice(("look at ", "think about ", "talk about ")) + (thing if action.verb != "play the" else "the " + thing)
    return ""


TAILS = ("for {} mother;with {} brother;for the first time;because {1} tired;to relax;for a friend;to win a prize;on the way home;with {} dog;for"
         " school;for the party;with {} sister;to impress {} friends;for money;before going home;for {} birthday;with {} family;because {1} bored;for the"
         " guests;to make {} parents happy;while waiting for the bus;to get warm;after a long day;with {} friends;for {} wife;with {} children;as a job")


def draw_tail(g, subject):
    own = {"she": "her", "he": "his", "i": "my", "we": "our", "it": "its"}.get(subject.pronoun(), "their")
    who = {"i": "i am", "we": "we are", "she": "she is", "he": "he is"}.get(subject.pronoun(), "they are")
    return g.rng.choice(TAILS.split(";")).replace("{}", own).replace("{1}", who)


def tell_passive(g, scene, action, tense, aspect):
    """What is done, by whom."""
    verb, _, rest = action.verb.partition(" ")
    thing = action.vp()[len(verb) + 1:]
    g.tags.add("passive")
    return thing + " " + passive(verb, " by " + scene.subject.text(g.rng), False, tense, aspect) + (
        " " + scene.place if scene.place else "") + (" " + scene.time if scene.time else "")


def tell(g, scene, vp, tense, aspect, forms=("plain",)):
    """One sentence of a scene."""
    rng = g.rng
    s, form = scene.subject, rng.choice(forms)
    who = s.text(rng)
    where = (" " + scene.place if scene.place else "") + (" " + scene.time if scene.time else "") + (
        " " + scene.tail if scene.tail else "")
    progressive = aspect == "progressive" and not vp.startswith(("be ", "not ", "have "))
    g.tags.add(form)
    if form == "there" and progressive and s.det == "a":
        return "there " + be(s.many, tense) + " " + who + " " + ing_phrase(vp) + where
    if form == "that" and s.det == "a":
        return "there " + be(s.many, tense) + " " + who + (" who " if s.kind == "p" else " that ") + finite(
            vp, s.many, tense, aspect) + where
    if form == "see" and progressive and tense == "present":
        return rng.choice(("i can see ", "i see ", "we see ", "look at ", "this is a picture of ")) + who + " " + ing_phrase(vp) + where
    if form == "front" and (scene.place or scene.time) and not scene.tail:
        return (scene.place + " " + scene.time).strip() + ", " + who + " " + finite(vp, s.many, tense, aspect)
    if form == "cleft" and not s.many:
        return "it " + be(False, tense) + " " + who + " who " + finite(vp, s.many, tense, aspect) + where
    short = rng.random() < 0.3
    return who + " " + finite(vp, s.many, tense, aspect, short) + where


FORMS = ("plain",) * 8 + ("there", "there", "that", "see", "front", "cleft")


def detail(g, subject):
    """Something that bears on nothing else."""
    rng = g.rng
    if subject.kind != "p" or subject.many:
        return rng.choice(("because of the weather", "as usual", "for a long time", "again", "right now", "today"))
    who = subject.pronoun() if subject.noun not in ("person", "someone") else "this person"
    return rng.choice(("and {} {} from {}", "and {} {} in a house in {}", "while {} {} not in {}", "and {} {} new in {}")).format(
        who, "are" if who == "they" else "is", g.lex.pick(rng, "city")) if rng.random() < 0.5 else rng.choice((
            "because it is fun", "as usual", "for a long time", "again", "right now", "with a friend", "with some friends",
            "today", "as every day", "together with " + g.lex.pick(rng, "male")))


def soften(g, subject):
    """The same subject with more said about it."""
    s, rng = subject.but(), g.rng
    if s.det and rng.random() < 0.3:
        s.noun = special_noun(g, s.noun)
    if s.det and not s.adjectives and rng.random() < 0.25:
        s.adjectives.append(unrelated(g, s.kind, ""))
    if s.det and rng.random() < 0.3:
        s.det = rng.choice(("a", "the"))
    if s.count == 0 and rng.random() < 0.5:
        s.count = rng.choice((3, 4, 5, 6, 7, 9, 12))
    return s


def scene_pair(g, label):
    """Who does what where, each of them possibly broken, dropped or made more special."""
    rng = g.rng
    subject = draw_subject(g)
    action = draw_action(g, subject.kind)
    h = Scene(subject, "", place_phrase(g) if rng.random() < 0.3 else "")
    if rng.random() < 0.12:
        h.time = time_phrase(g)
    general = rng.random() < 0.2 and action.kind == "hands"
    h_vp = rng.choice(TRANSITIVE[action.verb][1].split("|")) if general else action.vp()
    tense, aspect = rng.choices(("present", "past"), (3, 1))[0], rng.choices(("progressive", "simple"), (3, 1))[0]
    negative = rng.random() < 0.22 and not subject.adjectives and subject.count in (0, 1) and subject.noun not in ("person", "adult")
    if negative:
        h.subject.det = "" if not h.subject.det else "the"
        label = {ENTAILMENT: CONTRADICTION, CONTRADICTION: ENTAILMENT}.get(label, label)
    if subject.kind == "p" and not negative and rng.random() < 0.15:
        h.tail = draw_tail(g, subject)
    if action.object and not general and not negative and not h.tail and subject.noun not in PRONOUNS and rng.random() < 0.08:
        text = tell_passive(g, h, action, tense, aspect)
    else:
        text = tell(g, h, negate(h_vp) if negative else h_vp, tense, aspect, ("plain",) if negative else FORMS)
    slots = ["tail"] * 4 * bool(h.tail) + ["action"] * 3 + ["place"] * 2 * bool(h.place) + ["time"] * 2 * bool(h.time)
    if not negative:
        slots += ["subject"] * 2 * bool(subject.det) + ["adjective"] * 2 * bool(subject.adjectives) + ["count"] * 3 * bool(subject.many and subject.det)
    slot = rng.choice(slots)
    return premise(g, label, h, action, general, slot, tense, aspect, negative), text


def time_phrase(g):
    return "on " + g.rng.choice(WEEKDAYS.split()) if g.rng.random() < 0.3 else g.rng.choice(sorted(DAYTIMES))


def other_time(g, time):
    if time.startswith("on "):
        return "on " + g.rng.choice([d for d in WEEKDAYS.split() if d not in time])
    return g.rng.choice([t for t, k in sorted(DAYTIMES.items()) if k == DAYTIMES[time] and t != time and (k != 1 or t[:3] != time[:3])])


def premise(g, label, h, action, general, slot, tense, aspect, negative):
    rng = g.rng
    p = Scene(soften(g, h.subject) if not negative else h.subject.but(), "", h.place, h.time, h.tail)
    act = closer_action(g, action) if rng.random() < 0.5 else action
    vp = act.vp()
    if label == CONTRADICTION:
        vp = contradict(g, p, h, action, general, slot, vp)
    elif label == NEUTRAL:
        vp = leave_open(g, p, h, action, general, slot, vp, negative)
    if vp.startswith("not "):
        return tell(g, p, vp, tense, aspect)
    if vp == act.vp() and act.object and not p.tail and not p.subject.adjectives and p.subject.noun not in PRONOUNS and rng.random() < 0.1:
        return tell_passive(g, p, act, tense, aspect)
    if not p.place and (slot != "place" or label == CONTRADICTION) and rng.random() < 0.35:
        p.place = place_phrase(g)
    if not p.time and slot != "time" and rng.random() < 0.2:
        p.time = time_phrase(g)
    if not vp:
        p.time = p.time if tense == "present" else ""
        where = (" " + (p.place or place_phrase(g) if slot != "place" else "here"))
        return p.subject.text(rng) + " " + be(p.subject.many, tense) + where if rng.random() < 0.5 or p.subject.det != "a" else (
            "there " + be(p.subject.many, tense) + " " + p.subject.text(rng) + where)
    if not p.tail and h.subject.kind == "p" and slot != "tail" and rng.random() < 0.15:
        p.tail = draw_tail(g, h.subject)
    text = tell(g, p, vp, tense, rng.choice((aspect, "progressive")), FORMS)
    return text + (" " + detail(g, p.subject) if not p.tail and rng.random() < 0.25 else "")


def contradict(g, p, h, action, general, slot, vp):
    rng = g.rng
    if slot == "tail" and rng.random() < 0.5:
        p.tail = ""
    if slot in ("action", "tail"):
        if rng.random() < 0.3:
            p.subject.adjectives = list(h.subject.adjectives) if h.subject.det != "a" else []
            p.subject.noun, p.subject.det = h.subject.noun, "the" if h.subject.det else ""
            return negate(h_general(g, action) if general or rng.random() < 0.2 else action.vp())
        if general and action.kind == "hands":
            return Action(rng.choice(("sleep", "sleep", "swim", "rest"))).vp()
        return other_action(g, action, h.subject.kind).vp()
    if slot == "place":
        p.place = other_place(g, h.place)
    elif slot == "time":
        p.time = other_time(g, h.time)
    elif slot == "subject":
        p.subject.noun = other_noun(g, h.subject)
    elif slot == "adjective":
        old = h.subject.adjectives[0]
        new = rng.choice(SIDES[old][1]) if old in SIDES else (
            rng.choice([c for c in g.lex.pools["colour"][0] if c != old]) if old in g.lex.pools["colour"][0] else "not")
        p.subject.adjectives = [new]
        if new == "not":          # nothing excludes a rare adjective: break the act instead
            p.subject.adjectives = [old]
            return other_action(g, action, h.subject.kind).vp() if not general else "sleep"
    elif slot == "count":
        p.subject.count = rng.choice([n for n in (1, 1, 2, 3, 4, 5, 6, 8, 10) if n != h.subject.count])
        if h.subject.count == 0:
            p.subject.count = 1
    return vp


def h_general(g, action):
    return g.rng.choice(TRANSITIVE[action.verb][1].split("|")) if action.kind == "hands" else action.vp()


def leave_open(g, p, h, action, general, slot, vp, negative):
    rng = g.rng
    if slot == "tail":
        p.tail = draw_tail(g, h.subject) if rng.random() < 0.3 else ""
        p.tail = "" if p.tail == h.tail else p.tail
        return vp
    if slot == "action":
        if negative or rng.random() < 0.8 or not h.subject.det:
            if general:
                return rng.choice(("want to ", "hope to ")) + vp if rng.random() < 0.3 else rng.choice(("", "stand", "sit", "wait"))
            return open_action(g, action, h.subject.kind)
        slot = "subject"
    if slot == "place":
        p.place = ""
    elif slot == "time":
        p.time = ""
    elif slot == "count":
        p.subject.count = 0 if h.subject.count else 0
        if h.subject.count == 0:
            return open_action(g, action, h.subject.kind)
    elif slot == "adjective":
        p.subject.adjectives = [unrelated(g, h.subject.kind, h.subject.adjectives[0])] if rng.random() < 0.6 else []
    elif slot == "subject":
        noun = general_noun(g, h.subject.noun)
        if noun:
            p.subject.noun = noun
        else:
            return open_action(g, action, h.subject.kind)
    return vp


def predicate_pair(g, label):
    """What everyday predicates imply."""
    rng = g.rng
    who, hyps, yes, no, maybe = rng.choice(ROWS)
    kind = rng.choice("ppa") if who[0] == "b" else who[0]
    subject = draw_subject(g, kind, plain=rng.random() < 0.8)
    tense = rng.choices(("present", "past"), (4, 1))[0]
    aspect = rng.choices(("progressive", "simple"), (4, 1))[0]
    shown = rng.choice(hyps)
    negative = rng.random() < 0.2
    if negative:
        subject.adjectives, subject.det = [], "the" if subject.det else ""
        label = {ENTAILMENT: CONTRADICTION, CONTRADICTION: ENTAILMENT}.get(label, label)
    h = Scene(subject)
    text = tell(g, h, negate(shown) if negative else shown, tense, aspect, ("plain",) if negative or subject.det != "a" else
                ("plain",) * 4 + ("that", "there"))
    p = Scene(soften(g, subject) if not negative else subject.but())
    if label == ENTAILMENT:
        vp = rng.choice(yes + hyps[:1]) if rng.random() < 0.9 else rng.choice(hyps)
    elif label == CONTRADICTION:
        vp = rng.choice(no)
        if rng.random() < 0.2:
            p.subject = subject.but(det="the" if subject.det else "")
            vp = negate(rng.choice(hyps))
    else:
        vp = rng.choice(maybe)
        if kind == "p" and hyps[0].startswith(LASTING) and rng.random() < 0.5:
            action, p.place = draw_action(g, "p"), place_phrase(g)
            vp = "lie on the sofa" if action.kind == "rare" or action.verb in ("feed", "eat", "ride") else action.vp()
        elif rng.random() < 0.15:
            vp = rng.choice(("want to ", "hope to ", "try to ")) + rng.choice(hyps)
    if rng.random() < 0.12 and label != NEUTRAL and not negative:     # one more fact about the same being
        vp = vp + " and " + (finite(rng.choice(maybe), p.subject.many, tense, aspect))
    if rng.random() < 0.1:
        p.time = time_phrase(g)
    out = tell(g, p, vp, tense, aspect, FORMS if not negative else ("plain",))
    return out + rng.choice(("",) * 8 + (" today", " right now", " as usual", " again")), text


def fact_pair(g, label):
    """Whole sentences about weather and things."""
    rng = g.rng
    hyps, yes, no, maybe = rng.choice(FACTS)
    text = rng.choice(hyps)
    if rng.random() < 0.25 and " is " in text and not text.startswith("there"):
        text = text.replace(" is ", " is not ", 1)
        label = {ENTAILMENT: CONTRADICTION, CONTRADICTION: ENTAILMENT}.get(label, label)
    cell = (yes + hyps, maybe, no)[label]
    first = rng.choice(cell)
    if rng.random() < 0.3:
        second = rng.choice(maybe)
        if second != first:
            first = rng.choice(("{} and {}", "{}, and {}")).format(*rng.sample((first, second), 2))
    if rng.random() < 0.2:
        first += rng.choice((" today", " now", " again", " in " + g.lex.pick(rng, "city").capitalize()))
    return first, text
