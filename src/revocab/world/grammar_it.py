"""Italian articles, prepositions, plurals and adjectives, as pure functions of words.

Gender is ``"m"`` or ``"f"``, number ``"s"`` or ``"p"``. Words are lower case unless they are names.
"""

from __future__ import annotations

from typing import Literal

Gender = Literal["m", "f"]
Number = Literal["s", "p"]

VOWELS = frozenset("aeiouàèéìòùAEIOUÈ")
#: Openings before which the masculine article is lo, gli, uno (besides s + consonant).
HEAVY = ("z", "gn", "ps", "pn", "x", "y")
CONTRACTING = {"di": "de", "a": "a", "da": "da", "in": "ne", "su": "su"}
#: Nouns in -co and -go whose masculine plural is -ci and -gi (stress lies further back, or custom).
SOFT_PLURAL_WORDS = """
amico nemico medico meccanico idraulico portico asparago grafico tecnico elettrico magnifico
simpatico antipatico pratico pubblico comico tragico metallico aromatico domestico selvatico
artistico acquatico fantastico elastico rustico romantico storico unico atletico energetico
greco tipico logico magico poetico classico biologo autentico frenetico igienico ironico
malinconico politico scientifico tossico traffico monaco farmaco manico stomaco sindaco parroco
acrobatico botanico nautico economico pacifico esotico epico cronico pneumatico magnetico
geologo archeologo zoologo psicologo biologico ecologico elettronico organico poliglotto
"""
SOFT_PLURAL = frozenset(SOFT_PLURAL_WORDS.split())


def starts_with_vowel(word: str) -> bool:
    """Return whether ``word`` begins with a vowel sound (h is silent)."""
    return word[:1] in VOWELS or (word[:1] in "hH" and word[1:2] in VOWELS)


def is_heavy(word: str) -> bool:
    """Return whether a masculine ``word`` takes lo, gli and uno: s + consonant, z, gn, ps, pn…"""
    lower = word.lower()
    if lower.startswith(HEAVY):
        return True
    return lower[:1] == "s" and len(lower) > 1 and lower[1] not in VOWELS


def definite(next_word: str, gender: Gender, number: Number = "s") -> str:
    """Return il, lo, la, l', i, gli or le, as the word that follows asks (l' is written joined)."""
    if number == "p":
        if gender == "f":
            return "le"
        return "gli" if starts_with_vowel(next_word) or is_heavy(next_word) else "i"
    if starts_with_vowel(next_word):
        return "l'"
    if gender == "f":
        return "la"
    return "lo" if is_heavy(next_word) else "il"


def indefinite(next_word: str, gender: Gender) -> str:
    """Return un, uno, una or un' (only the feminine elides)."""
    if gender == "f":
        return "un'" if starts_with_vowel(next_word) else "una"
    return "uno" if is_heavy(next_word) else "un"


def articulated(preposition: str, next_word: str, gender: Gender, number: Number = "s") -> str:
    """Return the preposition joined with the definite article: del, nello, dall', sugli, …

    ``preposition`` is one of di, a, da, in, su.
    """
    article = definite(next_word, gender, number)
    stem = CONTRACTING[preposition]
    if article == "il":
        return stem + "l"
    if article in ("i", "gli"):
        return stem + article
    return stem + "l" + article  # la, lo, le, l': the l doubles


def quello(next_word: str, gender: Gender, number: Number = "s") -> str:
    """Return the form of ``quello`` before a word: quel, quello, quell', quella, quei, quegli…"""
    return "que" + articulated("di", next_word, gender, number).removeprefix("de")


def bello(next_word: str, gender: Gender, number: Number = "s") -> str:
    """Return the form of ``bello`` before a word: bel, bello, bell', bella, bei, begli, belle."""
    return "be" + articulated("di", next_word, gender, number).removeprefix("de")


def join(determiner: str, phrase: str) -> str:
    """Write a determiner before a phrase: no space after an apostrophe."""
    return determiner + phrase if determiner.endswith("'") else f"{determiner} {phrase}"


def euphonic(word: str, next_word: str) -> str:
    """Return a/ad or e/ed: the d stands only before the same vowel."""
    same = next_word[:1].lower() == word
    return word + "d" if same else word


def plural(noun: str, gender: Gender) -> str:
    """Return the regular plural of a noun; of several words the first is inflected.

    Irregular plurals stand in the lexicon. Accented, consonant-final and -i nouns do not change.
    """
    head, space, rest = noun.partition(" ")
    return _plural_word(head, gender) + space + rest


def _plural_word(word: str, gender: Gender) -> str:
    last = word[-1]
    if last not in "aeo":
        return word
    stem = word[:-1]
    if last == "e":
        return word if word.endswith("ie") else stem + "i"
    if last == "a":
        return _plural_in_a(word, stem, gender)
    if word.endswith("io"):
        return word[:-1]
    if word.endswith(("co", "go")):
        return stem + ("i" if word in SOFT_PLURAL else "hi")
    return stem + "i"


def _plural_in_a(word: str, stem: str, gender: Gender) -> str:
    if gender == "m":
        return stem + ("hi" if word.endswith(("ca", "ga")) else "i")
    if word.endswith(("cia", "gia")):
        # After a consonant the i is only spelling and goes: pioggia, piogge; camicia, camicie.
        return word[:-2] + "e" if word[-4] not in VOWELS else stem + "e"
    if word.endswith(("ca", "ga")):
        return stem + "he"
    return stem + "e"


def inflect(adjective: str, gender: Gender, number: Number = "s") -> str:
    """Return an adjective, given in the masculine singular, in a gender and number.

    Classes: -o (four forms), -e (two forms), -a of both genders (entusiasta), anything else (blu)
    invariable. A trailing ``!`` marks an invariable one that looks regular (``rosa!``).
    """
    if adjective.endswith("!"):
        return adjective[:-1]
    if adjective.endswith("o"):
        if gender == "m":
            return adjective if number == "s" else _plural_word(adjective, "m")
        feminine = adjective[:-1] + "a"
        return feminine if number == "s" else _feminine_plural(feminine)
    if adjective.endswith("e"):
        return adjective if number == "s" else adjective[:-1] + "i"
    if adjective.endswith("a"):
        return adjective if number == "s" else adjective[:-1] + ("i" if gender == "m" else "e")
    return adjective


def _feminine_plural(feminine: str) -> str:
    return _plural_in_a(feminine, feminine[:-1], "f")


def participle(masculine: str, gender: Gender, number: Number = "s") -> str:
    """Return a past participle agreeing with its subject (auxiliary essere)."""
    return inflect(masculine, gender, number)


def phrase(
    determiner: str, noun: str, gender: Gender, number: Number = "s", before: str = ""
) -> str:
    """Return determiner + (adjective before the noun) + noun, already inflected words.

    ``determiner`` is ``""``, a definite ``il``, an indefinite ``un``, ``quel``, ``suo`` or an
    articulated ``del``, ``al``, ``dal``, ``nel``, ``sul``; ``number`` decides singular or plural.
    """
    words = f"{before} {noun}" if before else noun
    if not determiner:
        return words
    if determiner == "un":
        return join(indefinite(words, gender), words)
    if determiner == "il":
        return join(definite(words, gender, number), words)
    if determiner == "quel":
        return join(quello(words, gender, number), words)
    if determiner == "suo":
        own = {"ms": "il suo", "fs": "la sua", "mp": "i suoi", "fp": "le sue"}[gender + number]
        return f"{own} {words}"
    return join(articulated(PREPOSITION_OF[determiner], words, gender, number), words)


UNITS = """
zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici
quindici sedici diciassette diciotto diciannove
"""
TENS = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta"


def number(value: int) -> str:
    """Return a cardinal number below 100 in words: ventuno, ventitré, ottantotto."""
    units = UNITS.split()
    if value < 20:
        return units[value]
    ten, unit = TENS.split()[value // 10 - 2], value % 10
    if unit == 0:
        return ten
    # The vowel of the ten goes before uno and otto; a final tre is stressed.
    return (ten[:-1] if unit in (1, 8) else ten) + ("tré" if unit == 3 else units[unit])


PREPOSITION_OF = {"del": "di", "al": "a", "dal": "da", "nel": "in", "sul": "su"}
