# SPDX-License-Identifier: Apache-2.0
"""Pairs about things and where they are, clothes, giving and taking, order in time, intention and
coordination: each function draws the second sentence without looking at the label."""
from families import FLIP, two
from grammar import Subject, be, finite, ing_phrase, negate
from lexicon import DAYTIMES, NUMBERS, article, past, plural
from scenes import (PLAIN_ADJ, CONTRADICTION, ENTAILMENT, NEUTRAL, SIDES, SYNONYMS, adjective, draw_action, draw_subject, general_noun,
                    h_general, open_action, other_action, other_noun, other_place, place_phrase, soften, special_noun, tell,
                    time_phrase, unrelated, Scene, FORMS)

CONVERSE = {"on": "under", "above": "below", "in front of": "behind", "to the left of": "to the right of", "over": "under",
            "north of": "south of", "east of": "west of"}
CONVERSE.update({b: a for a, b in CONVERSE.items() if b != "under"})
CONVERSE["under"] = "on"
BESIDE = ("next to", "beside", "near", "close to")


def some_thing(g):
    rng = g.rng
    return g.lex.pick(rng, rng.choice(("thing", "thing", "toy", "fruit", "tool", "animal", "garment", "rare_noun", "vehicle", "instrument")))


def where_pair(g, label):
    """Where a thing is, seen from another thing."""
    rng = g.rng
    x, y, z = "the " + some_thing(g), "the " + g.lex.pick(rng, rng.choice(("furniture", "building", "thing", "tree"))), "the " + some_thing(g)
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
    say = lambda a, p, b, no="": (("there is " + no.replace("not ", "no ") + ("" if no else "a ") + a[4:]) if there and a == x
                                  else a + " is " + no) .strip() + " " + p + " " + b
    say = say if not there else (lambda a, p, b, no="": a + " is " + no + p + " " + b)
    negative = rng.random() < 0.2
    text = say(x, pos, y, "not " if negative else "")
    label = FLIP[label] if negative else label
    yes = [say(x, same, y), say(x, same, y) + " and " + say(z, "in", "the " + g.lex.pick(rng, "inside"))]
    if pos not in BESIDE:
        yes += [say(y, wrong, x)] * 2 * (pos not in ("on", "over"))
        no = [say(x, wrong, y), say(y, pos, x), say(x, pos, y, "not ")]
    else:
        yes += [say(y, pos, x)] * 2
        no = [say(x, wrong, y), say(x, pos, y, "not "), say(y, wrong, x)]
    maybe = [say(z, pos, y), say(x, pos, z) if pos in BESIDE else say(z, pos, x), x + " and " + y + " are " + rng.choice(("new", "old", "here", "expensive", "in the " + g.lex.pick(rng, "inside"))),
             say(z, "near", x) + " and " + say(z, pos, y), x + " is " + unrelated(g, "t", "") + " and " + say(z, pos, y), "there are " + x + " and " + y]
    return rng.choice((yes, maybe, no)[label]), text


def state_pair(g, label):
    """What a thing or a being is like."""
    rng = g.rng
    kind = rng.choice("pat")
    noun = g.lex.pick(rng, rng.choice({"p": ("people", "person", "male", "female"), "a": ("animal", "beast"), "t": (
        "thing", "vehicle", "building", "garment", "fruit", "rare_noun", "furniture")}[kind]))
    names = set(g.lex.pools["male"][0] + g.lex.pools["male"][1] + g.lex.pools["female"][0] + g.lex.pools["female"][1])
    who = noun if noun in names else rng.choice(("the ", "this ", "my ", "his ", "her ", "the ")) + noun
    roll = rng.random()
    word = adjective(g, kind) if roll < 0.6 else g.lex.pick(rng, "scale").split("/")[rng.random() < 0.5] if roll < 0.8 else (
        g.lex.pick(rng, "colour") if kind != "p" and roll < 0.93 else g.lex.pick(rng, "rare_adj"))
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
        first = rng.choice((show(w), show("very " + w), show("really " + w), show(about + " and " + w), show(w + " and " + about), show(w) + " " + rng.choice(("today", "now", "again"))))
        if attributive:
            first = is_[:len(who)] .replace(noun, w + " " + noun) + is_[len(who):] + about
    elif label == CONTRADICTION:
        w = rng.choice(other) if other and rng.random() < 0.7 else "not " + word if rng.random() < 0.6 else "not " + word + " at all"
        first = rng.choice((show(w), show(w), show(w) + " but " + about, show(about) + " but " + w, show("very " + w) if "not" not in w else show(w)))
    elif (word in PLAIN_ADJ or word in g.lex.pools["colour"][0]) and kind != "t" and rng.random() < 0.5:
        act = draw_action(g, kind)
        first = who + " " + finite(act.vp(), False, tense, "progressive") + " " + place_phrase(g)
    else:
        first = rng.choice((show(about), show(about), show("not " + about), show("perhaps " + word), who + " wants to be " + word,
                            "maybe " + show(word), show(word + " or " + about), "the other " + noun + " " + be(False, tense) + " " + word if who != noun else show(about),
                            show(about) + " but not " + unrelated(g, kind, word)))
    return first, text


def wear_pair(g, label):
    """Clothes and their colours; other clothes stay possible."""
    rng = g.rng
    s = draw_subject(g, "p", plain=True)
    s.adjectives = []
    noun, colour = g.lex.pick(rng, "garment"), g.lex.pick(rng, "colour")
    piece = (colour + " " + noun) if rng.random() < 0.6 else noun
    verb = rng.choice(("wear", "wear", "put on", "hold", "buy", "own"))
    negative = rng.random() < 0.15
    if negative:
        s.det = "the" if s.det else ""
    say = lambda s_, what, no="": s_.text(rng) + " " + finite(no + verb + " " + article(what), s_.many, "present", "progressive")
    text = say(s, piece, "not " if negative else "")
    label = FLIP[label] if negative else label
    other = rng.choice([c for c in g.lex.pools["colour"][0] if c != colour])
    p = soften(g, s) if not negative else s.but()
    if label == ENTAILMENT:
        return say(p, piece if piece != noun else rng.choice((noun, colour + " " + noun, adjective(g, "t") + " " + noun))) + rng.choice(
            ("", "", " and " + article(g.lex.pick(rng, "garment")), " " + place_phrase(g))), text
    if label == CONTRADICTION:
        if piece != noun and rng.random() < 0.6:
            return say(p, other + " " + noun) + rng.choice(("", " " + place_phrase(g))), text
        if s.det and not negative and rng.random() < 0.5:
            return say(p.but(noun=other_noun(g, s)), piece), text
        return say(s.but(det="the" if s.det else ""), piece, "not "), text
    if piece != noun and rng.random() < 0.5:
        return say(p, noun) + rng.choice(("", " " + place_phrase(g))), text
    return rng.choice((say(p, colour + " " + g.lex.pick(rng, "garment")), p.text(rng) + " " + finite("want to " + verb + " " + article(piece), p.many, "present", "simple"),
                       p.text(rng) + " " + finite("look at " + article(piece), p.many, "present", "progressive"))), text


GIVING = (("give", "to", "get", "from"), ("sell", "to", "buy", "from"), ("lend", "to", "borrow", "from"), ("send", "to", "receive", "from"),
          ("hand", "to", "take", "from"), ("show", "to", "see", ""), ("bring", "to", "get", "from"))


def give_pair(g, label):
    rng = g.rng
    x, y, z = two(g, ("people", "person"))
    give, to, get, origin = rng.choice(GIVING)
    thing, other = g.lex.pick(rng, "thing"), g.lex.pick(rng, "fruit")
    if rng.random() < 0.2:
        thing = g.lex.pick(rng, "rare_noun")
    what = rng.choice((article(thing), "the " + thing, article(g.lex.pick(rng, "colour") + " " + thing)))

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
        text = y + " " + finite(("not " if negative else "") + get + " " + what, False, "past", "simple")
        label = FLIP[label] if negative else label
        return {ENTAILMENT: say(x, y), CONTRADICTION: rng.choice((say(x, y, True) if "not" else "", y + " " + finite("not " + get + " anything", False, "past", "simple"))),
                NEUTRAL: rng.choice((x + " " + finite("want to " + give + " " + what + " " + to + " " + y, False, "past", "simple"), say(x, z), y + " talked about " + what + " with " + x))}[label], text
    text = say(x, y, negative)
    label = FLIP[label] if negative else label
    tail = rng.choice(("", "", " " + time_phrase(g), " " + place_phrase(g)))
    if label == ENTAILMENT:
        return say(x, y) + tail, text
    if label == CONTRADICTION:
        return rng.choice((say(y, x) + tail, say(y, x), say(x, y, True))), text
    return rng.choice((say(x, z), say(z, y), x + " " + finite("want to " + give + " " + what + " " + to + " " + y, False, "past", "simple"),
                       x + " and " + y + " looked at " + what, say(x, y, what=article(other)), say(x, y + " or " + z, style=0.1), x + " promised to " + give + " " + what + " to " + y)), text


IMPLY = {"manage to": 0, "remember to": 0, "be able to and do": 0, "happen to": 0, "fail to": 2, "forget to": 2, "refuse to": 2, "be unable to": 2,
         "never": 2, "want to": 1, "hope to": 1, "plan to": 1, "try to": 1, "promise to": 1, "decide to": 1, "be ready to": 1, "be allowed to": 1,
         "offer to": 1, "expect to": 1, "agree to": 1}


def modal_pair(g, label):
    """Did it happen? Managing, failing, wanting, perhaps, already, not yet."""
    rng = g.rng
    s = draw_subject(g, "p", plain=True)
    s.det = "the" if s.det else ""
    action = draw_action(g, "p")
    vp = action.vp() if rng.random() < 0.7 else rng.choice((
        "visit " + g.lex.pick(rng, "city"), "find the " + g.lex.pick(rng, "thing"), "open the door", "help " + g.lex.pick(rng, "male"), "finish the work",
        "catch the train", "lose the " + g.lex.pick(rng, "thing"), "close the window", "call " + g.lex.pick(rng, "female"), "answer the question", "break the "
        + g.lex.pick(rng, "thing"), "leave the house", "pay the bill", "send the letter", "go to " + g.lex.pick(rng, "city"), "meet " + g.lex.pick(rng, "female")))
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
    cue = rng.choice([k for k, v in IMPLY.items() if v == (0, 1, 2)[label] and k != "never" and "and do" not in k])
    with_cue = who + " " + finite(cue + " " + vp, s.many, "past", "simple") + tail
    if label == ENTAILMENT:
        return rng.choice((with_cue, plain(False) + tail, who + " " + have + " already " + participle(), who + " " + have + " just " + participle(), plain(False) + " twice",
                           who + " stopped after " + ing_phrase(vp), "it is true that " + plain(False), who + " did not forget to " + vp)), text
    if label == CONTRADICTION:
        return rng.choice((with_cue, plain(True), who + " " + have + " never " + participle(), who + " " + have + " not " + participle() + " yet",
                           who + " never " + past(vp.split()[0]) + vp[len(vp.split()[0]):], "it is not true that " + plain(False), who + " left without " + ing_phrase(vp),
                           who + " almost " + past(vp.split()[0]) + vp[len(vp.split()[0]):] + " but did not")), text
    return rng.choice((with_cue, with_cue, who + " might have " + participle(), "maybe " + plain(False), "perhaps " + plain(False), g.lex.pick(rng, "male") + " thinks that " + plain(False),
                       who + " talked about " + ing_phrase(vp), who + " was asked to " + vp, "i do not know whether " + plain(False))), text


def join_pair(g, label):
    """And, or, neither, but not, both, only, without, instead of."""
    rng = g.rng
    x, y, z = two(g)
    kind = "p"
    action = draw_action(g, kind)
    other = other_action(g, action, kind)
    vp, wrong = action.vp(), other.vp()
    tense, aspect = rng.choices(("present", "past"), (3, 1))[0], rng.choice(("progressive", "progressive", "simple"))
    say = lambda who, v, many=False: who + " " + finite(v, many, tense, aspect)
    negative = rng.random() < 0.25
    both = rng.random() < 0.25
    label_ = FLIP[label] if negative else label
    if both:
        negative, label_ = False, label
        text = say(x + " and " + y, vp, True)
        yes = ["both " + text, say(y + " and " + x, vp, True), say(x + " , " + y + " and " + z, vp, True), say(x, vp) + " and " + say(y, vp), say(x, vp) + " and so " + ("did " if tense == "past" else "does ") + y]
        no = [say("neither " + x + " nor " + y, vp), say(x, vp) + " but " + say(y, negate(vp)), say(y, negate(vp)), "only " + say(x, vp) + " and not " + y]
        maybe = [say(x + " or " + y, vp), say(x, vp), say(x + " and " + z, vp, True), say(y, vp) + " and perhaps " + x + " too"]
        return rng.choice((yes, maybe, no)[label_]), text
    text = say(x, negate(vp) if negative else vp)
    yes = [say(x + " and " + y, vp, True), say(y + " and " + x, vp, True), say("both " + x + " and " + y, vp, True), say(x, vp) + " but " + y + " " + ("did not" if tense == "past" else "does not"),
           say(x, vp) + " and " + say(y, wrong), say(y, wrong) + " while " + say(x, vp), "not " + y + " but " + say(x, vp), say(x, vp) + " instead of " + ing_phrase(wrong), "only " + say(x, vp)]
    no = [say("neither " + x + " nor " + y, vp), say(y, vp) + " but " + x + " " + ("did not" if tense == "past" else "does not"), say(y, vp) + " and " + say(x, wrong), say(x, wrong) + " while " + say(y, vp),
          "not " + x + " but " + say(y, vp), say(x, wrong) + " instead of " + ing_phrase(vp), "everyone but " + say(x, vp), say(x, wrong), say(x, negate(vp)) + " but " + say(y, vp)]
    maybe = [say(x + " or " + y, vp), say(y + " or " + x, vp), say(y + " and " + z, vp, True), say("either " + x + " or " + y, vp), say(y, vp) + " next to " + x, say(y, vp) + " because of " + x, say(x, "watch " + y) + " " + ing_phrase(vp) + "",
             say(x + " 's friend", vp), say(y, vp) + " with " + z]
    return rng.choice((yes, maybe, no)[label_]), text


def order_pair(g, label):
    """Before and after."""
    rng = g.rng
    x, y, z = two(g, ("people", "person"))
    if rng.random() < 0.5:
        a, b = [w + " " + finite(v, False, "past", "simple") for w, v in zip((x, y), rng.sample(
            ("arrive", "leave", "wake up", "eat", "go home", "sing", "finish", "fall asleep", "call", "sit down", "stand up", "pay"), 2))]
    else:
        first, second = draw_action(g, "p").vp(), draw_action(g, "p").vp()
        if first.split()[0] == second.split()[0]:
            return order_pair(g, label)
        a, b = x + " " + finite(first, False, "past", "simple"), x + " " + finite(second, False, "past", "simple")
    before = lambda p, q: rng.choice((p + " before " + q, q + " after " + p, p + " and then " + q, "after " + p + " , " + q, "before " + q + " , " + p, "first " + p + " and later " + q))
    if rng.random() < 0.25:       # something happened at all
        return rng.choice({ENTAILMENT: [before(a, b), before(b, a)], CONTRADICTION: [x + " never " + a[len(x) + 1:], "it is not true that " + a],
                           NEUTRAL: [b, "maybe " + before(a, b), y + " thinks that " + a]}[label]), a
    text = rng.choice((a + " before " + b, b + " after " + a, a + " and then " + b))
    return rng.choice({ENTAILMENT: [before(a, b)], CONTRADICTION: [before(b, a), before(b, a), "at the same time " + a + " and " + b],
                       NEUTRAL: [a + " and " + b, b + " and " + a, "maybe " + before(a, b), "perhaps " + before(b, a), a + " on " + "monday"]}[label]), text
