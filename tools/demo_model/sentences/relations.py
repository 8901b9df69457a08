# SPDX-License-Identifier: Apache-2.0
"""Pairs about who does what to whom, how people are related and how two compare. The second
sentence is drawn independently of the label, and a first sentence is then written to fit both."""
from .grammar import be, finite, passive
from .lexicon import plural
from .world import CONTRADICTION, ENTAILMENT, NEUTRAL, place_phrase, time_phrase
from .words import MUTUAL, VERB_SYNONYMS

FLIP = {ENTAILMENT: CONTRADICTION, CONTRADICTION: ENTAILMENT, NEUTRAL: NEUTRAL}


def two(g, kinds=None):
    """Three different names or nouns to use in both sentences: two and a spare."""
    rng = g.rng
    out = []
    style = rng.random()
    while len(out) < 3:
        if style < 0.4:
            word = g.lex.pick(rng, rng.choice(("male", "female")))
        else:
            pool = rng.choice(("people", "person", "animal", "beast") if not kinds else kinds)
            word = "the " + g.lex.pick(rng, pool)
        if word not in out:
            out.append(word)
    return out


def extra(g):
    rng = g.rng
    return "" if rng.random() < 0.6 else " " + (
        place_phrase(g) if rng.random() < 0.5 else time_phrase(g))


def act(rng, x, verb, y, tense, aspect, negative=False, voice=None):
    """x does verb to y, in the active or the passive voice."""
    head, _, rest = verb.partition(" ")
    if voice is None:
        voice = rng.random() < 0.3 and not rest
    if voice:
        return y + " " + passive(head, " by " + x, False, tense, aspect, negative)
    return x + " " + finite(("not " if negative else "") + verb + " " + y, False, tense, aspect)


def swap_pair(g, label):
    """Who does what to whom: the same words in a different order."""
    rng = g.rng
    x, y, z = two(g)
    kind = rng.choice(("act", "act", "act", "feel", "mutual"))
    verb = (g.lex.pick(rng, "acts")
            if rng.random() < 0.8 else g.lex.pick(rng, "rare_verb")) if kind == "act" else (
                g.lex.pick(rng, "feels") if kind == "feel" else rng.choice(MUTUAL.split("; ")))
    tense, aspect = rng.choice(
        ("present", "past")), "progressive" if rng.random() < 0.6 and kind != "feel" else "simple"
    negative = rng.random() < 0.2
    text = act(rng, x, verb, y, tense, aspect, negative)
    label = FLIP[label] if negative else label
    if label == ENTAILMENT:
        a, b = (x, y) if kind != "mutual" or rng.random() < 0.5 else (y, x)
        same = verb if verb not in VERB_SYNONYMS or rng.random() < 0.7 else rng.choice(
            VERB_SYNONYMS[verb].split())
        first = act(rng, a, same, b, tense, aspect) + extra(g)
        if rng.random() < 0.15:
            first = rng.choice(
                (z + " sees that " + first,
                 first + " and " + act(rng, z, "watch", x, tense, aspect, voice=False)))
    elif label == CONTRADICTION:
        if kind == "act" and rng.random() < 0.75:
            first = act(rng, y, verb, x, tense, aspect) + extra(g)
        else:
            first = act(
                rng, *((y, verb, x) if kind == "mutual" and rng.random() < 0.5 else (x, verb, y)),
                tense, aspect, True)
    else:
        first = swap_open(g, kind, x, verb, y, z, tense, aspect)
    return first, text


def swap_open(g, kind, x, verb, y, z, tense, aspect):
    rng = g.rng
    roll = rng.random()
    if kind == "feel" and roll < 0.5:
        return act(rng, y, verb, x, tense, aspect) + extra(g)
    if roll < 0.65:
        return x + " " + finite(
            rng.choice(("want to ", "hope to ", "plan to ")) + verb + " " + y, False, tense,
            "simple") + extra(g)
    if roll < 0.75:
        return act(rng, *rng.choice(((x + " or " + z, verb, y), (x, verb, y + " or " + z))), tense,
                   aspect, voice=False)
    if roll < 0.85:
        return act(rng, *rng.choice(((x + " 's brother", verb, y), (x, verb, y + " 's sister"))),
                   tense, aspect, voice=False)
    if roll < 0.93:
        return rng.choice((z + " says that ", "maybe ", "perhaps ", z + " asks whether ")) + act(
            rng, x, verb, y, tense, aspect, voice=False)
    return x + " and " + y + " " + be(True, tense) + " " + place_phrase(g)


COMPARE = (
    "tall/short old/young strong/weak fast/slow rich/poor big/small heavy/light happy/sad"
    " thin/thick loud/quiet"
    " cheap/dear clever/dull warm/cool hard/soft kind/rude wide/narrow high/low long/brief"
).split()


def more(adjective_):
    if adjective_ in ("clever",):
        return adjective_ + "er"
    if adjective_.endswith("y"):
        return adjective_[:-1] + "ier"
    if adjective_ in ("big", "sad", "thin"):
        return adjective_ + adjective_[-1] + "er"
    return adjective_ + ("r" if adjective_.endswith("e") else "er")


def compare_pair(g, label):
    rng = g.rng
    x, y, z = two(g, ("people", "person", "animal", "thing", "vehicle"))
    a, b = rng.choice(COMPARE).split("/")
    if rng.random() < 0.5:
        a, b = b, a
    tense = rng.choice(("present", "present", "past"))
    is_ = be(False, tense) + " "
    form = rng.random()
    negative = rng.random() < 0.2
    no = "not " if negative else ""
    text = x + " " + is_ + no + more(a) + " than " + y
    if form < 0.15 and not negative:
        text = y + " " + is_ + "not as " + a + " as " + x
        g.tags.add("not_as")
    label = FLIP[label] if negative else label
    yes = [
        x + " " + is_ + "much " + more(a) + " than " + y, x + " " + is_ + more(a) + " than " + y,
        y + " " + is_ + more(b) + " than " + x,
        x + " " + is_ + more(a) + " than " + y + " and " + z,
        y + " " + is_ + more(b) + " than " + x + " and " + z,
        x + " " + is_ + more(a) + " than " + z + " and " + z + " " + is_ + more(a) + " than " + y
    ]
    no_ = [
        y + " " + is_ + more(a) + " than " + x, x + " " + is_ + more(b) + " than " + y,
        y + " " + is_ + "much " + more(a) + " than " + x,
        y + " " + is_ + more(a) + " than " + x + " and " + z,
        x + " " + is_ + "exactly as " + a + " as " + y,
        y + " " + is_ + more(a) + " than " + z + " and " + z + " " + is_ + more(a) + " than " + x
    ]
    c, d = rng.choice([p for p in COMPARE if a not in p.split("/")]).split("/")
    open_ = [
        x + " " + is_ + more(a) + " than " + z, z + " " + is_ + more(a) + " than " + y,
        x + " " + is_ + more(c) + " than " + y, y + " " + is_ + more(d) + " than " + x,
        x + " and " + y + " " + be(True, tense) + " " + more(a) + " than " + z,
        x + " " + is_ + more(a) + " than " + z + " and " + y + " " + is_ + more(a) + " than " + z,
        "both " + x + " and " + y + " " + be(True, tense) + " " + a
    ]
    return rng.choice((yes, open_, no_)[label]), text


RELATIONS = [
    s.split(":")
    for s in ("father:child:knows", "mother:child:knows", "father:child:parent",
              "teacher:student:knows", "boss:employee:colleague", "owner:dog:friend",
              "doctor:patient:knows", "grandfather:grandchild:relative",
              "grandmother:grandchild:relative", "uncle:nephew:relative", "aunt:niece:relative",
              "leader:follower:friend", "coach:player:knows", "parent:child:relative",
              "landlord:tenant:neighbor", "employer:worker:knows", "guest:host:friend",
              "master:servant:knows", "wife:husband:friend", "husband:wife:friend",
              "seller:buyer:friend", "lawyer:client:friend", "trainer:pupil:colleague")
]
SYMMETRIC = ("neighbor friend cousin colleague classmate partner twin enemy rival roommate sibling"
             " relative teammate").split()


def is_a(rng, x, role, y, no=""):
    """x is the role of y."""
    return x + " is " + no + (rng.choice(("the ", "a ") if role[0] not in "aeiou" else ("the ",)) +
                              role + " of " + y if rng.random() < 0.6 else y + " 's " + role)


def relation_pair(g, label):
    rng = g.rng
    names = []
    while len(names) < 3:
        n = g.lex.pick(rng, rng.choice(("male", "female")))
        names += [n] * (n not in names)
    x, y, z = names
    negative = rng.random() < 0.2
    if rng.random() < 0.3:
        role = rng.choice(SYMMETRIC)
        text = is_a(rng, x, role, y, "not " if negative else "")
        label = FLIP[label] if negative else label
        a, b = (x, y) if rng.random() < 0.4 else (y, x)
        other = rng.choice([r for r in SYMMETRIC if r not in (role, "relative", "friend")])
        return {
            ENTAILMENT:
                rng.choice((is_a(rng, a, role, b), x + " and " + y + " are " + plural(role),
                            is_a(rng, a, role, b) + " and " + is_a(rng, z, other, x))),
            CONTRADICTION:
                rng.choice((is_a(rng, a, role, b,
                                 "not "), x + " and " + y + " are not " + plural(role))),
            NEUTRAL:
                rng.choice((is_a(rng, a, role, z), is_a(rng, z, role,
                                                        b), x + " and " + y + " know each other",
                            is_a(rng, x, role, z) + " and " + is_a(rng, z, "teacher", y),
                            is_a(rng, a, role + " or " + other, b)))
        }[label], text
    role, back, general = rng.choice(RELATIONS)
    if rng.random() < 0.3:
        role, back = back, role
    text = is_a(rng, x, role, y, "not " if negative else "")
    label = FLIP[label] if negative else label
    knows = lambda a, b: a + " knows " + b if general == "knows" else is_a(rng, a, general, b)
    if label == ENTAILMENT:
        first = is_a(rng, x, role, y) if rng.random() < 0.4 else is_a(rng, y, back, x)
        first += rng.choice(
            ("", "", " and " + is_a(rng, y, "friend", z), " and not " + z + " 's " + role))
    elif label == CONTRADICTION:
        first = rng.choice((is_a(rng, y, role, x), is_a(rng, x, back,
                                                        y), is_a(rng, y, role,
                                                                 x), is_a(rng, x, role, y, "not "),
                            is_a(rng, y, role, x) + " and " + is_a(rng, y, "friend", z)))
    else:
        first = rng.choice(
            (is_a(rng, x, role, z), is_a(rng, z, role, y), knows(x, y), knows(y, x),
             is_a(rng, y, back,
                  z), x + " lives near " + y, is_a(rng, x, role, z) + " and " + z + " knows " + y))
    return first, text
