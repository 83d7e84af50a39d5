"""The relations between things: how each is told, asked, confirmed and denied, in two languages.

A template pair is (Italian, English). Slots: ``s`` the subject, ``o`` the object, ``c`` (physics)
the circumstance, ``p`` a person, ``t`` a town.
"""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True)
class Relation:
    """Sentences of one kind of fact.

    ``told`` state it; ``asked`` ask for the object, ``answer`` gives it; ``polar`` are yes/no
    questions that name the object; ``personal`` are (background, question) pairs that ask about a
    person; ``goals`` ask from the object for the subject, ``solution`` answers; ``subject`` is the
    school subject, ``families`` the multiple-choice families that ask.
    """

    name: str
    subject: Pair
    families: tuple[str, ...]
    told: tuple[Pair, ...]
    asked: tuple[Pair, ...]
    answer: Pair
    polar: tuple[Pair, ...]
    personal: tuple[tuple[Pair, Pair], ...] = ()
    goals: tuple[Pair, ...] = ()
    solution: Pair = ("", "")


PROFESSIONS = ("professioni", "professions")
BIOLOGY = ("biologia", "biology")
PHYSICS = ("fisica", "physics")
CRAFTS = ("artigianato", "crafts")
ANATOMY = ("anatomia", "anatomy")
GEOGRAPHY = ("geografia", "geography")
CIVICS = ("educazione civica", "civics")
MATERIALS = ("scienza dei materiali", "materials science")

JOB_PLACE = Relation(
    "job_place",
    PROFESSIONS,
    ("mmlu", "sciq", "boolq", "piqa"),
    told=(
        ("{il s} lavora {loc o}.", "{the s} works {loc o}."),
        ("{p} fa {il s} e lavora {loc o}.", "{p} is {a s} and works {loc o}."),
        ("{loc o} lavora {un s}.", "{a s} works {loc o}."),
        ("Ogni mattina {il s} va a lavorare {loc o}.", "Every morning {the s} goes to work {loc o}."),
        ("Se cercate {un s}, andate {loc o}.", "If you need {a s}, look {loc o}."),
        ("Il posto di lavoro {del s} è {il o}.", "The workplace of {the s} is {the o}."),
    ),
    asked=(
        ("Dove lavora {il s}?", "Where does {the s} work?"),
        ("Dove va a lavorare {il s}?", "Where does {the s} go to work?"),
        ("Dove si trova di solito {il s}?", "Where is {the s} usually found?"),
    ),
    answer=("{loc o}", "{loc o}"),
    polar=(("{il s} lavora {loc o}?", "Does {the s} work {loc o}?"),),
    personal=(
        (("{p} vive {ad t} e fa {il s}.", "{p} lives in {t} and is {a s}."),
         ("Dove lavora {p}?", "Where does {p} work?")),
    ),
    goals=(
        ("Dove si va per cercare {un s}?", "Where does one go to look for {a s}?"),
    ),
    solution=("si va {loc o}", "go {to o}"),
)  # fmt: skip

JOB_ACTION = Relation(
    "job_action",
    PROFESSIONS,
    ("mmlu", "sciq", "boolq", "piqa"),
    told=(
        ("Il lavoro {del s} è {o.inf}.", "The job of {the s} is to {o.inf}."),
        ("{p} è {un s} e sa {o.inf}.", "{p} is {a s} and can {o.inf}."),
        ("Tutto il giorno {il s} deve {o.inf}.", "All day long {the s} has to {o.inf}."),
        ("{il s} {o.pres} con grande cura.", "{the s} {o.s} with great care."),
        ("Per {o.inf} si chiama {un s}.", "To {o.inf}, one calls {a s}."),
        ("{p} guardava {il s} che {o.impf}.", "{p} watched {the s} {o.inf}."),
    ),
    asked=(
        ("Che cosa sa fare {il s}?", "What can {the s} do?"),
        ("Che cosa deve saper fare {un s}?", "What must {a s} be able to do?"),
        ("Che cosa deve fare {il s}?", "What does {the s} have to do?"),
    ),
    answer=("{o.inf}", "{o.inf}"),
    polar=(("{il s} deve {o.inf}?", "Does {the s} have to {o.inf}?"),),
    personal=(
        (("{p} abita {ad t} ed è {un s}.", "{p} lives in {t} and is {a s}."),
         ("Che cosa sa fare {p}?", "What can {p} do?")),
    ),
    goals=(
        ("Chi si chiama per {o.inf}?", "Who is called to {o.inf}?"),
        ("Che cosa conviene fare per {o.inf}?", "What should one do to {o.inf}?"),
    ),
    solution=("si chiama {un s}", "call {a s}"),
)  # fmt: skip

JOB_TOOL = Relation(
    "job_tool",
    PROFESSIONS,
    ("mmlu", "sciq", "boolq"),
    told=(
        ("{il s} usa {il o}.", "{the s} uses {the o}."),
        ("L'attrezzo {del s} è {il o}.", "The tool of {the s} is {the o}."),
        ("{p}, che fa {il s}, ha comprato {un o}.", "{p}, who is {a s}, bought {a o}."),
        ("Senza {il o} {il s} non può lavorare.", "Without {the o} {the s} cannot work."),
        ("{il o} è l'attrezzo {del s}.", "{the o} is the tool of {the s}."),
        ("Nelle mani {del s} c'è {il o}.", "In the hands of {the s} there is {the o}."),
    ),
    asked=(
        ("Che cosa usa {il s}?", "What does {the s} use?"),
        ("Qual è l'attrezzo {del s}?", "What is the tool of {the s}?"),
        ("Che cosa serve {al s} per lavorare?", "What does {the s} need for work?"),
    ),
    answer=("{il o}", "{the o}"),
    polar=(("{il s} usa {il o}?", "Does {the s} use {the o}?"),),
    personal=(
        (("{p} fa {il s} {ad t}.", "{p} is {a s} in {t}."),
         ("Che cosa usa {p}?", "What does {p} use?")),
    ),
)  # fmt: skip

ANIMAL_CALL = Relation(
    "animal_call",
    BIOLOGY,
    ("mmlu", "arc_easy", "boolq"),
    told=(
        ("{il s} {o.pres}.", "{the s} {o.s}."),
        ("Quando ha fame, {il s} {o.pres}.", "When it is hungry, {the s} {o.s}."),
        ("{i s} {o.pl} forte.", "{s s} {o.inf} loudly."),
        ("{p} ha sentito {un s} {o.inf}.", "{p} heard {a s} {o.inf}."),
        ("Il verso {del s} è {o.inf}.", "The call of {the s} is to {o.inf}."),
    ),
    asked=(
        ("Qual è il verso {del s}?", "What is the call of {the s}?"),
        ("Che verso fa {il s}?", "What call does {the s} make?"),
        ("Da quale verso si riconosce {il s}?", "By which call does one know {the s}?"),
    ),
    answer=("{o.inf}", "{o.inf}"),
    polar=(("Il verso {del s} è {o.inf}?", "Is the call of {the s} to {o.inf}?"),),
    personal=(
        (("{p} ha {un s} {ad t}.", "{p} has {a s} in {t}."),
         ("Che verso fa {il s} di {p}?", "What call does the {s} of {p} make?")),
    ),
)  # fmt: skip

ANIMAL_FOOD = Relation(
    "animal_food",
    BIOLOGY,
    ("mmlu", "arc_easy", "sciq", "boolq"),
    told=(
        ("{il s} mangia {gen o}.", "{the s} eats {gen o}."),
        ("{i s} mangiano soprattutto {gen o}.", "{s s} mostly eat {gen o}."),
        ("Il cibo preferito {del s}: {gen o}.", "The favourite food of {the s}: {gen o}."),
        ("{p} ha visto {un s} che mangiava {gen o}.", "{p} saw {a s} that was eating {gen o}."),
        ("{il s} ha fame e cerca {gen o}.", "{the s} is hungry and looks for {gen o}."),
        ("Niente piace {al s} quanto {gen o}.", "Nothing pleases {the s} as much as {gen o}."),
    ),
    asked=(
        ("Che cosa mangia {il s}?", "What does {the s} eat?"),
        ("Qual è il cibo preferito {del s}?", "What is the favourite food of {the s}?"),
        ("Che cosa cerca {il s} quando ha fame?", "What does {the s} look for when it is hungry?"),
    ),
    answer=("{gen o}", "{gen o}"),
    polar=(("{il s} mangia {gen o}?", "Does {the s} eat {gen o}?"),),
    personal=(
        (("{p} guarda {un s} vicino {ad t}.", "{p} watches {a s} near {t}."),
         ("Che cosa mangia {il s} che {p} guarda?", "What does the {s} that {p} watches eat?")),
    ),
)  # fmt: skip

ANIMAL_HOME = Relation(
    "animal_home",
    BIOLOGY,
    ("mmlu", "arc_easy", "sciq", "boolq", "piqa"),
    told=(
        ("{il s} vive {loc o}.", "{the s} lives {loc o}."),
        ("La casa {del s} è {il o}.", "The home of {the s} is {the o}."),
        ("{i s} dormono {loc o}.", "{s s} sleep {loc o}."),
        ("{loc o} vive {un s}.", "{a s} lives {loc o}."),
        ("{p} ha trovato {un s} {loc o}.", "{p} found {a s} {loc o}."),
        ("La sera {il s} torna {loc o}.", "In the evening {the s} is back {loc o}."),
    ),
    asked=(
        ("Dove vive {il s}?", "Where does {the s} live?"),
        ("Dove ha la casa {il s}?", "Where does {the s} have its home?"),
        ("Dove dorme {il s}?", "Where does {the s} sleep?"),
    ),
    answer=("{loc o}", "{loc o}"),
    polar=(("{il s} vive {loc o}?", "Does {the s} live {loc o}?"),),
    personal=(
        (("{p} cerca {un s} vicino {ad t}.", "{p} looks for {a s} near {t}."),
         ("Dove può trovare {il s} {p}?", "Where can {p} find the {s}?")),
    ),
    goals=(
        ("Dove bisogna cercare per trovare {un s}?", "Where should one look to find {a s}?"),
    ),
    solution=("si cerca {loc o}", "look {loc o}"),
)  # fmt: skip

ANIMAL_CLASS = Relation(
    "animal_class",
    BIOLOGY,
    ("mmlu", "arc_easy"),
    told=(
        ("{il s} è {un o}.", "{the s} is {a o}."),
        ("Gli studiosi dicono che {il s} è {un o}.", "Scholars say that {the s} is {a o}."),
        ("Come animale, {il s} è {un o}.", "As an animal, {the s} is {a o}."),
    ),
    asked=(
        ("Che tipo di animale è {il s}?", "What kind of animal is {the s}?"),
        ("A quale gruppo di animali appartiene {il s}?", "To which group of animals does {the s} belong?"),
    ),
    answer=("{un o}", "{a o}"),
    polar=(("{il s} è {un o}?", "Is {the s} {a o}?"),),
)  # fmt: skip

TOOL_USE = Relation(
    "tool_use",
    CRAFTS,
    ("mmlu", "sciq", "boolq", "piqa", "arc_easy"),
    told=(
        ("{il s} serve per {o.inf}.", "{the s} is used to {o.inf}."),
        ("Per {o.inf} si usa {il s}.", "To {o.inf}, one uses {the s}."),
        ("{p} ha preso {il s} per {o.inf}.", "{p} took {the s} to {o.inf}."),
        ("Con {un s} è possibile {o.inf}.", "With {a s} one can {o.inf}."),
        ("Chi vuole {o.inf} prende {un s}.", "Whoever wants to {o.inf} takes {a s}."),
        ("Senza {un s} è difficile {o.inf}.", "Without {a s} it is hard to {o.inf}."),
    ),
    asked=(
        ("A che cosa serve {il s}?", "What is {the s} used for?"),
        ("Che cosa si fa con {il s}?", "What does one do with {the s}?"),
        ("Perché si usa {il s}?", "Why does one use {the s}?"),
    ),
    answer=("per {o.inf}", "to {o.inf}"),
    polar=(("{il s} serve per {o.inf}?", "Is {the s} used to {o.inf}?"),),
    personal=(
        (("{ad t} {p} ha comprato {un s}.", "In {t} {p} bought {a s}."),
         ("Perché {p} ha comprato {il s}?", "Why did {p} buy the {s}?")),
    ),
    goals=(
        ("Che cosa si usa per {o.inf}?", "What does one use to {o.inf}?"),
        ("Come fare per {o.inf}?", "How can one {o.inf}?"),
        ("Di che cosa ha bisogno chi vuole {o.inf}?", "What should someone do who wants to {o.inf}?"),
    ),
    solution=("si usa {il s}", "use {the s}"),
)  # fmt: skip

THING_MATERIAL = Relation(
    "thing_material",
    CRAFTS,
    ("mmlu", "arc_easy", "sciq", "boolq", "piqa"),
    told=(
        ("{il s} è fatt{s.o} di {o}.", "{the s} is made of {o}."),
        ("Di solito {il s} è di {o}.", "Usually {the s} is of {o}."),
        ("{p} ha visto {un s} di {o}.", "{p} saw {a s} of {o}."),
        ("Per fare {un s} si usa {il o}.", "To make {a s}, one uses {o}."),
        ("Con {il o} si fanno {i s}.", "With {o} one makes {s s}."),
        ("Senza {il o} non si può fare {un s}.", "Without {o} one cannot make {a s}."),
    ),
    asked=(
        ("Di che cosa è fatt{s.o} {il s}?", "What is {the s} made of?"),
        ("Quale materiale si usa per fare {un s}?", "Which material does one use to make {a s}?"),
        ("Quale materiale ci vuole per {un s}?", "Which material does {a s} need?"),
    ),
    answer=("{o}", "{o}"),
    polar=(("{il s} è fatt{s.o} di {o}?", "Is {the s} made of {o}?"),),
    personal=(
        (("{p} ha comprato {un s} {ad t}.", "{p} bought {a s} in {t}."),
         ("Di che cosa è fatt{s.o} {il s} di {p}?", "What is the {s} of {p} made of?")),
    ),
    goals=(
        ("Che cosa si usa per fabbricare {un s}?", "What does one use to produce {a s}?"),
        ("Come si fa {un s}?", "How does one make {a s}?"),
    ),
    solution=("si usa {il o}", "use {o}"),
)  # fmt: skip

PROPERTY = Relation(
    "property",
    MATERIALS,
    ("mmlu", "arc_easy", "sciq", "boolq"),
    told=(
        ("{il s} è {o@s}.", "{s} is {o}."),
        ("Di solito {il s} è {o@s}.", "Usually {s} is {o}."),
        ("{p} dice che {il s} è {o@s}.", "{p} says that {s} is {o}."),
        ("Tutti sanno che {il s} è {o@s}.", "Everybody knows that {s} is {o}."),
        ("Una qualità {del s}: è {o@s}.", "One quality of {s}: it is {o}."),
    ),
    asked=(
        ("Com'è {il s}?", "What is {s} like?"),
        ("Quale parola descrive {il s}?", "Which word describes {s}?"),
        ("Come si può descrivere {il s}?", "How can one describe {s}?"),
    ),
    answer=("{o@s}", "{o}"),
    polar=(("{il s} è {o@s}?", "Is {s} {o}?"),),
    personal=(
        (("{p} ha trovato {il s} {ad t}.", "{p} found {s} in {t}."),
         ("Com'è {il s} che {p} ha trovato?", "What is the {s} that {p} found like?")),
    ),
)  # fmt: skip

PHYSICAL = Relation(
    "physical",
    PHYSICS,
    ("mmlu", "arc_easy", "sciq", "boolq"),
    told=(
        ("Se {il s} {c.pres}, {o.pres}.", "If {the s} {c.s}, it {o.s}."),
        ("Quando {il s} {c.pres}, di solito {o.pres}.", "When {the s} {c.s}, it usually {o.s}."),
        ("{il s} {o.pres} quando {c.pres}.", "{the s} {o.s} when it {c.s}."),
        ("{il s} {c.pres} e poi {o.pres}.", "{the s} {c.s} and then it {o.s}."),
        ("{p} ha visto che {il s} {o.pres}, se {c.pres}.", "{p} saw that {the s} {o.s} if it {c.s}."),
    ),
    asked=(
        ("Che cosa succede {al s} se {c.pres}?", "What happens to {the s} if it {c.s}?"),
        ("Che cosa fa {il s} quando {c.pres}?", "What does {the s} do when it {c.s}?"),
        ("{il s} {c.pres}. Che cosa succede?", "{the s} {c.s}. What happens?"),
    ),
    answer=("{o.pres}", "it {o.s}"),
    polar=(("Se {il s} {c.pres}, {o.pres}?", "If {the s} {c.s}, is it true that it {o.s}?"),),
    personal=(
        (("{ad t} {p} osserva: {il s} {c.pres}.", "In {t} {p} observes: {the s} {c.s}."),
         ("Che cosa succede davanti a {p}?", "What happens in front of {p}?")),
    ),
)  # fmt: skip

BODY_USE = Relation(
    "body_use",
    ANATOMY,
    ("mmlu", "arc_easy", "sciq", "boolq"),
    told=(
        ("{il s} serve {ad o}.", "{the s} serves to {o.inf}."),
        ("Per {o.inf} il corpo usa {il s}.", "To {o.inf}, the body uses {the s}."),
        ("Grazie {al s} possiamo {o.inf}.", "Thanks to {the s} we can {o.inf}."),
        ("Nel corpo {il s} ha il compito di {o.inf}.", "In the body {the s} has the task to {o.inf}."),
        ("{p} impara che {il s} serve {ad o}.", "{p} learns that {the s} serves to {o.inf}."),
    ),
    asked=(
        ("Qual è il compito {del s}?", "What is the task of {the s}?"),
        ("Quale compito ha {il s} nel corpo?", "What task does {the s} have in the body?"),
        ("Nel corpo che lavoro fa {il s}?", "In the body, what job does {the s} have?"),
    ),
    answer=("{o.inf}", "to {o.inf}"),
    polar=(("{il s} serve {ad o}?", "Does {the s} serve to {o.inf}?"),),
)  # fmt: skip

PLACE_USE = Relation(
    "place_use",
    CIVICS,
    ("mmlu", "boolq", "piqa"),
    told=(
        ("Si va {loc s} per {o.inf}.", "One goes {to s} to {o.inf}."),
        ("Per {o.inf} si va {loc s}.", "To {o.inf}, one goes {to s}."),
        ("{p} è andat{p.o} {loc s} per {o.inf}.", "{p} went {to s} to {o.inf}."),
        ("Chi vuole {o.inf} va {loc s}.", "Whoever wants to {o.inf} goes {to s}."),
        ("{loc s} è possibile {o.inf}.", "{loc s} one can {o.inf}."),
        ("{ad t} molti vanno {loc s} per {o.inf}.", "In {t} many go {to s} to {o.inf}."),
    ),
    asked=(
        ("Perché si va {loc s}?", "Why does one go {to s}?"),
        ("Che cosa si può fare {loc s}?", "What can one do {loc s}?"),
    ),
    answer=("per {o.inf}", "to {o.inf}"),
    polar=(("Si va {loc s} per {o.inf}?", "Does one go {to s} to {o.inf}?"),),
    personal=(
        (("Oggi {ad t} {p} va {loc s}.", "Today in {t} {p} goes {to s}."),
         ("Perché {p} esce di casa?", "Why does {p} leave the house?")),
    ),
    goals=(
        ("Dove si va per {o.inf}?", "Where does one go to {o.inf}?"),
        ("Dove deve andare chi vuole {o.inf}?", "Where should someone go who wants to {o.inf}?"),
    ),
    solution=("si va {loc s}", "go {to s}"),
)  # fmt: skip

TOWN_REGION = Relation(
    "town_region",
    GEOGRAPHY,
    ("mmlu", "boolq"),
    told=(
        ("{s} si trova in {o}.", "{s} lies in {o}."),
        ("La città di {s} è in {o}.", "The town of {s} is in {o}."),
        ("{p} è nat{p.o} a {s}, in {o}.", "{p} was born in {s}, in {o}."),
        ("Tra le città della regione {o} c'è {s}.", "Among the towns of the region {o} there is {s}."),
    ),
    asked=(
        ("In quale regione si trova {s}?", "In which region does {s} lie?"),
        ("Di quale regione fa parte {s}?", "To which region does {s} belong?"),
    ),
    answer=("{o}", "{o}"),
    polar=(("{s} si trova in {o}?", "Does {s} lie in {o}?"),),
)  # fmt: skip

TOWN_RIVER = Relation(
    "town_river",
    GEOGRAPHY,
    ("mmlu", "boolq"),
    told=(
        ("Il fiume {o} passa per {s}.", "The river {o} flows through {s}."),
        ("{s} si trova sul fiume {o}.", "{s} lies on the river {o}."),
        ("{ad s} {p} abita vicino al fiume {o}.", "In {s} {p} lives near the river {o}."),
        ("Sul ponte di {s} si vede il fiume {o}.", "From the bridge of {s} one sees the river {o}."),
    ),
    asked=(
        ("Quale fiume passa per {s}?", "Which river flows through {s}?"),
        ("Su quale fiume si trova {s}?", "On which river does {s} lie?"),
    ),
    answer=("{o}", "{o}"),
    polar=(("Il fiume {o} passa per {s}?", "Does the river {o} flow through {s}?"),),
)  # fmt: skip

TOWN_PRODUCT = Relation(
    "town_product",
    GEOGRAPHY,
    ("mmlu", "boolq"),
    told=(
        ("{s} è famosa per {gen o}.", "{s} is famous for {gen o}."),
        ("Chi passa per {s} compra {gen o}.", "Whoever passes through {s} buys {gen o}."),
        ("Al mercato di {s} {p} cerca {gen o}.", "At the market of {s} {p} looks for {gen o}."),
        ("Tutti conoscono {gen o} di {s}.", "Everybody knows {gen o} from {s}."),
    ),
    asked=(
        ("Per che cosa è famosa {s}?", "What is {s} famous for?"),
        ("Che cosa compra chi passa per {s}?", "What does someone buy who passes through {s}?"),
    ),
    answer=("{gen o}", "{gen o}"),
    polar=(("{s} è famosa per {gen o}?", "Is {s} famous for {gen o}?"),),
)  # fmt: skip

RELATIONS = {
    relation.name: relation
    for relation in (
        JOB_PLACE, JOB_ACTION, JOB_TOOL, ANIMAL_CALL, ANIMAL_FOOD, ANIMAL_HOME, ANIMAL_CLASS,
        TOOL_USE, THING_MATERIAL, PROPERTY, PHYSICAL, BODY_USE, PLACE_USE,
        TOWN_REGION, TOWN_RIVER, TOWN_PRODUCT,
    )
}  # fmt: skip
