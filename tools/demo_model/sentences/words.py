# SPDX-License-Identifier: Apache-2.0
"""The words of the demo model's sentences and the relations between them, written for this project,
the most common words first."""


def table(text: str, separator: str = ";") -> dict:
    """key: value; key: value"""
    rows = (row.split(":", 1) for row in " ".join(text.split()).split(separator))
    return {key.strip(): value.strip() for key, value in rows}


# General word: its kinds, which exclude each other in a scene.
KINDS = table("""
    person: doctor nurse teacher farmer driver pilot cook singer dancer student soldier sailor
    painter waiter baker butcher carpenter plumber lawyer judge clown tourist dentist writer actor
    musician fisherman gardener mechanic scientist policeman firefighter photographer priest
    hunter tailor engineer librarian chef nun king queen prince princess; animal: dog cat horse
    cow bird fish sheep pig rabbit mouse elephant lion tiger bear monkey wolf fox goat donkey
    camel snake frog turtle squirrel deer giraffe zebra hamster hedgehog otter badger kangaroo
    panda rat crocodile leopard whale dolphin seal lizard beaver; bird: duck chicken owl eagle
    parrot goose crow pigeon swan robin penguin sparrow turkey seagull hawk; fish: salmon shark
    trout tuna herring carp cod; insect: bee ant butterfly fly spider wasp beetle mosquito; fruit:
    apple banana orange pear peach lemon melon plum cherry mango strawberry kiwi fig apricot;
    vegetable: carrot potato tomato onion cabbage cucumber pumpkin radish turnip lettuce leek;
    meal: pizza sandwich burger salad omelette steak pie stew curry pancake; instrument: guitar
    piano violin drum flute trumpet cello harp saxophone accordion banjo clarinet tuba; vehicle:
    car bus truck bike motorcycle taxi van tractor scooter tram ambulance jeep; boat: canoe ferry
    sailboat yacht kayak raft; tool: hammer saw shovel axe rake drill broom ladder wrench
    screwdriver; toy: doll kite puzzle balloon robot puppet; garment: hat coat shirt dress jacket
    scarf sweater skirt cap blouse raincoat cape vest; flower: rose tulip daisy lily sunflower
    orchid violet; tree: oak pine willow maple palm birch; building: house school hospital church
    hotel castle library museum factory bank theater barn tower; gem: diamond ruby pearl emerald
""")
# Noun: nouns that it entails, other than its kind.
HYPERNYMS = table("""
    man: person adult; woman: person adult; boy: child person kid; girl: child person kid; child:
    person; kid: person child; baby: child person; grandmother: woman person; grandfather: man
    person; mother: woman parent person; father: man parent person; policeman: man person;
    fisherman: man person; king: man person; queen: woman person; prince: person; princess:
    person; nun: woman person; lady: woman person; gentleman: man person; toddler: child person;
    bird: animal; fish: animal; puppy: dog animal; kitten: cat animal; poodle: dog animal; pony:
    horse animal; bulldog: dog animal; calf: animal; lamb: sheep animal; terrier: dog animal;
    labrador: dog animal; sedan: car vehicle; jeep: car vehicle; rose: flower plant; tulip: flower
    plant; oak: tree plant; pine: tree plant; cottage: house building
""")
PEOPLE = " ".join("""
    man woman boy girl child baby lady gentleman toddler grandmother grandfather mother father kid
""".split())
PETS = "puppy kitten poodle pony bulldog lamb terrier labrador"
# Noun: nouns that cannot describe the same person or animal.
EXCLUDE = table("""
    man: woman boy girl child baby; woman: man boy girl child baby; boy: girl man woman; girl: boy
    man woman; lady: man boy girl; gentleman: woman girl boy; child: man woman grandmother; kid:
    man woman grandfather; baby: man woman teacher; toddler: man woman; mother: father boy girl;
    father: mother boy girl; grandmother: grandfather boy girl; person: dog cat horse;
    grandfather: grandmother boy girl; adult: child baby boy; animal: man woman person; puppy:
    kitten cat horse; kitten: puppy dog horse; poodle: cat horse bulldog; pony: dog cat cow;
    bulldog: cat poodle horse; lamb: dog cat pig; terrier: cat poodle cow; labrador: cat poodle
    horse; parent: child baby
""")
# Synonyms.
SYNONYM_PAIRS = table("""
    kid: child; lady: woman; gentleman: man; sofa: couch; bike: bicycle; taxi: cab; shop: store;
    sea: ocean; present: gift; street: road; forest: woods; mother: mom; father: dad; doctor:
    physician; policeman: cop; picture: painting; rabbit: bunny; movie: film
""")
THINGS = " ".join("""
    ball book box bag cup bottle lamp chair table clock key letter phone camera umbrella knife
    spoon plate mirror basket blanket pillow candle bucket bowl ring wallet pen pencil map
    suitcase newspaper magazine picture vase towel brush rope stone coin computer radio carpet
    ticket backpack parcel envelope kettle jar tent helmet watch glass present notebook statue
""".split())
FOODS = " ".join("""
    soup bread cheese rice cake pasta meat chocolate honey porridge popcorn yogurt ice-cream toast
""".split())
DRINKS = "water tea coffee milk juice wine beer lemonade cocoa"
SPORTS = "football tennis basketball hockey golf baseball volleyball rugby cricket badminton"
GAMES = "chess cards checkers dominoes"
MALE = " ".join("""
    tom john peter paul david james george henry jack robert mark adam ben sam daniel martin oscar
    leo max victor simon felix hugo walter frank carlos ivan ahmed ravi kenji
""".split())
FEMALE = " ".join("""
    anna mary lucy emma sarah julia kate alice laura maria helen rose nina clara eva grace sophie
    linda diana olga ruth ella martha irene lily fatima mei priya zoe carmen
""".split())
CITIES = " ".join("""
    paris london rome berlin madrid vienna tokyo cairo boston chicago dublin oslo lisbon prague
    athens moscow delhi toronto sydney lima
""".split())
INSIDE = " ".join("""
    kitchen bedroom bathroom office garage living-room basement classroom library restaurant
    museum hospital cafe theater supermarket church barn shop attic hotel gym bakery
""".split())
OUTSIDE = " ".join("""
    park garden forest street field beach playground meadow yard desert mountains woods jungle
    parking-lot backyard orchard vineyard
""".split())
TAKES_ON = {"beach", "street", "playground", "mountains"}   # takes "on", not "in"
FURNITURE = "table chair bed sofa desk bench shelf carpet counter stove fence roof wall bridge"
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
# Time: its group. Times of a group exclude each other.
DAYTIMES = table("""
    in the morning: 0; in the evening: 0; at night: 0; at noon: 0; in the afternoon: 0; before
    breakfast: 1; after lunch: 1; after dinner: 1; before school: 1; after work: 1; in spring: 2;
    in summer: 2; in autumn: 2; in winter: 2
""")
DAYTIMES = {time: int(group) for time, group in DAYTIMES.items()}
COLOURS = "red blue green yellow black white brown pink purple orange gray golden silver"
# Scales: the two sides exclude each other; words of one side mean about the same.
SCALES = [scale.strip().split("/") for scale in """
    big large huge/small little tiny; old/young; tall/short; happy glad cheerful/sad unhappy;
    hot/cold; clean/dirty; rich wealthy/poor; strong/weak; fast quick/slow; loud noisy/quiet
    silent; new/old; full/empty; heavy/light; long/short; wet/dry; open/closed shut; thick/thin;
    brave/afraid; angry mad/calm; tired sleepy/awake; healthy/sick ill; hungry/full;
    expensive/cheap; easy simple/difficult hard; sweet/sour; soft/hard; bright/dark; beautiful
    pretty/ugly; early/late; rough/smooth; wide/narrow; deep/shallow; safe/dangerous; polite/rude;
    lazy/busy; kind/cruel; clever smart/stupid; fresh/rotten; warm/cool; sharp/blunt;
    proud/ashamed; famous/unknown; broken/intact; fat/slim; alive/dead; single/married;
    modern/ancient; lucky/unlucky; friendly/unfriendly; patient/impatient; honest/dishonest;
    tidy/messy; married/unmarried
""".replace("\n    ", " ").split(";")]
PERSON_ADJ = "".join("""
    old/young; tall/short; happy/sad; rich/poor; strong/weak; angry/calm; tired/awake;
    hungry/full; sick/healthy; brave/afraid; polite/rude; lazy/busy; kind/cruel; clever/stupid;
    famous/unknown; fat/slim; friendly/unfriendly; patient/impatient; honest/dishonest;
    married/unmarried; proud/ashamed; loud/quiet; lucky/unlucky
""".split())
ANIMAL_ADJ = "".join("""
    big/small; old/young; hungry/full; fast/slow; fat/slim; strong/weak; wet/dry; dirty/clean;
    sick/healthy; friendly/unfriendly; lazy/busy
""".split())
THING_ADJ = "".join("""
    big/small; old/new; heavy/light; clean/dirty; expensive/cheap; beautiful/ugly; wet/dry;
    broken/intact; modern/ancient; large/tiny; long/short; wide/narrow; thick/thin; rough/smooth
""".split())
EXTRA_ADJ = " ".join("""
    curly-haired wooden striped bearded spotted plastic metal round square foreign lonely nervous
""".split())
MORE_ADJ = " ".join("""
    tall short old young big small rich poor strong weak fast slow heavy light happy sad thin loud
    quiet cheap
""".split())
# Verbs of motion and posture exclude each other, and so do those of the mouth.
BODY = "run walk swim climb jump dance sleep sit stand lie crawl ski skate march kneel hop"
MOUTH = "sing talk whistle yawn cough laugh cry smile shout pray sneeze"
# Verb: the more general verb that it entails.
VERB_HYPERNYMS = table("""
    jog: run; sprint: run; stroll: walk; hike: walk; nap: sleep; doze: sleep; giggle: laugh; sob:
    cry; weep: cry; grin: smile; yell: shout; scream: shout; leap: jump; chat: talk; speak: talk;
    whisper: talk; waltz: dance; snooze: sleep; stride: walk; tiptoe: walk; hum: sing; chuckle:
    laugh
""")
# Verb: its synonyms.
VERB_SYNONYMS = table("""
    repair: fix mend; throw: toss; cut: slice chop; buy: purchase; clean: scrub; talk: speak;
    shout: yell; jump: leap; draw: sketch; steal: grab; build: make
""")
# Verb: the pools of its object, and what it implies.
_TRANSITIVE = table("""
    play the: instrument: play music|play an instrument|make music; play: sport: play a game|do
    sport|play a sport; eat: food: eat something|have some food; drink: drink: drink
    something|have a drink; drive: vehicle: drive a vehicle|travel; carry: thing: carry
    something|hold something; buy: goods: buy something|go shopping; sell: goods: sell something;
    wash: goods: clean something; paint: thing: paint something; repair: device: fix something;
    throw: thing: throw something; feed: animal: feed an animal; draw: goods: draw something|make
    a drawing; read: reading: read something; write: writing: write something; peel: plantfood:
    peel something; watch: show: watch something; cut: plantfood: cut something|use a knife; cook:
    dish: cook something|make food; hide: goods: hide something; steal: goods: steal something;
    build: built: build something; clean: goods: clean something; ride: ridden: ride something;
    sweep: floor: sweep something; pick: plantfood: pick something; push: goods: push something;
    pull: goods: pull something; open: opened: open something
""")
TRANSITIVE = {k: tuple(x.strip() for x in v.split(":")) for k, v in _TRANSITIVE.items()}
# With subject and object swapped, ACTS contradict, FEELS stay open and MUTUAL mean the same.
ACTS = " ".join("""
    chase carry push follow lift feed bite wash teach catch save help pull kick hit scold comfort
    cure arrest guide lead wake rescue attack tickle punish dress bathe scratch lick protect trip
    thank
""".split())
FEELS = " ".join("""
    like love know see hear admire trust hate fear remember understand respect miss notice envy
    forgive
""".split())
MUTUAL = " ".join("""
    marry; meet; talk with; dance with; play with; work with; argue with; live with; fight with;
    agree with; chat with; stand next to; sit beside
""".split())
# Base, past and participle.
FORMS = {row.split()[0]: row.split() for row in """
    run ran run| swim swam swum| sleep slept slept| sit sat sat| stand stood stood| lie lay lain|
    sing sang sung| drive drove driven| eat ate eaten| drink drank drunk| buy bought bought| sell
    sold sold| throw threw thrown| wear wore worn| feed fed fed| draw drew drawn| read read read|
    write wrote written| cut cut cut| hide hid hidden| steal stole stolen| build built built| ride
    rode ridden| sweep swept swept| bite bit bitten| teach taught taught| catch caught caught| hit
    hit hit| lead led led| wake woke woken| know knew known| see saw seen| hear heard heard|
    understand understood understood| forgive forgave forgiven| meet met met| fight fought fought|
    speak spoke spoken| leap leaped leaped| weep wept wept| give gave given| get got got| send
    sent sent| lend lent lent| pay paid paid| tell told told| find found found| lose lost lost|
    break broke broken| make made made| take took taken| have had had| go went gone| come came
    come| do did done| win won won| leave left left| begin began begun| fall fell fallen| fly flew
    flown| keep kept kept| hold held held| put put put| say said said| think thought thought|
    shine shone shone| blow blew blown| grow grew grown| spend spent spent| forget forgot
    forgotten| stride strode stridden| be was been| freeze froze frozen| rise rose risen| set set
    set| feel felt felt| burn burned burned| bring brought brought| shut shut shut| light lit lit|
    bark barked barked| dig dug dug| ring rang rung| hang hung hung| kneel knelt knelt| tear tore
    torn| dream dreamed dreamed| fail failed failed| become became become| shake shook shaken|
    sink sank sunk| stick stuck stuck| spill spilled spilled| hurt hurt hurt| beat beat beaten|
    quit quit quit| let let let
""".split("|")}
# Verbs that double their last letter.
DOUBLED = set("""
    beg begin chat clap cut dig drop forget get grin hit hop hug hum jog knit let nap nod pat plan
    put quit rob rub run set ship shop shut sit skip slip sob step stir stop swim trip win wrap
""".split())
PLURALS = table("""
    man: men; woman: women; child: children; person: people; fish: fish; sheep: sheep; mouse:
    mice; goose: geese; deer: deer; wolf: wolves; policeman: policemen; fisherman: fishermen;
    gentleman: gentlemen; salmon: salmon; trout: trout; calf: calves; firefighter: firefighters;
    knife: knives; shelf: shelves; scarf: scarves; tuna: tuna; cod: cod; potato: potatoes; tomato:
    tomatoes; mango: mangoes; loaf: loaves; thief: thieves
""")
NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
""".split()
# Never held out: words of the templates and the everyday rows.
ALWAYS = set("""
    above act adult animal ask baby baseball beautiful bed beer bench black blue borrow boy bring
    broken brown building buy call capital child city clever client coffee colleague cry different
    dig dog door drink drive east far fast father female fewer finish flower football friend
    gentleman girl golden grandfather grandmother gray green hand happen happy hate hear help home
    house inside instrument juice keep kid lady lake learn lie light long lot loud low make male
    man milk mother narrow new nurse old orange over people picture pink plan poor present purple
    question quiet read red refuse rest ride role roof sad same see send short silver sit slow
    smile some south special sport swim take talk tea tennis then thin think three time toddler
    tool train try ugly uncle under usual vehicle wait wake walk wall wash whistle white whole
    window wine woman yellow
""".split())
