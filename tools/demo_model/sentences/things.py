# SPDX-License-Identifier: Apache-2.0
"""Pairs about where things are, what things, animals and people are like, and what people wear. The
second sentence is drawn independently of the label."""
from .grammar import be, finite
from .lexicon import article
from .relations import FLIP
from .scenes import soften
from .world import (CONTRADICTION, ENTAILMENT, NEUTRAL, PLAIN_ADJ, SIDES, adjective, draw_action,
                   draw_subject, other_noun, place_phrase, unrelated)

CONVERSE = {
    "on": "under",
    "above": "below",
    "in front of": "behind",
    "to the left of": "to the right of",
    "over": "under",
    "north of": "south of",
    "east of": "west of"
}
CONVERSE.update({b: a for a, b in CONVERSE.items() if b != "under"})
CONVERSE["under"] = "on"
BESIDE = ("next to", "beside", "near", "close to")


def some_thing(g):
    rng = g.rng
    return g.lex.pick(
        rng,
        rng.choice(("thing", "thing", "toy", "fruit", "tool", "animal", "garment", "rare_noun",
                    "vehicle", "instrument")))


def where_pair(g, label):
    """Where a thing is relative to another."""
    rng = g.rng
    x, y, z = "the " + some_thing(g), "the " + g.lex.pick(
        rng, rng.choice(("furniture", "building", "thing", "tree"))), "the " + some_thing(g)
    if len({x, y, z}) < 3:
        return where_pair(g, label)
    if rng.random() < 0.25:
        x = "the " + g.lex.pick(rng, "colour") + x[3:]
    if rng.random() < 0.3:
        pos = rng.choice(BESIDE)
        same, wrong = rng.choice(BESIDE[:2] + (pos,)), "far away from"
    else:
        pos = rng.choice(sorted(CONVERSE))
        same, wrong = pos, CONVERSE[pos]
    there = rng.random() < 0.25
    say = lambda a, p, b, no="": (
        ("there is " + no.replace("not ", "no ") + ("" if no else "a ") + a[4:])
        if there and a == x else a + " is " + no).strip() + " " + p + " " + b
    say = say if not there else (lambda a, p, b, no="": a + " is " + no + p + " " + b)
    negative = rng.random() < 0.2
    text = say(x, pos, y, "not " if negative else "")
    label = FLIP[label] if negative else label
    yes = [
        say(x, same, y),
        say(x, same, y) + " and " + say(z, "in", "the " + g.lex.pick(rng, "inside"))
    ]
    if pos not in BESIDE:
        yes += [say(y, wrong, x)] * 2 * (pos not in ("on", "over"))
        no = [say(x, wrong, y), say(y, pos, x), say(x, pos, y, "not ")]
    else:
        yes += [say(y, pos, x)] * 2
        no = [say(x, wrong, y), say(x, pos, y, "not "), say(y, wrong, x)]
    maybe = [
        say(z, pos, y),
        say(x, pos, z) if pos in BESIDE else say(z, pos, x), x + " and " + y + " are " + rng.choice(
            ("new", "old", "here", "expensive", "in the " + g.lex.pick(rng, "inside"))),
        say(z, "near", x) + " and " + say(z, pos, y),
        x + " is " + unrelated(g, "t", "") + " and " + say(z, pos, y),
        "there are " + x + " and " + y
    ]
    return rng.choice((yes, maybe, no)[label]), text


def state_pair(g, label):
    """What a thing, an animal or a person is like."""
    rng = g.rng
    kind = rng.choice("pat")
    noun = g.lex.pick(
        rng,
        rng.choice({
            "p": ("people", "person", "male", "female"),
            "a": ("animal", "beast"),
            "t": ("thing", "vehicle", "building", "garment", "fruit", "rare_noun", "furniture")
        }[kind]))
    names = set(g.lex.pools["male"][0] + g.lex.pools["male"][1] + g.lex.pools["female"][0] +
                g.lex.pools["female"][1])
    who = noun if noun in names else rng.choice(
        ("the ", "this ", "my ", "his ", "her ", "the ")) + noun
    roll = rng.random()
    word = adjective(g, kind) if roll < 0.6 else g.lex.pick(
        rng, "scale").split("/")[rng.random() < 0.5] if roll < 0.8 else (g.lex.pick(
            rng, "colour") if kind != "p" and roll < 0.93 else g.lex.pick(rng, "rare_adj"))
    if word in SIDES and rng.random() < 0.3:
        word = rng.choice(SIDES[word][0])
    tense = rng.choice(("present", "present", "past"))
    is_ = who + " " + be(False, tense) + " "
    negative = rng.random() < 0.25
    attributive = rng.random() < 0.2 and who != noun
    show = lambda w, no="": is_ + no + w
    text = show(word, "not " if negative else "")
    label = FLIP[label] if negative else label
    same, other = SIDES.get(word, ([word], []))
    if word in g.lex.pools["colour"][0]:
        other = [c for c in g.lex.pools["colour"][0] if c != word]
    about = unrelated(g, kind, word)
    if label == ENTAILMENT:
        w = rng.choice(same + [word])
        first = rng.choice(
            (show(w), show("very " + w), show("really " + w), show(about + " and " + w),
             show(w + " and " + about), show(w) + " " + rng.choice(("today", "now", "again"))))
        if attributive:
            first = is_[:len(who)].replace(noun, w + " " + noun) + is_[len(who):] + about
    elif label == CONTRADICTION:
        w = rng.choice(other) if other and rng.random() < 0.7 else "not " + word if rng.random(
        ) < 0.6 else "not " + word + " at all"
        first = rng.choice((show(w), show(w), show(w) + " but " + about, show(about) + " but " + w,
                            show("very " + w) if "not" not in w else show(w)))
    elif (word in PLAIN_ADJ or
          word in g.lex.pools["colour"][0]) and kind != "t" and rng.random() < 0.5:
        act = draw_action(g, kind)
        first = who + " " + finite(act.vp(), False, tense, "progressive") + " " + place_phrase(g)
    else:
        first = rng.choice((show(about), show(about), show("not " + about), show("perhaps " + word),
                            who + " wants to be " + word, "maybe " + show(word),
                            show(word + " or " + about), "the other " + noun + " " +
                            be(False, tense) + " " + word if who != noun else show(about),
                            show(about) + " but not " + unrelated(g, kind, word)))
    return first, text


def wear_pair(g, label):
    """Clothes and their colours; wearing one garment does not exclude others."""
    rng = g.rng
    s = draw_subject(g, "p", plain=True)
    s.adjectives = []
    noun, colour = g.lex.pick(rng, "garment"), g.lex.pick(rng, "colour")
    piece = (colour + " " + noun) if rng.random() < 0.6 else noun
    verb = rng.choice(("wear", "wear", "put on", "hold", "buy", "own"))
    negative = rng.random() < 0.15
    if negative:
        s.det = "the" if s.det else ""
    say = lambda s_, what, no="": s_.text(rng) + " " + finite(no + verb + " " + article(what), s_.
                                                              many, "present", "progressive")
    text = say(s, piece, "not " if negative else "")
    label = FLIP[label] if negative else label
    other = rng.choice([c for c in g.lex.pools["colour"][0] if c != colour])
    p = soften(g, s) if not negative else s.but()
    p.dressed = ""
    if piece != noun and verb == "wear" and s.det and label != NEUTRAL and rng.random() < 0.4:
        # mentioned in passing: a man in a red coat is ...
        p.dressed = "in " + article(piece if label == ENTAILMENT else other + " " + noun)
        act = finite(draw_action(g, "p").vp(), p.many, "present", "progressive")
        return p.text(rng) + " " + act + rng.choice(("", " " + place_phrase(g))), text
    if label == ENTAILMENT:
        return say(
            p, piece if piece != noun else rng.choice(
                (noun, colour + " " + noun, adjective(g, "t") + " " + noun))) + rng.choice(
                    ("", "", " and " + article(g.lex.pick(rng, "garment")),
                     " " + place_phrase(g))), text
    if label == CONTRADICTION:
        if piece != noun and rng.random() < 0.6:
            return say(p, other + " " + noun) + rng.choice(("", " " + place_phrase(g))), text
        if s.det and not negative and rng.random() < 0.5:
            return say(p.but(noun=other_noun(g, s)), piece), text
        return say(s.but(det="the" if s.det else ""), piece, "not "), text
    if piece != noun and rng.random() < 0.5:
        return say(p, noun) + rng.choice(("", " " + place_phrase(g))), text
    return rng.choice(
        (say(p, colour + " " + g.lex.pick(rng, "garment")), p.text(rng) +
         " " + finite("want to " + verb + " " + article(piece), p.many, "present", "simple"),
         p.text(rng) + " " +
         finite("look at " + article(piece), p.many, "present", "progressive"))), text
