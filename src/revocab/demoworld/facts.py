"""Facts: what is true in the world, how it is stated and asked, and what one might confuse.

Every fact is stated in prose. It is asked in several wordings, and one of them is kept for the test
items: no training document holds it. So a test question is new in itself, while the fact behind it
can be known from prose and from its other wordings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from revocab.demoworld import lexicon, names
from revocab.demoworld.grammar import VOWELS, Noun, capitalised, noun
from revocab.demoworld.lexicon import pair, rows

Text = dict[str, str]


@dataclass(frozen=True)
class Fact:
    """One fact: statements, questions, answer by language; ``pool`` groups answers to confuse."""

    key: str
    subject: str
    statements: tuple[Text, ...]
    questions: tuple[Text, ...]
    answer: Text
    pool: str

    def asked(self, test: bool) -> tuple[Text, ...]:
        """Return the wording kept for the test items, or the others."""
        kept = hashlib.sha256(self.key.encode()).digest()[0] % len(self.questions)
        return tuple(
            question for number, question in enumerate(self.questions) if (number == kept) == test
        )


@dataclass(frozen=True)
class Job:
    """A job: its names, workplace, tool, and what is done."""

    man: Noun
    woman: Noun
    place: Noun
    tool: Noun
    does: Text
    to_do: Text

    def of(self, person: names.Person) -> Noun:
        """Return the job's name that agrees with a person."""
        return self.woman if person.female else self.man


def jobs() -> list[Job]:
    """Return the world's jobs."""
    found = []
    for man, woman, place, tool, does, to_do in rows(lexicon.JOBS):
        english = man.partition("=")[2]
        found.append(
            Job(
                noun(man),
                noun(f"{woman} = {english}"),
                noun(place),
                noun(tool),
                pair(does),
                pair(to_do),
            )
        )
    return found


def both(it: str, en: str) -> Text:
    """Return a text in both languages."""
    return {"it": it, "en": en}


def job_facts() -> Iterator[Fact]:
    """Yield where each job is done, with what, and what is done."""
    for job in jobs():
        it, en = job.man.it, job.man.en
        key = it.word
        yield Fact(
            f"job-place-{key}",
            "professions",
            (
                both(
                    f"{it.The} lavora {job.place.it.nel}.", f"{en.The} works in {job.place.en.the}."
                ),
                both(
                    f"{it.The} passa la giornata {job.place.it.nel}.",
                    f"{en.The} spends the day in {job.place.en.the}.",
                ),
            ),
            (
                both(f"Dove lavora {it.the}?", f"Where does {en.the} work?"),
                both(f"In quale luogo lavora {it.the}?", f"In which place does {en.the} work?"),
                both(f"Dove si trova al lavoro {it.the}?", f"Where is {en.the} at work?"),
            ),
            both(job.place.it.nel, f"in {job.place.en.the}"),
            "job-place",
        )
        yield Fact(
            f"job-tool-{key}",
            "professions",
            (
                both(f"{it.The} usa {job.tool.it.the}.", f"{en.The} uses {job.tool.en.the}."),
                both(
                    f"{job.tool.it.The} è l'attrezzo {it.del_}.",
                    f"{job.tool.en.The} is the tool of {en.the}.",
                ),
            ),
            (
                both(f"Che cosa usa {it.the}?", f"What does {en.the} use?"),
                both(f"Quale attrezzo usa {it.the}?", f"Which tool does {en.the} use?"),
                both(f"Con che cosa lavora {it.the}?", f"What does {en.the} work with?"),
            ),
            both(job.tool.it.the, job.tool.en.the),
            "job-tool",
        )
        yield Fact(
            f"job-does-{key}",
            "professions",
            (
                both(f"{it.The} {job.does['it']}.", f"{en.The} {job.does['en']}."),
                both(
                    f"Il mestiere {it.del_} è {job.to_do['it']}.",
                    f"The trade of {en.the} is to {job.to_do['en']}.",
                ),
            ),
            (
                both(f"Che cosa fa {it.the}?", f"What does {en.the} do?"),
                both(f"Che lavoro fa {it.the}?", f"What work does {en.the} do?"),
                both(f"Di che cosa si occupa {it.the}?", f"What is {en.the} busy with?"),
            ),
            both(job.does["it"], job.does["en"]),
            "job-does",
        )


def animal_facts() -> Iterator[Fact]:
    """Yield each animal's sound, food, home, class, covering and young."""
    for name, sound, food, home, kind, cover, young in rows(lexicon.ANIMALS):
        animal = noun(name)
        it, en, key = animal.it, animal.en, animal.it.word
        forms = {
            "sound": (
                [(f"{it.The} {{0}}.", f"{en.The} {{1}}.")],
                [
                    (f"Che verso fa {it.the}?", f"What sound does {en.the} make?"),
                    (f"Come si fa sentire {it.the}?", f"How does {en.the} make itself heard?"),
                    (f"Qual è la voce {it.del_}?", f"What is the voice of {en.the}?"),
                ],
                pair(sound),
            ),
            "food": (
                [(f"{it.The} mangia {{0}}.", f"{en.The} eats {{1}}.")],
                [
                    (f"Che cosa mangia {it.the}?", f"What does {en.the} eat?"),
                    (f"Di che cosa si nutre {it.the}?", f"What does {en.the} feed on?"),
                    (f"Qual è il cibo {it.del_}?", f"What is the food of {en.the}?"),
                ],
                pair(food),
            ),
            "home": (
                [
                    (f"{it.The} vive {{0}}.", f"{en.The} lives {{1}}."),
                    (f"{it.The} dorme {{0}}.", f"{en.The} sleeps {{1}}."),
                ],
                [
                    (f"Dove vive {it.the}?", f"Where does {en.the} live?"),
                    (f"Dove dorme {it.the}?", f"Where does {en.the} sleep?"),
                    (f"Dove si trova {it.the}?", f"Where is {en.the} found?"),
                ],
                pair(home),
            ),
            "class": (
                [(f"{it.The} è {{0}}.", f"{en.The} is {{1}}.")],
                [
                    (f"Che animale è {it.the}?", f"What kind of animal is {en.the}?"),
                    (
                        f"A quale classe appartiene {it.the}?",
                        f"To which class does {en.the} belong?",
                    ),
                    (f"Che cos'è {it.the}?", f"What is {en.the}?"),
                ],
                pair(kind),
            ),
            "cover": (
                [(f"{it.The} ha {{0}}.", f"{en.The} has {{1}}.")],
                [
                    (f"Che cosa copre il corpo {it.del_}?", f"What covers the body of {en.the}?"),
                    (f"Che cosa ha {it.the} sul corpo?", f"What does {en.the} have on its body?"),
                    (
                        f"Che cosa protegge {it.the} dal freddo?",
                        f"What protects {en.the} from cold?",
                    ),
                ],
                pair(cover),
            ),
            "young": (
                [(f"Il piccolo {it.del_} è {{0}}.", f"The young of {en.the} is {{1}}.")],
                [
                    (
                        f"Come si chiama il piccolo {it.del_}?",
                        f"What is the young of {en.the} called?",
                    ),
                    (f"Chi è il figlio {it.del_}?", f"Who is the child of {en.the}?"),
                    (f"Quale cucciolo ha {it.the}?", f"Which young does {en.the} have?"),
                ],
                pair(young),
            ),
        }
        for part, (stated, asked, answer) in forms.items():
            if answer["it"] == "-":
                continue
            filled = [(a.format(*answer.values()), b.format(*answer.values())) for a, b in stated]
            yield Fact(
                f"animal-{part}-{key}",
                "biology",
                tuple(both(*one) for one in filled),
                tuple(both(*one) for one in asked),
                answer,
                f"animal-{part}",
            )


def tool_facts() -> Iterator[Fact]:
    """Yield what each tool is for."""
    for name, use in rows(lexicon.TOOLS):
        tool, to_do = noun(name), pair(use)
        it, en = tool.it, tool.en
        yield Fact(
            f"tool-{it.word}",
            "tools",
            (
                both(f"{it.The} serve a {to_do['it']}.", f"{en.The} is used to {to_do['en']}."),
                both(
                    f"Per {to_do['it']} si usa {it.the}.",
                    f"To {to_do['en']} people use {en.the}.",
                ),
            ),
            (
                both(f"Che cosa serve per {to_do['it']}?", f"What is needed to {to_do['en']}?"),
                both(f"Che cosa si usa per {to_do['it']}?", f"What is used to {to_do['en']}?"),
                both(f"Con che cosa si può {to_do['it']}?", f"With what can people {to_do['en']}?"),
            ),
            both(it.the, en.the),
            "tool",
        )


def matter_facts() -> Iterator[Fact]:
    """Yield properties of materials, what things are made of, and the looks of fruit."""
    for name, quality, thing in rows(lexicon.MATERIALS):
        material, adjective, made = noun(name), pair(quality), pair(thing)
        it, en = material.it, material.en
        yield Fact(
            f"material-{it.word}",
            "physics",
            (
                both(
                    f"{it.The} è {adjective['it']}.",
                    f"{capitalised(en.word)} is {adjective['en']}.",
                ),
            ),
            (
                both(f"Com'è {it.the}?", f"What is {en.word} like?"),
                both(f"Quale qualità ha {it.the}?", f"Which quality does {en.word} have?"),
                both(f"Come si presenta {it.the}?", f"How does {en.word} present itself?"),
            ),
            adjective,
            f"material-{it.gender}",
        )
        made_of = both(f"d'{it.word}" if it.word[0] in VOWELS else f"di {it.word}", f"of {en.word}")
        yield Fact(
            f"made-{it.word}",
            "physics",
            (
                both(
                    f"{capitalised(made['it'])} è {made_of['it']}.",
                    f"{capitalised(made['en'])} is made {made_of['en']}.",
                ),
            ),
            (
                both(
                    f"Di che materiale è {made['it']}?", f"What material is {made['en']} made of?"
                ),
                both(f"Di che cosa è {made['it']}?", f"What is {made['en']} made of?"),
            ),
            made_of,
            "made",
        )
    for name, colour, where in rows(lexicon.FRUITS):
        fruit, looks, grows = noun(name), pair(colour), pair(where)
        it, en = fruit.it, fruit.en
        yield Fact(
            f"fruit-colour-{it.word}",
            "biology",
            (both(f"{it.The} è {looks['it']}.", f"{en.The} is {looks['en']}."),),
            (
                both(f"Di che colore è {it.the}?", f"What colour is {en.the}?"),
                both(f"Quale colore ha {it.the}?", f"Which colour does {en.the} have?"),
            ),
            looks,
            "colour",
        )
        yield Fact(
            f"fruit-place-{it.word}",
            "biology",
            (both(f"{it.The} cresce {grows['it']}.", f"{en.The} grows {grows['en']}."),),
            (
                both(f"Dove cresce {it.the}?", f"Where does {en.the} grow?"),
                both(f"In quale posto cresce {it.the}?", f"In which place does {en.the} grow?"),
            ),
            grows,
            "fruit-place",
        )


def physics_facts() -> Iterator[Fact]:
    """Yield what follows from what."""
    for cause, effect in rows(lexicon.PHYSICS):
        when, then = pair(cause), pair(effect)
        yield Fact(
            f"physics-{when['en']}",
            "physics",
            (
                both(f"Quando {when['it']}, {then['it']}.", f"When {when['en']}, {then['en']}."),
                both(f"Se {when['it']}, {then['it']}.", f"If {when['en']}, {then['en']}."),
            ),
            (
                both(f"Che cosa succede quando {when['it']}?", f"What happens when {when['en']}?"),
                both(f"Che cosa accade se {when['it']}?", f"What occurs if {when['en']}?"),
                both(
                    f"Quale effetto si vede se {when['it']}?",
                    f"Which effect is seen if {when['en']}?",
                ),
            ),
            then,
            "physics",
        )


def place_facts() -> Iterator[Fact]:
    """Yield where one does what, and with which part of the body."""
    for block, kind, subject in (
        (lexicon.PLACES, "place", "society"),
        (lexicon.BODY, "body", "medicine"),
    ):
        asks = (
            ("Dove", "Where do") if kind == "place" else ("Con che cosa", "With what do"),
            ("In quale luogo", "In which place do")
            if kind == "place"
            else ("Con quale parte del corpo", "With which part of the body do"),
        )
        for where, what in rows(block):
            place, act = pair(where), pair(what)
            yield Fact(
                f"{kind}-{place['en']}",
                subject,
                (
                    both(
                        f"{capitalised(place['it'])} {act['it']}.",
                        f"{capitalised(place['en'])} {act['en']}.",
                    ),
                    both(
                        f"{capitalised(act['it'])} {place['it']}.",
                        f"{capitalised(act['en'])} {place['en']}.",
                    ),
                ),
                tuple(both(f"{it} {act['it']}?", f"{en} {act['en']}?") for it, en in asks),
                place,
                kind,
            )


def town_facts(seed: int) -> Iterator[Fact]:
    """Yield on which river each of forty towns lies."""
    rivers = names.rivers()
    for number, town in enumerate(names.towns(seed)[:40]):
        river = rivers[number % len(rivers)]
        yield Fact(
            f"river-{town}",
            "geography",
            (
                both(f"{town} si trova sul fiume {river}.", f"{town} lies on the river {river}."),
                both(f"Il fiume {river} attraversa {town}.", f"The river {river} crosses {town}."),
            ),
            (
                both(f"Come si chiama il fiume di {town}?", f"What is the river of {town} called?"),
                both(f"Quale fiume attraversa {town}?", f"Which river crosses {town}?"),
            ),
            both(river, river),
            "river",
        )


def all_facts(seed: int) -> list[Fact]:
    """Return every fact of the world, in a stable order."""
    return [
        *job_facts(),
        *animal_facts(),
        *tool_facts(),
        *matter_facts(),
        *physics_facts(),
        *place_facts(),
        *town_facts(seed),
    ]
