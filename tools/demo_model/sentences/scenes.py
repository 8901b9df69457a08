# SPDX-License-Identifier: Apache-2.0
"""Scenes: who does what, where and when.

The second sentence is drawn first, independently of the label; the first sentence is then written
to entail it, contradict it or leave it open. The second sentence alone therefore says nothing about
the label. Both sentences of a pair describe one scene: a different animal, number, colour or place
contradicts."""
from .grammar import be, finite, ing_phrase, negate, passive
from .lexicon import article
from .world import (CONTRADICTION, ENTAILMENT, NEUTRAL, PRONOUNS, SIDES, Action, Scene,
                   closer_action, draw_action, draw_subject, general_noun, open_action,
                   other_action, other_noun, other_place, other_time, place_phrase,
                   special_noun, time_phrase, unrelated)
from .words import TRANSITIVE

TAILS = (
    "for {} mother;with {} brother;for the first time;because {1} tired;to relax;for a friend;to"
    " win a prize;on the way home;with {} dog;for"
    " school;for the party;with {} sister;to impress {} friends;for money;before going home;for"
    " {} birthday;with {} family;because {1} bored;for the"
    " guests;to make {} parents happy;while waiting for the bus;to get warm;after a long"
    " day;with {} friends;for {} wife;with {} children;as a job"
)


def draw_tail(g, subject):
    own = {
        "she": "her",
        "he": "his",
        "i": "my",
        "we": "our",
        "it": "its"
    }.get(subject.pronoun(), "their")
    who = {
        "i": "i am",
        "we": "we are",
        "she": "she is",
        "he": "he is"
    }.get(subject.pronoun(), "they are")
    return g.rng.choice(TAILS.split(";")).replace("{}", own).replace("{1}", who)


def tell_passive(g, scene, action, tense, aspect):
    """The scene in the passive voice."""
    verb, _, rest = action.verb.partition(" ")
    thing = action.vp()[len(verb) + 1:]
    g.tags.add("passive")
    return thing + " " + passive(verb, " by " + scene.subject.text(g.rng), False, tense, aspect) + (
        " " + scene.place if scene.place else "") + (" " + scene.time if scene.time else "")


def tell(g, scene, vp, tense, aspect, forms=("plain",)):
    """The scene as one sentence, in one of these forms."""
    rng = g.rng
    s, form = scene.subject, rng.choice(forms)
    who = s.text(rng)
    where = (" " + scene.place if scene.place else "") + (
        " " + scene.time if scene.time else "") + (" " + scene.tail if scene.tail else "")
    progressive = aspect == "progressive" and not vp.startswith(("be ", "not ", "have "))
    g.tags.add(form)
    if form == "there" and progressive and s.det == "a":
        return "there " + be(s.many, tense) + " " + who + " " + ing_phrase(vp) + where
    if form == "that" and s.det == "a":
        return "there " + be(s.many, tense) + " " + who + (
            " who " if s.kind == "p" else " that ") + finite(vp, s.many, tense, aspect) + where
    if form == "see" and progressive and tense == "present":
        return rng.choice(("i can see ", "i see ", "we see ", "look at ",
                           "this is a picture of ")) + who + " " + ing_phrase(vp) + where
    if form == "front" and (scene.place or scene.time) and not scene.tail:
        return (scene.place + " " + scene.time).strip() + ", " + who + " " + finite(
            vp, s.many, tense, aspect)
    if form == "cleft" and not s.many:
        return "it " + be(False, tense) + " " + who + " who " + finite(vp, s.many, tense,
                                                                       aspect) + where
    short = rng.random() < 0.3
    return who + " " + finite(vp, s.many, tense, aspect, short) + where


FORMS = ("plain",) * 8 + ("there", "there", "that", "see", "front", "cleft")


def detail(g, subject):
    """A detail that affects nothing else."""
    rng = g.rng
    if subject.kind != "p" or subject.many:
        return rng.choice(("because of the weather", "as usual", "for a long time", "again",
                           "right now", "today"))
    who = subject.pronoun() if subject.noun not in ("person", "someone") else "this person"
    return rng.choice(("and {} {} from {}", "and {} {} in a house in {}",
                       "while {} {} not in {}", "and {} {} new in {}")).format(
                           who, "are" if who == "they" else "is", g.lex.pick(
                               rng, "city")) if rng.random() < 0.5 else rng.choice(
                                   ("because it is fun", "as usual", "for a long time", "again",
                                    "right now", "with a friend", "with some friends", "today",
                                    "as every day", "together with " + g.lex.pick(rng, "male")))


def soften(g, subject):
    """The same subject, described in more detail."""
    s, rng = subject.but(), g.rng
    if s.det and rng.random() < 0.3:
        s.noun = special_noun(g, s.noun)
    if s.det and not s.adjectives and rng.random() < 0.25:
        s.adjectives.append(unrelated(g, s.kind, ""))
    if s.det and rng.random() < 0.3:
        s.det = rng.choice(("a", "the"))
    if s.det and s.kind == "p" and not s.many and rng.random() < 0.08:
        s.dressed = "in " + article(
            g.lex.pick(rng, "colour") + " " + g.lex.pick(rng, "garment"))
    if s.count == 0 and rng.random() < 0.5:
        s.count = rng.choice((3, 4, 5, 6, 7, 9, 12))
    return s


def scene_pair(g, label):
    """Who does what where; the first sentence may contradict, omit or specialise each of these."""
    rng = g.rng
    subject = draw_subject(g)
    action = draw_action(g, subject.kind)
    h = Scene(subject, "", place_phrase(g) if rng.random() < 0.3 else "")
    if rng.random() < 0.12:
        h.time = time_phrase(g)
    general = rng.random() < 0.2 and action.kind == "hands"
    h_vp = rng.choice(TRANSITIVE[action.verb][1].split("|")) if general else action.vp()
    tense, aspect = rng.choices(("present", "past"), (3, 1))[0], rng.choices(
        ("progressive", "simple"), (3, 1))[0]
    negative = rng.random() < 0.22 and not subject.adjectives and subject.count in (
        0, 1) and subject.noun not in ("person", "adult")
    if negative:
        h.subject.det = "" if not h.subject.det else "the"
        label = {ENTAILMENT: CONTRADICTION, CONTRADICTION: ENTAILMENT}.get(label, label)
    if subject.kind == "p" and not negative and rng.random() < 0.15:
        h.tail = draw_tail(g, subject)
    plain = action.object and not general and not negative and not h.tail
    if plain and subject.noun not in PRONOUNS and rng.random() < 0.08:
        text = tell_passive(g, h, action, tense, aspect)
    else:
        text = tell(g, h,
                    negate(h_vp) if negative else h_vp, tense, aspect,
                    ("plain",) if negative else FORMS)
    slots = ["tail"] * 4 * bool(h.tail) + ["action"] * 3 + ["place"] * 2 * bool(
        h.place) + ["time"] * 2 * bool(h.time)
    if not negative:
        slots += ["subject"] * 2 * bool(subject.det) + ["adjective"] * 2 * bool(
            subject.adjectives) + ["count"] * 3 * bool(subject.many and subject.det)
    slot = rng.choice(slots)
    return premise(g, label, h, action, general, slot, tense, aspect, negative), text


def premise(g, label, h, action, general, slot, tense, aspect, negative):
    rng = g.rng
    p = Scene(
        soften(g, h.subject) if not negative else h.subject.but(), "", h.place, h.time, h.tail)
    act = closer_action(g, action) if rng.random() < 0.5 else action
    vp = act.vp()
    if label == CONTRADICTION:
        vp = contradict(g, p, h, action, general, slot, vp)
    elif label == NEUTRAL:
        vp = leave_open(g, p, h, action, general, slot, vp, negative)
    if vp.startswith("not "):
        return tell(g, p, vp, tense, aspect)
    plain = vp == act.vp() and act.object and not p.tail and not p.subject.adjectives
    if plain and p.subject.noun not in PRONOUNS and rng.random() < 0.1:
        return tell_passive(g, p, act, tense, aspect)
    if not p.place and (slot != "place" or label == CONTRADICTION) and rng.random() < 0.35:
        p.place = place_phrase(g)
    if not p.time and slot != "time" and rng.random() < 0.2:
        p.time = time_phrase(g)
    if not vp:
        p.time = p.time if tense == "present" else ""
        where = (" " + (p.place or place_phrase(g) if slot != "place" else "here"))
        return p.subject.text(rng) + " " + be(
            p.subject.many, tense) + where if rng.random() < 0.5 or p.subject.det != "a" else (
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
            rng.choice([c for c in g.lex.pools["colour"][0] if c != old])
            if old in g.lex.pools["colour"][0] else "not")
        p.subject.adjectives = [new]
        if new == "not":  # nothing excludes a rare adjective: contradict the action instead
            p.subject.adjectives = [old]
            return other_action(g, action, h.subject.kind).vp() if not general else "sleep"
    elif slot == "count":
        p.subject.count = rng.choice(
            [n for n in (1, 1, 2, 3, 4, 5, 6, 8, 10) if n != h.subject.count])
        if h.subject.count == 0:
            p.subject.count = 1
    return vp


def h_general(g, action):
    return g.rng.choice(
        TRANSITIVE[action.verb][1].split("|")) if action.kind == "hands" else action.vp()


def leave_open(g, p, h, action, general, slot, vp, negative):
    rng = g.rng
    if slot == "tail":
        p.tail = draw_tail(g, h.subject) if rng.random() < 0.3 else ""
        p.tail = "" if p.tail == h.tail else p.tail
        return vp
    if slot == "action":
        if negative or rng.random() < 0.8 or not h.subject.det:
            if general:
                return rng.choice(
                    ("want to ", "hope to ")) + vp if rng.random() < 0.3 else rng.choice(
                        ("", "stand", "sit", "wait"))
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
        p.subject.adjectives = [unrelated(g, h.subject.kind, h.subject.adjectives[0])
                               ] if rng.random() < 0.6 else []
    elif slot == "subject":
        noun = general_noun(g, h.subject.noun)
        if noun:
            p.subject.noun = noun
        else:
            return open_action(g, action, h.subject.kind)
    return vp
