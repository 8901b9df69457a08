# SPDX-License-Identifier: Apache-2.0
"""Pairs from the rows of everyday.py: what everyday predicates and sentences imply."""
from .everyday import PREDICATES, SENTENCES, rows
from .grammar import finite, negate
from .scenes import FORMS, soften, tell
from .world import (CONTRADICTION, ENTAILMENT, NEUTRAL, Scene, draw_action, draw_subject,
                   place_phrase, time_phrase)

ROWS, FACTS = rows(PREDICATES), rows(SENTENCES)
# Predicates that are independent of any action.
LASTING = ("have a", "have children", "have hair", "have blond", "be married", "be rich", "live ",
           "be old", "be young", "be able to speak", "never eat", "own ", "be kind", "be a good",
           "be a musician", "be a student", "be good at", "like animals", "know how", "have a job")


RESTING = set("sleep rest lie sit nap wait stand hide yawn snore".split())


def awake(g, kind):
    """An action that implies being awake."""
    while True:
        action = draw_action(g, kind)
        if action.verb.split()[0] not in RESTING and action.kind != "rare":
            return action.vp()


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
    text = tell(g, h,
                negate(shown) if negative else shown, tense, aspect,
                ("plain",) if negative or subject.det != "a" else
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
            vp = "lie on the sofa" if action.kind == "rare" or action.verb in (
                "feed", "eat", "ride") else action.vp()
        elif rng.random() < 0.15:
            vp = rng.choice(("want to ", "hope to ", "try to ")) + rng.choice(hyps)
    if (hyps[0] == "be asleep" and label == CONTRADICTION or hyps[0] == "be awake" and
            label == ENTAILMENT) and not vp.startswith("not ") and rng.random() < 0.7:
        vp = awake(g, subject.kind)
        if rng.random() < 0.5:
            p.place = place_phrase(g)
    if rng.random(
    ) < 0.12 and label != NEUTRAL and not negative:  # add a fact about the same subject
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
        first += rng.choice(
            (" today", " now", " again", " in " + g.lex.pick(rng, "city").capitalize()))
    return first, text
