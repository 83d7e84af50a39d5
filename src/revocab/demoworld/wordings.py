"""How facts are stated and asked, in both languages: entries are data, :mod:`facts` fills them.

An entry is a head, ``name | subject | pool | answer``, then statements (``.``), questions (``?``).
Every text reads ``italian = english``; a name in braces stands for what it is in that language,
with a capital for its beginning in upper case.
"""

from __future__ import annotations

from dataclasses import dataclass

from revocab.demoworld.lexicon import pair

Text = dict[str, str]


@dataclass(frozen=True)
class Wording:
    """One kind of fact, its texts still with names in braces."""

    name: str
    subject: str
    pool: str
    answer: Text
    statements: tuple[Text, ...]
    questions: tuple[Text, ...]


def wordings(block: str) -> list[Wording]:
    kinds = []
    for part in block.strip().split("\n\n"):
        head, *lines = part.splitlines()
        name, subject, pool, answer = (column.strip() for column in head.split("|"))
        marked = {
            mark: tuple(pair(line[1:]) for line in lines if line.startswith(mark)) for mark in ".?"
        }
        kinds.append(Wording(name, subject, pool, pair(answer), marked["."], marked["?"]))
    return kinds


JOB = """
job-place | professions | job-place | {place.nel} = in {place.the}
. {job.The} lavora {place.nel}. = {job.The} works in {place.the}.
. {job.The} passa la giornata {place.nel}. = {job.The} spends the day in {place.the}.
? Dove lavora {job.the}? = Where does {job.the} work?
? In quale luogo lavora {job.the}? = In which place does {job.the} work?
? Dove si trova al lavoro {job.the}? = Where is {job.the} at work?

job-tool | professions | job-tool | {tool.the} = {tool.the}
. {job.The} usa {tool.the}. = {job.The} uses {tool.the}.
. {tool.The} è l'attrezzo {job.del_}. = {tool.The} is the tool of {job.the}.
? Che cosa usa {job.the}? = What does {job.the} use?
? Quale attrezzo usa {job.the}? = Which tool does {job.the} use?
? Con che cosa lavora {job.the}? = What does {job.the} work with?

job-does | professions | job-does | {does} = {does}
. {job.The} {does}. = {job.The} {does}.
. Il mestiere {job.del_} è {to_do}. = The trade of {job.the} is to {to_do}.
? Che cosa fa {job.the}? = What does {job.the} do?
? Che lavoro fa {job.the}? = What work does {job.the} do?
? Di che cosa si occupa {job.the}? = What is {job.the} busy with?
"""

ANIMAL = """
animal-sound | biology | animal-sound | {sound} = {sound}
. {animal.The} {sound}. = {animal.The} {sound}.
? Che verso fa {animal.the}? = What sound does {animal.the} make?
? Come si fa sentire {animal.the}? = How does {animal.the} make itself heard?
? Qual è la voce {animal.del_}? = What is the voice of {animal.the}?

animal-food | biology | animal-food | {food} = {food}
. {animal.The} mangia {food}. = {animal.The} eats {food}.
? Che cosa mangia {animal.the}? = What does {animal.the} eat?
? Di che cosa si nutre {animal.the}? = What does {animal.the} feed on?
? Qual è il cibo {animal.del_}? = What is the food of {animal.the}?

animal-home | biology | animal-home | {home} = {home}
. {animal.The} vive {home}. = {animal.The} lives {home}.
. {animal.The} dorme {home}. = {animal.The} sleeps {home}.
? Dove vive {animal.the}? = Where does {animal.the} live?
? Dove dorme {animal.the}? = Where does {animal.the} sleep?
? Dove si trova {animal.the}? = Where is {animal.the} found?

animal-class | biology | animal-class | {kind} = {kind}
. {animal.The} è {kind}. = {animal.The} is {kind}.
? Che animale è {animal.the}? = What kind of animal is {animal.the}?
? A quale classe appartiene {animal.the}? = To which class does {animal.the} belong?
? Che cos'è {animal.the}? = What is {animal.the}?

animal-cover | biology | animal-cover | {cover} = {cover}
. {animal.The} ha {cover}. = {animal.The} has {cover}.
? Che cosa copre il corpo {animal.del_}? = What covers the body of {animal.the}?
? Che cosa ha {animal.the} sul corpo? = What does {animal.the} have on its body?
? Che cosa protegge {animal.the} dal freddo? = What protects {animal.the} from cold?

animal-young | biology | animal-young | {young} = {young}
. Il piccolo {animal.del_} è {young}. = The young of {animal.the} is {young}.
? Come si chiama il piccolo {animal.del_}? = What is the young of {animal.the} called?
? Chi è il figlio {animal.del_}? = Who is the child of {animal.the}?
? Quale cucciolo ha {animal.the}? = Which young does {animal.the} have?
"""

TOOL = """
tool | tools | tool | {tool.the} = {tool.the}
. {tool.The} serve a {to_do}. = {tool.The} is used to {to_do}.
. Per {to_do} si usa {tool.the}. = To {to_do} people use {tool.the}.
? Che cosa serve per {to_do}? = What is needed to {to_do}?
? Che cosa si usa per {to_do}? = What is used to {to_do}?
? Con che cosa si può {to_do}? = With what can people {to_do}?
"""

MATERIAL = """
material | physics | material-{material.gender} | {quality} = {quality}
. {material.The} è {quality}. = {material.Word} is {quality}.
? Com'è {material.the}? = What is {material.word} like?
? Quale qualità ha {material.the}? = Which quality does {material.word} have?
? Come si presenta {material.the}? = How does {material.word} present itself?

made | physics | made | {material.of} = {material.of}
. {Thing} è {material.of}. = {Thing} is made {material.of}.
? Di che materiale è {thing}? = What material is {thing} made of?
? Di che cosa è {thing}? = What is {thing} made of?
"""

FRUIT = """
fruit-colour | biology | colour | {looks} = {looks}
. {fruit.The} è {looks}. = {fruit.The} is {looks}.
? Di che colore è {fruit.the}? = What colour is {fruit.the}?
? Quale colore ha {fruit.the}? = Which colour does {fruit.the} have?

fruit-place | biology | fruit-place | {grows} = {grows}
. {fruit.The} cresce {grows}. = {fruit.The} grows {grows}.
? Dove cresce {fruit.the}? = Where does {fruit.the} grow?
? In quale posto cresce {fruit.the}? = In which place does {fruit.the} grow?
"""

PHYSICS = """
physics | physics | physics | {then} = {then}
. Quando {when}, {then}. = When {when}, {then}.
. Se {when}, {then}. = If {when}, {then}.
? Che cosa succede quando {when}? = What happens when {when}?
? Che cosa accade se {when}? = What occurs if {when}?
? Quale effetto si vede se {when}? = Which effect is seen if {when}?
"""

PLACE = """
place | society | place | {place} = {place}
. {Place} {act}. = {Place} {act}.
. {Act} {place}. = {Act} {place}.
? Dove {act}? = Where do {act}?
? In quale luogo {act}? = In which place do {act}?
"""

BODY = """
body | medicine | body | {place} = {place}
. {Place} {act}. = {Place} {act}.
. {Act} {place}. = {Act} {place}.
? Con che cosa {act}? = With what do {act}?
? Con quale parte del corpo {act}? = With which part of the body do {act}?
"""

RIVER = """
river | geography | river | {river} = {river}
. {town} si trova sul fiume {river}. = {town} lies on the river {river}.
. Il fiume {river} attraversa {town}. = The river {river} crosses {town}.
? Come si chiama il fiume di {town}? = What is the river of {town} called?
? Quale fiume attraversa {town}? = Which river crosses {town}?
"""

#: What happens in stories, an entry each: ``name | italian = english``.
SENTENCES = """
introduction | {person.full} è {role.a} di {town}. = {person.full} is {role.a} from {town}.
to_work | {Time} {person.name} va {place.al}. = {Time} {person.name} goes to {place.the}.
at_work | Lì {person.name} {does}. = There {person.name} {does}.
with_tool | Per {to_do} usa {tool.the}. = To {to_do} {he} uses {tool.the}.
pet | {person.name} ha {animal.a} che si chiama {name}. = {person.name} has {animal.a} called {name}.
feeling | {Time} {person.name} è {mood}. = {Time} {person.name} is {mood}.
birth | È nat{person.o} a {town}. = {He} was born in {town}.
bought | Ieri {person.name} è andat{person.o} al mercato di {town} e ha comprato {fruit.a}. = Yesterday {person.name} went to the market of {town} and bought {fruit.a}.
needs_tool | {person.name} vuole {use} e prende {tool.the}. = {person.name} wants to {use} and takes {tool.the}.
meets | La sera incontra {other.name}, {role.the} del paese. = In the evening {he} meets {other.name}, {role.the} of the village.
"""
