"""English articles, plurals and verb forms, as pure functions of words."""

from __future__ import annotations

VOWELS = frozenset("aeiou")
#: Spelling says vowel, sound says consonant, and the other way round.
A_BEFORE = ("uni", "use", "usu", "eu", "one", "ute")
AN_BEFORE = ("hour", "honest", "heir", "honour")

IRREGULAR_PLURALS = """
man=men woman=women child=children mouse=mice goose=geese foot=feet tooth=teeth sheep=sheep
fish=fish deer=deer leaf=leaves loaf=loaves knife=knives wife=wives wolf=wolves calf=calves
shelf=shelves half=halves thief=thieves ox=oxen life=lives potato=potatoes tomato=tomatoes
hero=heroes scarf=scarves hoof=hooves trout=trout salmon=salmon fisherman=fishermen
scissors=scissors tongs=tongs pliers=pliers bellows=bellows trousers=trousers glasses=glasses
binoculars=binoculars firefighter=firefighters mosquito=mosquitoes
"""
PLURALS = dict(pair.split("=") for pair in IRREGULAR_PLURALS.split())

#: base: (past, past participle) of irregular verbs.
IRREGULAR_VERBS = """
be was been, have had had, do did done, go went gone, make made made, take took taken
give gave given, come came come, see saw seen, eat ate eaten, drink drank drunk
sleep slept slept, run ran run, write wrote written, read read read, buy bought bought
sell sold sold, bring brought brought, build built built, cut cut cut, put put put
catch caught caught, teach taught taught, find found found, hold held held, keep kept kept
leave left left, lose lost lost, meet met met, sit sat sat, sing sang sung, stand stood stood
swim swam swum, tell told told, think thought thought, wear wore worn, win won won
fall fell fallen, fly flew flown, draw drew drawn, drive drove driven, break broke broken
burn burned burned, feed fed fed, feel felt felt, freeze froze frozen, get got got
grow grew grown, hang hung hung, hear heard heard, hide hid hidden, light lit lit
melt melted melted, rise rose risen, shine shone shone, shoot shot shot, sink sank sunk
spread spread spread, sweep swept swept, throw threw thrown, weave wove woven, dig dug dug
grind ground ground, spin spun spun, bend bent bent, bite bit bitten, blow blew blown
know knew known, choose chose chosen, ride rode ridden, ring rang rung, say said said
send sent sent, show showed shown, shut shut shut, speak spoke spoken, spend spent spent
steal stole stolen, sting stung stung, swell swelled swollen, wake woke woken, lay laid laid
lie lay lain, set set set, become became become, begin began begun, wind wound wound
bind bound bound, hit hit hit, learn learned learned, pay paid paid, split split split
understand understood understood, forget forgot forgotten, sew sewed sewn, saw sawed sawn
mow mowed mown, sow sowed sown, shear sheared shorn, tear tore torn, shake shook shaken
leap leaped leaped, hurt hurt hurt, let let let, sling slung slung, beat beat beaten
knit knitted knitted, quit quit quit
"""
IRREGULAR = {
    row.split()[0]: tuple(row.split()[1:])
    for row in IRREGULAR_VERBS.replace("\n", ",").split(",")
    if row.strip()
}

#: Verbs of one stressed short vowel that double their last consonant.
DOUBLING_WORDS = """
stop plan chop trim mop rub tap grab drop pet hop nod pat scrub sip slip step stir tug wrap
clap drag shop skip tip trot wag fit cut put run sit swim dig get hit shut win set split knit
spin jog hum drum map plug rot let quit beg chat blot zip log tan
"""
DOUBLING = frozenset(DOUBLING_WORDS.split())


def article(next_word: str) -> str:
    """Return a or an, by the sound with which the next word begins."""
    lower = next_word.lower()
    if lower.startswith(AN_BEFORE):
        return "an"
    if lower.startswith(A_BEFORE):
        return "a"
    return "an" if lower[:1] in VOWELS else "a"


def plural(noun: str) -> str:
    """Return the plural of a noun; of several words the last is inflected, before "of" the first."""
    if " of " in noun:
        head, rest = noun.split(" of ", 1)
        return f"{plural(head)} of {rest}"
    before, space, word = noun.rpartition(" ")
    return before + space + (PLURALS.get(word) or _add_s(word))


def _add_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def third_person(verb: str) -> str:
    """Return the third person singular present: goes, carries, is."""
    special = {"be": "is", "have": "has", "do": "does", "go": "goes"}
    return special.get(verb) or _add_s(verb)


def past(verb: str) -> str:
    """Return the simple past."""
    return IRREGULAR[verb][0] if verb in IRREGULAR else _add_ed(verb)


def past_participle(verb: str) -> str:
    """Return the past participle."""
    return IRREGULAR[verb][1] if verb in IRREGULAR else _add_ed(verb)


def _add_ed(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in DOUBLING else verb) + "ed"


def gerund(verb: str) -> str:
    """Return the -ing form."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) and verb != "be":
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in DOUBLING else verb) + "ing"


UNITS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def number(value: int) -> str:
    """Return a cardinal number below 100 in words: twenty-one, eighty."""
    units = UNITS.split()
    if value < 20:
        return units[value]
    ten, unit = TENS.split()[value // 10 - 2], value % 10
    return f"{ten}-{units[unit]}" if unit else ten
