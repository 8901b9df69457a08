# SPDX-License-Identifier: Apache-2.0
"""Pairs about numbers and about all, some and none. The second sentence is drawn independently of
the label."""
from .grammar import finite, negate
from .lexicon import plural
from .relations import FLIP
from .world import (ENTAILMENT, NEUTRAL, SIDES, adjective, draw_action, other_action, place_phrase,
                   unrelated)
from .words import NUMBERS


def number_pair(g, label):
    """How many there are."""
    rng = g.rng
    pool = rng.choice(("animal", "thing", "people", "vehicle", "fruit", "person", "flower", "bird",
                       "rare_noun", "toy", "garment"))
    noun = g.lex.pick(rng, pool)
    place = place_phrase(g)
    low = rng.random() < 0.75
    n = rng.randint(2, 9) if low else rng.randint(4, 19)
    say = lambda k: NUMBERS[k] if rng.random() < 0.6 else str(k)
    things = lambda k: say(k) + " " + (noun if k == 1 else plural(noun))
    other = lambda: rng.choice([k for k in range(max(1, n - 4), min(20, n + 5)) if k != n])
    form = rng.choice(("exact", "exact", "exact", "least", "most", "several", "owner", "owner"))
    negative = rng.random() < 0.12 and form in ("exact", "owner")
    name = g.lex.pick(rng, rng.choice(("male", "female")))
    state = lambda q: "there are " + q + " " + place
    if form == "owner":
        verb = rng.choice(("have", "own", "buy", "see", "need", "count", "paint", "sell", "find"))
        state = lambda q: name + " " + finite(verb + " " + q, False, "present", "simple")
        n = max(n, 2)
    if form in ("least", "most"):
        g.tags.add(form)
        quantity = rng.choice(("at least ", "no fewer than ") if form == "least" else
                              ("at most ", "no more than ")) + things(n)
        n_or_more, fewer = things(rng.randint(n, min(20, n + 4))), things(rng.randint(1, n - 1))
        yes, no = (n_or_more, fewer) if form == "least" else (
            things(rng.randint(2, n)), things(rng.randint(n + 1, 20) if n < 20 else 20))
        first = (yes, "some " + plural(noun), no)[label]
        return state(first).replace("there are one",
                                    "there is one").replace("there are 1 ",
                                                            "there is 1 "), state(quantity)
    if form == "several":
        quantity, exact = "several " + plural(noun), things(max(n, 3))
        first = (rng.choice(
            (exact, "many " + plural(noun), "a lot of " + plural(noun))), "many other things",
                 rng.choice(("only one " + noun, "no " + plural(noun))))[label]
        return state(first).replace("are only one", "is only one"), state(quantity)
    text = state(things(n))
    if negative:
        label = FLIP[label]
        text = text.replace(
            "there are",
            "there are not") if form == "exact" else name + " does not " + verb + " " + things(n)
    if label == NEUTRAL:
        first = rng.choice(
            ("some " + plural(noun), "many " + plural(noun), plural(noun), "a few " + plural(noun),
             things(max(2, other()))[::1] + " or " + things(n), "some things",
             "at least " + things(max(2, n - 2)) if n > 3 else "some " + plural(noun)))
    else:
        k = n if label == ENTAILMENT else other()
        kind, word = g.rng.choice(
            (("", ""), ("", ""),
             (unrelated(g, "p" if pool in ("people", "person") else "t", "") + " ", "")))
        first = say(k) + " " + kind + (noun if k == 1 else plural(noun)) + rng.choice(
            ("", "", " and " + say(rng.randint(2, 9)) + " " + plural(g.lex.pick(rng, "thing"))))
        if first.startswith(("one ", "1 ")) and form == "exact":
            return "there is " + first + " " + place, text
    return state(first), text


def somebody_pair(g, label, form, vp, tense, aspect, where):
    """Somebody, nobody, everybody."""
    rng = g.rng
    who = rng.choice(("a man", "a woman", "the girl", "a boy", "my friend", "the teacher",
                      g.lex.pick(rng, "female")))
    single = lambda q, v: q + " " + finite(v, False, tense, aspect) + where
    some = lambda: single(
        rng.choice((who, who, who, "somebody", "someone", "everybody", "everyone")), vp)
    no = lambda: single(rng.choice(("nobody", "no one", "no person")), vp)
    maybe = lambda: rng.choice((single(who, "want to " + vp), single("somebody", "stand"),
                                single("nobody", "talk about it"), single(who, "wait"),
                                single("everybody", "like to " + vp)))
    pos = form == "somebody"
    text = single(
        rng.choice(("somebody", "someone", "a person") if pos else ("nobody", "no one")), vp)
    return ((some if pos else no), maybe, (no if pos else some))[label](), text


def quantifier_pair(g, label):
    """All, some, no, most."""
    rng = g.rng
    noun = plural(
        g.lex.pick(rng, rng.choice(("people", "animal", "person",
                                    "beast"))) if rng.random() < 0.8 else "child")
    kind = "p"
    if rng.random() < 0.6:
        action = draw_action(g, kind)
        vp, wrong = action.vp(), other_action(g, action, kind).vp()
    else:
        a = adjective(g, "p")
        vp, wrong = "be " + a, "be " + rng.choice(SIDES[a][1])
    tense, aspect = rng.choices(("present", "past"), (3, 1))[0], rng.choice(
        ("progressive", "progressive", "simple"))
    where = " " + place_phrase(g) if rng.random() < 0.25 else ""
    say = lambda q, v: q + " " + finite(v, True, tense, aspect) + where
    the = rng.random() < 0.5
    of = lambda q: (q + " of the " if the else q + " ") + noun
    every = lambda: rng.choice(("all the ", "all of the ") if the else ("all the ", "all ")) + noun
    none = lambda v: rng.choice((say("none of the " + noun
                                     if the else "no " + noun, v), say("the " + noun, negate(v))))
    one = rng.choice(("two", "three", "some", "a few", "many", "most"))
    form = rng.choice(("all", "some", "none", "not_all", "nobody", "somebody"))
    if form in ("nobody", "somebody"):
        return somebody_pair(g, label, form, vp, tense, aspect, where)
    text = {
        "all": say(every(), vp),
        "some": say(of("some"), vp),
        "none": none(vp),
        "not_all": "not " + say(every(), vp)
    }[form]
    cells = {
        "all": ([say(every(), vp), say("each and every one of the " + noun, vp)],
                [say(of(one), vp), say(of("some"), vp), say(of("most"), vp)],
                [none(vp), say(of("some"), negate(vp)), "not " + say(every(), vp),
                 say(every(), wrong)]),
        "some": ([say(every(), vp), say(of(one), vp), say(of("some"), vp)],
                 [say(every(), "want to " + vp), say(of("some"), "like to " + vp),
                  say(of(one), "hope to " + vp)],
                 [none(vp), say(every(), wrong)]),
        "none": ([none(vp), say(every(), wrong)],
                 [say(of("some"), negate(vp)), say(of("some"), wrong),
                  say(of(one), "want to " + vp)],
                 [say(every(), vp), say(of("some"), vp), say(of(one), vp)]),
        "not_all": ([none(vp), say(of("some"), negate(vp)), say(every(), wrong),
                     say(of("some"), wrong)],
                    [say(of("some"), vp), say(of(one), vp), say(of("some"), "want to " + vp)],
                    [say(every(), vp)])
    }[form]
    return rng.choice(cells[label]), text
