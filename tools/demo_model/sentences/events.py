# SPDX-License-Identifier: Apache-2.0
"""Pairs about giving and taking, whether something happened, who else did it, and order in time.
The second sentence is drawn independently of the label."""
from .grammar import finite, ing_phrase, negate
from .lexicon import article, past
from .relations import FLIP, two
from .world import (CONTRADICTION, ENTAILMENT, NEUTRAL, draw_action, draw_subject, other_action,
                   place_phrase, time_phrase)

GIVING = (("give", "to", "get", "from"), ("sell", "to", "buy", "from"),
          ("lend", "to", "borrow", "from"), ("send", "to", "receive", "from"),
          ("hand", "to", "take", "from"), ("show", "to", "see", ""), ("bring", "to", "get", "from"))


def give_pair(g, label):
    rng = g.rng
    x, y, z = two(g, ("people", "person"))
    give, to, get, origin = rng.choice(GIVING)
    thing, other = g.lex.pick(rng, "thing"), g.lex.pick(rng, "fruit")
    if rng.random() < 0.2:
        thing = g.lex.pick(rng, "rare_noun")
    what = rng.choice(
        (article(thing), "the " + thing, article(g.lex.pick(rng, "colour") + " " + thing)))

    def say(a, b, no=False, style=None, what=what):
        style = rng.random() if style is None else style
        if style < 0.4:
            tail = give + " " + what + " " + to + " " + b
        elif style < 0.65 or not origin:
            tail = give + " " + b + " " + what
        else:
            a, tail = b, get + " " + what + " " + origin + " " + a
        if style >= 0.65:
            g.tags.add("give_get_" + get)
        return a + " " + finite(("not " if no else "") + tail, False, "past", "simple")

    negative = rng.random() < 0.2
    if rng.random() < 0.2 and origin:
        text = y + " " + finite(
            ("not " if negative else "") + get + " " + what, False, "past", "simple")
        label = FLIP[label] if negative else label
        return {
            ENTAILMENT:
                say(x, y),
            CONTRADICTION:
                rng.choice((say(x, y, True) if "not" else "",
                            y + " " + finite("not " + get + " anything", False, "past", "simple"))),
            NEUTRAL:
                rng.choice((x + " " + finite(
                    "want to " + give + " " + what + " " + to + " " + y, False, "past", "simple"),
                            say(x, z), y + " talked about " + what + " with " + x))
        }[label], text
    text = say(x, y, negative)
    label = FLIP[label] if negative else label
    tail = rng.choice(("", "", " " + time_phrase(g), " " + place_phrase(g)))
    if label == ENTAILMENT:
        return say(x, y) + tail, text
    if label == CONTRADICTION:
        return rng.choice((say(y, x) + tail, say(y, x), say(x, y, True))), text
    return rng.choice(
        (say(x, z), say(z, y), x + " " +
         finite("want to " + give + " " + what + " " + to + " " + y, False, "past", "simple"),
         x + " and " + y + " looked at " + what, say(x, y, what=article(other)),
         say(x, y + " or " + z,
             style=0.1), x + " promised to " + give + " " + what + " to " + y)), text


IMPLY = {
    "manage to": 0,
    "remember to": 0,
    "be able to and do": 0,
    "happen to": 0,
    "fail to": 2,
    "forget to": 2,
    "refuse to": 2,
    "be unable to": 2,
    "never": 2,
    "want to": 1,
    "hope to": 1,
    "plan to": 1,
    "try to": 1,
    "promise to": 1,
    "decide to": 1,
    "be ready to": 1,
    "be allowed to": 1,
    "offer to": 1,
    "expect to": 1,
    "agree to": 1
}


def modal_pair(g, label):
    """Whether something happened: managing, failing, wanting, perhaps, already, not yet."""
    rng = g.rng
    s = draw_subject(g, "p", plain=True)
    s.det = "the" if s.det else ""
    action = draw_action(g, "p")
    vp = action.vp() if rng.random() < 0.7 else rng.choice(
        ("visit " + g.lex.pick(rng, "city"), "find the " + g.lex.pick(rng, "thing"),
         "open the door", "help " + g.lex.pick(rng, "male"), "finish the work", "catch the train",
         "lose the " + g.lex.pick(rng, "thing"), "close the window", "call " +
         g.lex.pick(rng, "female"), "answer the question", "break the " + g.lex.pick(rng, "thing"),
         "leave the house", "pay the bill", "send the letter", "go to " + g.lex.pick(rng, "city"),
         "meet " + g.lex.pick(rng, "female")))
    tail = rng.choice(("", "", " " + time_phrase(g), " " + place_phrase(g)))
    who = s.text(rng)
    plain = lambda no: who + " " + finite(("not " if no else "") + vp, s.many, "past", "simple")
    have = "have" if s.many else "has"
    participle = lambda: past(vp.split()[0], True) + vp[len(vp.split()[0]):]
    negative = rng.random() < 0.3
    text = plain(negative)
    if rng.random() < 0.2:
        text = who + " " + have + (" not " if negative else " ") + participle()
    label = FLIP[label] if negative else label
    cue = rng.choice([
        k for k, v in IMPLY.items() if v == (0, 1, 2)[label] and k != "never" and "and do" not in k
    ])
    with_cue = who + " " + finite(cue + " " + vp, s.many, "past", "simple") + tail
    if label == ENTAILMENT:
        return rng.choice(
            (with_cue, plain(False) + tail, who + " " + have + " already " + participle(),
             who + " " + have + " just " + participle(), plain(False) + " twice",
             who + " stopped after " + ing_phrase(vp), "it is true that " + plain(False),
             who + " did not forget to " + vp)), text
    if label == CONTRADICTION:
        return rng.choice(
            (with_cue, plain(True), who + " " + have + " never " + participle(),
             who + " " + have + " not " + participle() + " yet",
             who + " never " + past(vp.split()[0]) + vp[len(vp.split()[0]):],
             "it is not true that " + plain(False), who + " left without " + ing_phrase(vp), who +
             " almost " + past(vp.split()[0]) + vp[len(vp.split()[0]):] + " but did not")), text
    return rng.choice(
        (with_cue, with_cue, who + " might have " + participle(), "maybe " + plain(False),
         "perhaps " + plain(False), g.lex.pick(rng, "male") + " thinks that " + plain(False),
         who + " talked about " + ing_phrase(vp), who + " was asked to " + vp,
         "i do not know whether " + plain(False))), text


def join_both(g, label, names, vp, say, tense):
    """Two subjects do the same thing."""
    x, y, z = names
    text = say(x + " and " + y, vp, True)
    yes = [
        "both " + text,
        say(y + " and " + x, vp, True),
        say(x + " , " + y + " and " + z, vp, True),
        say(x, vp) + " and " + say(y, vp),
        say(x, vp) + " and so " + ("did " if tense == "past" else "does ") + y
    ]
    no = [
        say("neither " + x + " nor " + y, vp),
        say(x, vp) + " but " + say(y, negate(vp)),
        say(y, negate(vp)), "only " + say(x, vp) + " and not " + y
    ]
    maybe = [
        say(x + " or " + y, vp),
        say(x, vp),
        say(x + " and " + z, vp, True),
        say(y, vp) + " and perhaps " + x + " too"
    ]
    return g.rng.choice((yes, maybe, no)[label]), text


def join_pair(g, label):
    """And, or, neither, but not, both, only, without, instead of."""
    rng = g.rng
    x, y, z = two(g)
    kind = "p"
    action = draw_action(g, kind)
    other = other_action(g, action, kind)
    vp, wrong = action.vp(), other.vp()
    tense, aspect = rng.choices(("present", "past"), (3, 1))[0], rng.choice(
        ("progressive", "progressive", "simple"))
    say = lambda who, v, many=False: who + " " + finite(v, many, tense, aspect)
    negative = rng.random() < 0.25
    both = rng.random() < 0.25
    positive_label = FLIP[label] if negative else label
    if both:
        return join_both(g, label, (x, y, z), vp, say, tense)
    text = say(x, negate(vp) if negative else vp)
    yes = [
        say(x + " and " + y, vp, True),
        say(y + " and " + x, vp, True),
        say("both " + x + " and " + y, vp, True),
        say(x, vp) + " but " + y + " " + ("did not" if tense == "past" else "does not"),
        say(x, vp) + " and " + say(y, wrong),
        say(y, wrong) + " while " + say(x, vp), "not " + y + " but " + say(x, vp),
        say(x, vp) + " instead of " + ing_phrase(wrong), "only " + say(x, vp)
    ]
    no = [
        say("neither " + x + " nor " + y, vp),
        say(y, vp) + " but " + x + " " + ("did not" if tense == "past" else "does not"),
        say(y, vp) + " and " + say(x, wrong),
        say(x, wrong) + " while " + say(y, vp), "not " + x + " but " + say(y, vp),
        say(x, wrong) + " instead of " + ing_phrase(vp), "everyone but " + say(x, vp),
        say(x, wrong),
        say(x, negate(vp)) + " but " + say(y, vp)
    ]
    maybe = [
        say(x + " or " + y, vp),
        say(y + " or " + x, vp),
        say(y + " and " + z, vp, True),
        say("either " + x + " or " + y, vp),
        say(y, vp) + " next to " + x,
        say(y, vp) + " because of " + x,
        say(x, "watch " + y) + " " + ing_phrase(vp) + "",
        say(x + " 's friend", vp),
        say(y, vp) + " with " + z
    ]
    return rng.choice((yes, maybe, no)[positive_label]), text


def order_pair(g, label):
    """Before and after."""
    rng = g.rng
    x, y, z = two(g, ("people", "person"))
    if rng.random() < 0.5:
        a, b = [
            w + " " + finite(v, False, "past", "simple")
            for w, v in zip((x, y),
                            rng.sample(("arrive", "leave", "wake up", "eat", "go home", "sing",
                                        "finish", "fall asleep", "call", "sit down", "stand up",
                                        "pay"), 2))
        ]
    else:
        first, second = draw_action(g, "p").vp(), draw_action(g, "p").vp()
        if first.split()[0] == second.split()[0]:
            return order_pair(g, label)
        a, b = x + " " + finite(first, False, "past", "simple"), x + " " + finite(
            second, False, "past", "simple")
    before = lambda p, q: rng.choice(
        (p + " before " + q, q + " after " + p, p + " and then " + q, "after " + p + " , " + q,
         "before " + q + " , " + p, "first " + p + " and later " + q))
    if rng.random() < 0.25:  # whether it happened at all
        return rng.choice({
            ENTAILMENT: [before(a, b), before(b, a)],
            CONTRADICTION: [x + " never " + a[len(x) + 1:], "it is not true that " + a],
            NEUTRAL: [b, "maybe " + before(a, b), y + " thinks that " + a]
        }[label]), a
    text = rng.choice((a + " before " + b, b + " after " + a, a + " and then " + b))
    return rng.choice({
        ENTAILMENT: [before(a, b)],
        CONTRADICTION: [before(b, a),
                        before(b, a), "at the same time " + a + " and " + b],
        NEUTRAL: [
            a + " and " + b, b + " and " + a, "maybe " + before(a, b), "perhaps " + before(b, a),
            a + " on " + "monday"
        ]
    }[label]), text
