# SPDX-License-Identifier: Apache-2.0
"""The words that the demo model's sentences are made of, and how they inflect and relate.

Every pool is written for this project, the most everyday words first. WordNet, where it is given,
adds rarer nouns, verbs and adjectives, so that the model learns to compare words it hardly knows.
"""
import hashlib
import os
import string

from everyday import PREDICATES, SENTENCES

# General word: its kinds. Nouns under one general word exclude each other in one scene.
KINDS = {
    "person": "doctor nurse teacher farmer driver pilot cook singer dancer student soldier sailor painter"
              " waiter baker butcher carpenter plumber lawyer judge clown tourist dentist writer actor"
              " musician fisherman gardener mechanic scientist policeman firefighter photographer priest"
              " hunter tailor engineer librarian chef nun king queen prince princess",
    "animal": "dog cat horse cow bird fish sheep pig rabbit mouse elephant lion tiger bear monkey wolf fox"
              " goat donkey camel snake frog turtle squirrel deer giraffe zebra hamster hedgehog otter"
              " badger kangaroo panda rat crocodile leopard whale dolphin seal lizard beaver",
    "bird": "duck chicken owl eagle parrot goose crow pigeon swan robin penguin sparrow turkey seagull hawk",
    "fish": "salmon shark trout tuna herring carp cod",
    "insect": "bee ant butterfly fly spider wasp beetle mosquito",
    "fruit": "apple banana orange pear peach lemon melon plum cherry mango strawberry kiwi fig apricot",
    "vegetable": "carrot potato tomato onion cabbage cucumber pumpkin radish turnip lettuce leek",
    "meal": "pizza sandwich burger salad omelette steak pie stew curry pancake",
    "instrument": "guitar piano violin drum flute trumpet cello harp saxophone accordion banjo clarinet tuba",
    "vehicle": "car bus truck bike motorcycle taxi van tractor scooter tram ambulance jeep",
    "boat": "canoe ferry sailboat yacht kayak raft",
    "tool": "hammer saw shovel axe rake drill broom ladder wrench screwdriver",
    "toy": "doll kite puzzle balloon robot puppet",
    "garment": "hat coat shirt dress jacket scarf sweater skirt cap blouse raincoat cape vest",
    "flower": "rose tulip daisy lily sunflower orchid violet",
    "tree": "oak pine willow maple palm birch",
    "building": "house school hospital church hotel castle library museum factory bank theater barn tower",
    "gem": "diamond ruby pearl emerald",
}
# Kinds of kinds, and words that mean the same or less.
UP = {"man": "person adult", "woman": "person adult", "boy": "child person kid", "girl": "child person kid",
      "child": "person", "kid": "person child", "baby": "child person", "grandmother": "woman person",
      "grandfather": "man person", "mother": "woman parent person", "father": "man parent person",
      "policeman": "man person", "fisherman": "man person", "king": "man person", "queen": "woman person",
      "prince": "person", "princess": "person", "nun": "woman person", "lady": "woman person",
      "gentleman": "man person", "toddler": "child person", "bird": "animal", "fish": "animal",
      "puppy": "dog animal", "kitten": "cat animal", "poodle": "dog animal", "pony": "horse animal",
      "bulldog": "dog animal", "calf": "animal", "lamb": "sheep animal", "terrier": "dog animal",
      "labrador": "dog animal", "sedan": "car vehicle", "jeep": "car vehicle", "rose": "flower plant",
      "tulip": "flower plant", "oak": "tree plant", "pine": "tree plant", "cottage": "house building"}
PEOPLE = "man woman boy girl child baby lady gentleman toddler grandmother grandfather mother father kid"
PETS = "puppy kitten poodle pony bulldog lamb terrier labrador"
EXCLUDE = {"man": "woman boy girl child baby", "woman": "man boy girl child baby",
           "boy": "girl man woman", "girl": "boy man woman", "lady": "man boy girl",
           "gentleman": "woman girl boy", "child": "man woman grandmother", "kid": "man woman grandfather",
           "baby": "man woman teacher", "toddler": "man woman", "mother": "father boy girl",
           "father": "mother boy girl", "grandmother": "grandfather boy girl", "person": "dog cat horse",
           "grandfather": "grandmother boy girl", "adult": "child baby boy", "animal": "man woman person",
           "puppy": "kitten cat horse", "kitten": "puppy dog horse", "poodle": "cat horse bulldog",
           "pony": "dog cat cow", "bulldog": "cat poodle horse", "lamb": "dog cat pig",
           "terrier": "cat poodle cow", "labrador": "cat poodle horse", "parent": "child baby"}
SAME = [("kid", "child"), ("lady", "woman"), ("gentleman", "man"), ("sofa", "couch"), ("bike", "bicycle"),
        ("taxi", "cab"), ("shop", "store"), ("sea", "ocean"), ("present", "gift"), ("street", "road"),
        ("forest", "woods"), ("mother", "mom"), ("father", "dad"), ("doctor", "physician"),
        ("policeman", "cop"), ("picture", "painting"), ("rabbit", "bunny"), ("movie", "film")]
THINGS = ("ball book box bag cup bottle lamp chair table clock key letter phone camera umbrella knife spoon"
          " plate mirror basket blanket pillow candle bucket bowl ring wallet pen pencil map suitcase"
          " newspaper magazine picture vase towel brush rope stone coin computer radio carpet ticket"
          " backpack parcel envelope kettle jar tent helmet watch glass present notebook statue")
FOODS = "soup bread cheese rice cake pasta meat chocolate honey porridge popcorn yogurt ice-cream toast"
DRINKS = "water tea coffee milk juice wine beer lemonade cocoa"
SPORTS = "football tennis basketball hockey golf baseball volleyball rugby cricket badminton"
GAMES = "chess cards checkers dominoes"
MALE = ("tom john peter paul david james george henry jack robert mark adam ben sam daniel martin oscar leo"
        " max victor simon felix hugo walter frank carlos ivan ahmed ravi kenji")
FEMALE = ("anna mary lucy emma sarah julia kate alice laura maria helen rose nina clara eva grace sophie"
          " linda diana olga ruth ella martha irene lily fatima mei priya zoe carmen")
CITIES = ("paris london rome berlin madrid vienna tokyo cairo boston chicago dublin oslo lisbon prague athens"
          " moscow delhi toronto sydney lima")
INSIDE = ("kitchen bedroom bathroom office garage living-room basement classroom library restaurant museum"
          " hospital cafe theater supermarket church barn shop attic hotel gym bakery")
OUTSIDE = ("park garden forest street field beach playground meadow yard desert mountains woods jungle"
           " parking-lot backyard orchard vineyard")
ON = {"beach", "street", "playground", "mountains"}
FURNITURE = "table chair bed sofa desk bench shelf carpet counter stove fence roof wall bridge"
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
DAYTIMES = {"in the morning": 0, "in the evening": 0, "at night": 0, "at noon": 0, "in the afternoon": 0,
            "before breakfast": 1, "after lunch": 1, "after dinner": 1, "before school": 1, "after work": 1,
            "in spring": 2, "in summer": 2, "in autumn": 2, "in winter": 2}
COLOURS = "red blue green yellow black white brown pink purple orange gray golden silver"
# Scales: words of the two sides exclude each other; words of one side mean about the same.
SCALES = [s.split("/") for s in (
    "big large huge/small little tiny", "old/young", "tall/short", "happy glad cheerful/sad unhappy",
    "hot/cold", "clean/dirty", "rich wealthy/poor", "strong/weak", "fast quick/slow", "loud noisy/quiet silent",
    "new/old", "full/empty", "heavy/light", "long/short", "wet/dry", "open/closed shut", "thick/thin",
    "brave/afraid", "angry mad/calm", "tired sleepy/awake", "healthy/sick ill", "hungry/full",
    "expensive/cheap", "easy simple/difficult hard", "sweet/sour", "soft/hard", "bright/dark",
    "beautiful pretty/ugly", "early/late", "rough/smooth", "wide/narrow", "deep/shallow", "safe/dangerous",
    "polite/rude", "lazy/busy", "kind/cruel", "clever smart/stupid", "fresh/rotten", "warm/cool",
    "sharp/blunt", "proud/ashamed", "famous/unknown", "broken/intact", "fat/slim", "alive/dead",
    "single/married", "modern/ancient", "lucky/unlucky", "friendly/unfriendly", "patient/impatient",
    "honest/dishonest", "tidy/messy", "married/unmarried")]
PERSON_ADJ = ("old/young;tall/short;happy/sad;rich/poor;strong/weak;angry/calm;tired/awake;hungry/full;sick/healthy;"
              "brave/afraid;polite/rude;lazy/busy;kind/cruel;clever/stupid;famous/unknown;fat/slim;friendly/unfriendly;"
              "patient/impatient;honest/dishonest;married/unmarried;proud/ashamed;loud/quiet;lucky/unlucky")
ANIMAL_ADJ = "big/small;old/young;hungry/full;fast/slow;fat/slim;strong/weak;wet/dry;dirty/clean;sick/healthy;friendly/unfriendly;lazy/busy"
THING_ADJ = ("big/small;old/new;heavy/light;clean/dirty;expensive/cheap;beautiful/ugly;wet/dry;broken/intact;"
             "modern/ancient;large/tiny;long/short;wide/narrow;thick/thin;rough/smooth")
EXTRA_ADJ = "curly-haired wooden striped bearded spotted plastic metal round square foreign lonely nervous"
MORE_ADJ = "tall short old young big small rich poor strong weak fast slow heavy light happy sad thin loud quiet cheap"
# Verbs of motion and posture exclude each other, and so do those of the mouth and of the hands.
BODY = "run walk swim climb jump dance sleep sit stand lie crawl ski skate march kneel hop"
MOUTH = "sing talk whistle yawn cough laugh cry smile shout pray sneeze"
VERB_UP = {"jog": "run", "sprint": "run", "stroll": "walk", "hike": "walk", "nap": "sleep", "doze": "sleep",
           "giggle": "laugh", "sob": "cry", "weep": "cry", "grin": "smile", "yell": "shout", "scream": "shout",
           "leap": "jump", "chat": "talk", "speak": "talk", "whisper": "talk", "waltz": "dance", "snooze": "sleep",
           "stride": "walk", "tiptoe": "walk", "hum": "sing", "chuckle": "laugh"}
# Verb, what it takes, and what follows from it.
TRANSITIVE = {"play the": ("instrument", "play music|play an instrument|make music"),
              "play": ("sport", "play a game|do sport|play a sport"), "eat": ("food", "eat something|have some food"),
              "drink": ("drink", "drink something|have a drink"), "drive": ("vehicle", "drive a vehicle|travel"),
              "carry": ("thing", "carry something|hold something"), "buy": ("goods", "buy something|go shopping"),
              "sell": ("goods", "sell something"), "wash": ("goods", "clean something"),
              "paint": ("thing", "paint something"), "repair": ("device", "fix something"),
              "throw": ("thing", "throw something"),
              "feed": ("animal", "feed an animal"), "draw": ("goods", "draw something|make a drawing"),
              "read": ("reading", "read something"), "write": ("writing", "write something"),
              "peel": ("plantfood", "peel something"), "watch": ("show", "watch something"),
              "cut": ("plantfood", "cut something|use a knife"), "cook": ("dish", "cook something|make food"),
              "hide": ("goods", "hide something"), "steal": ("goods", "steal something"),
              "build": ("built", "build something"), "clean": ("goods", "clean something"),
              "ride": ("ridden", "ride something"), "sweep": ("floor", "sweep something"),
              "pick": ("plantfood", "pick something"), "push": ("goods", "push something"),
              "pull": ("goods", "pull something"), "open": ("opened", "open something")}
VERB_SAME = {"repair": "fix mend", "throw": "toss", "cut": "slice chop", "buy": "purchase", "clean": "scrub",
             "talk": "speak", "shout": "yell", "jump": "leap", "draw": "sketch", "steal": "grab", "build": "make"}
# What one does to another: the swap contradicts, says nothing, or says the same.
ACTS = ("chase carry push follow lift feed bite wash teach catch save help pull kick hit scold comfort cure"
        " arrest guide lead wake rescue attack tickle punish dress bathe scratch lick protect trip thank")
FEELS = "like love know see hear admire trust hate fear remember understand respect miss notice envy forgive"
MUTUAL = "marry;meet;talk with;dance with;play with;work with;argue with;live with;fight with;agree with;chat with;stand next to;sit beside"
IRREGULAR = """run ran run|swim swam swum|sleep slept slept|sit sat sat|stand stood stood|lie lay lain|sing sang sung
drive drove driven|eat ate eaten|drink drank drunk|buy bought bought|sell sold sold|throw threw thrown|wear wore worn
feed fed fed|draw drew drawn|read read read|write wrote written|cut cut cut|hide hid hidden|steal stole stolen
build built built|ride rode ridden|sweep swept swept|bite bit bitten|teach taught taught|catch caught caught
hit hit hit|lead led led|wake woke woken|know knew known|see saw seen|hear heard heard|understand understood understood
forgive forgave forgiven|meet met met|fight fought fought|speak spoke spoken|leap leaped leaped|weep wept wept
give gave given|get got got|send sent sent|lend lent lent|pay paid paid|tell told told|find found found|lose lost lost
break broke broken|make made made|take took taken|have had had|go went gone|come came come|do did done|win won won
leave left left|begin began begun|fall fell fallen|fly flew flown|keep kept kept|hold held held|put put put|say said said
think thought thought|shine shone shone|blow blew blown|grow grew grown|spend spent spent|forget forgot forgotten
stride strode stridden|be was been|freeze froze frozen|rise rose risen|set set set|feel felt felt|burn burned burned
bring brought brought|shut shut shut|light lit lit|bark barked barked|dig dug dug|ring rang rung|hang hung hung
kneel knelt knelt|tear tore torn|dream dreamed dreamed|fail failed failed|become became become|shake shook shaken
sink sank sunk|stick stuck stuck|spill spilled spilled|hurt hurt hurt|beat beat beaten|quit quit quit|let let let"""
FORMS = {w[0]: w for w in (e.split() for line in IRREGULAR.split("\n") for e in line.split("|"))}
DOUBLED = set("run swim sit cut hit hop hug jog nap get put win beg drop shop stop chat grin sob hum dig trip plan"
              " clap shut set skip let nod quit knit rub rob pat step slip stir wrap ship begin forget".split())
PLURALS = {"man": "men", "woman": "women", "child": "children", "person": "people", "fish": "fish", "sheep": "sheep",
           "mouse": "mice", "goose": "geese", "deer": "deer", "wolf": "wolves", "policeman": "policemen",
           "fisherman": "fishermen", "gentleman": "gentlemen", "salmon": "salmon", "trout": "trout", "calf": "calves",
           "firefighter": "firefighters", "knife": "knives", "shelf": "shelves", "scarf": "scarves", "tuna": "tuna",
           "cod": "cod", "potato": "potatoes", "tomato": "tomatoes", "mango": "mangoes", "loaf": "loaves", "thief": "thieves"}
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split() + [
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
VOWELS = "aeiou"
# Never held out: words that the templates themselves or the everyday rows use.
ALWAYS = set((PEOPLE + " " + COLOURS + """ coffee beer bench wall roof lake sit lie read wash wine smile cry ride
above act adult animal ask bed borrow bring broken building buy call capital child city clever client colleague
different dig dog door drink drive east far fast female fewer finish flower friend hand happen happy hate hear help
home house inside instrument keep lady learn light long lot loud low make male narrow new nurse old over people
picture plan poor present question quiet refuse rest role sad same see send short slow some south special sport swim
take talk then thin think three time tool train try uncle under usual vehicle wait wake walk whistle whole window
beautiful ugly tennis football baseball tea milk juice""").split())


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
    return {"be": "is", "have": "has", "do": "does", "go": "goes"}.get(verb) or (
        verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in VOWELS else
        verb + "es" if verb.endswith(("s", "x", "ch", "sh", "z")) else verb + "s")


def ing(verb: str) -> str:
    if verb in ("lie", "die", "tie"):
        return verb[:-2] + "ying"
    if verb in DOUBLED:
        return verb + verb[-1] + "ing"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "be", "oe")) else verb) + "ing"


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
    """Two fifths of the words, chosen by their spelling alone."""
    return hashlib.md5(word.encode()).digest()[0] < 102


class Lexicon:
    """The pools with (split="held") or without (split="train") the words that training never sees."""

    def __init__(self, split: str = "train", wordnet: str = ""):
        self.split = split
        self.everyday = everyday_words()
        self.up = {w: u.split() for w, u in UP.items()}
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
                self.up.setdefault(word, [kind] + (["animal"] if kind in ("bird", "fish") else []))
        pools.update(people=PEOPLE.split(), pet=PETS.split(), thing=THINGS.split(), food=FOODS.split(),
                     drink=DRINKS.split(), sport=SPORTS.split(), game=GAMES.split(), male=MALE.split(),
                     female=FEMALE.split(), city=CITIES.split(), inside=INSIDE.split(), outside=OUTSIDE.split(),
                     furniture=FURNITURE.split(), body=BODY.split(), mouth=MOUTH.split(), acts=ACTS.split(),
                     feels=FEELS.split(), transitive=list(TRANSITIVE), colour=COLOURS.split())
        pools["scale"] = [s[0].split()[0] + "/" + s[1].split()[0] for s in SCALES]
        pools["person_adj"], pools["animal_adj"] = PERSON_ADJ.split(";"), ANIMAL_ADJ.split(";")
        pools["thing_adj"], pools["more"] = THING_ADJ.split(";"), MORE_ADJ.split()
        pools["rare_adj"] = EXTRA_ADJ.split() + self.extra.get("adjective", [])
        pools["rare_noun"] = self.extra.get("noun", []) or THINGS.split()
        pools["rare_verb"] = self.extra.get("verb", []) or ACTS.split()
        self.pools = {k: self._part(v) for k, v in pools.items()}
        self._settle()
        self._derive()

    def _part(self, words):
        """The first half of a pool is everyday language and always seen; the rest is split."""
        first = (len(words) + 1) // 2 if len(words) < 100 else 50
        always = set(words[:first]) | ALWAYS | self.everyday
        keep = [w for w in words if w in always or "-" in w or w.split("/")[0] in always
                or not held_out(w.split("/")[0])]
        return (keep, [w for w in words if w not in set(keep)])

    def _settle(self):
        """A word held out in one pool is held out in all, unless some pool needs it always."""
        kept = {x for keep, _ in self.pools.values() for w in keep for x in w.split("/")}
        self.held = {x for _, out in self.pools.values() for w in out for x in w.split("/")} - kept
        inflections = lambda w: {w, plural(w), third(w), ing(w), past(w), past(w, True)}
        self.forms = {f for w in self.held for f in inflections(w)} - {f for w in kept for f in inflections(w)}

    def _derive(self):
        p = self.pools
        join = lambda *kinds: tuple(sum((p[k][i] for k in kinds), []) for i in (0, 1))
        p["food"] = join("fruit", "vegetable", "meal", "food")
        p["plantfood"], p["dish"] = join("fruit", "vegetable"), join("meal", "food")
        p["goods"] = join("thing", "vehicle", "toy", "garment", "tool", "fruit", "instrument")
        p["device"] = join("vehicle", "instrument", "toy", "boat")
        p["beast"] = join("animal", "bird", "pet")
        p["reading"] = (["book", "newspaper", "magazine", "letter", "poem", "story", "novel", "map", "report"], [])
        p["writing"] = (["letter", "poem", "story", "book", "song", "report", "note", "diary", "message"], [])
        p["show"] = (["movie", "game", "play", "parade", "concert", "sunset", "film", "race", "cartoon"], [])
        p["built"] = (["house", "wall", "bridge", "boat", "tower", "fence", "sandcastle", "snowman", "barn"], [])
        p["ridden"] = (["horse", "bike", "motorcycle", "camel", "donkey", "scooter", "pony", "elephant"], [])
        p["floor"] = (["floor", "street", "yard", "kitchen", "stairs", "room"], [])
        p["opened"] = (["door", "window", "box", "bottle", "bag", "letter", "book", "gate", "present"], [])

    def pick(self, rng, kind: str, held: float = 0.5) -> str:
        """A word of a pool; in the held split, one that training never sees with this probability."""
        keep, out = self.pools[kind]
        if self.split == "held" and out and rng.random() < held:
            return rng.choice(out)
        if len(keep) > 60 and not kind.startswith("rare") and rng.random() < 0.6:
            return rng.choice(keep[:40])
        return rng.choice(keep)

    def has_held(self, text: str) -> bool:
        return any(w in self.forms for w in words_of(text))


def everyday_words() -> set:
    """The words of the everyday rows, and what they may be inflected from."""
    text = set(words_of(PREDICATES + SENTENCES))
    return text | {w[:-n] for w in text for n in (1, 2, 3) if len(w) > n + 1} | {w[:-3] + "e" for w in text if w.endswith("ing")}


ROOTS = {"person": 'worker adult', "animal": "mammal reptile", "bird": "bird", "fish": "fish", "insect": "insect",
         "fruit": "edible_fruit", "vegetable": "vegetable", "instrument": "musical_instrument",
         "vehicle": "motor_vehicle", "garment": "garment", "tool": "hand_tool", "building": "building",
         "flower": "flower", "tree": "tree"}


def wordnet_words(directory: str) -> dict:
    """Single words of WordNet: by kind where a word's first sense lies under it, and the common rest."""
    hyponyms, lemmas = {}, {}
    for line in open(os.path.join(directory, "data.noun"), encoding="ascii"):
        if line.startswith(" "):
            continue
        f = line.split("|")[0].split()
        n = int(f[3], 16)
        lemmas[f[0]] = [f[4 + 2 * i] for i in range(n)]
        rest = f[5 + 2 * n:]
        for i in range(0, len(rest) - 3, 4):
            if rest[i] in ("@", "@i"):
                hyponyms.setdefault(rest[i + 1], []).append(f[0])
    out, first, common = {}, {}, {}
    for pos in ("noun", "verb", "adj"):
        common[pos] = []
        for line in open(os.path.join(directory, "index." + pos), encoding="ascii"):
            f = line.split()
            if line.startswith(" ") or not f[0].isalpha() or not 3 <= len(f[0]) <= 12:
                continue
            offsets = f[-int(f[2]):]
            if pos == "noun":
                first[f[0]] = offsets[0]
            if int(f[-int(f[2]) - 1]) > (1 if pos == "noun" else 0):    # senses seen in WordNet's tagged texts
                common[pos].append(f[0])
    all_first = {}
    for line in open(os.path.join(directory, "index.noun"), encoding="ascii"):
        f = line.split()
        if not line.startswith(" "):
            all_first[f[0]] = f[-int(f[2]):]
    seen, everyday = set(), set(common["noun"])
    for kind, roots in ROOTS.items():
        below, queue = set(), [o for r in roots.split() for o in all_first[r]]
        while queue:
            offset = queue.pop()
            if offset not in below:
                below.add(offset)
                queue += hyponyms.get(offset, [])
        words = sorted({w for o in below for w in lemmas[o] if first.get(w) == o} - seen)
        seen.update(words)
        out[kind] = [w for w in words if w in everyday]
    out["noun"] = [w for w in common["noun"] if w not in seen]
    out["verb"] = [w for w in common["verb"] if len(w) < 9 and w not in ("be", "have", "do", "can", "still")]
    out["adjective"] = common["adj"]
    return out
