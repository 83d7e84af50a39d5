"""Multiple-choice items of six families, fair to guesses by length and by position."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from revocab.demoworld.facts import Fact
from revocab.demoworld.names import Person
from revocab.demoworld.stories import PETS, World, say

SUBJECTS = {
    "mmlu": ("professions", "society", "medicine", "geography"),
    "arc_easy": ("biology",),
    "sciq": ("physics", "tools"),
}
YES_NO = {"it": ["no", "sì"], "en": ["no", "yes"]}
#: Questions on a passage: where from, with what tool, which pet, what was bought.
ASKED = {
    "it": (
        "Di dove è {name}?", "Che cosa usa {name}?", "Quale animale ha {name}?",
        "Che cosa ha comprato {name}?",
    ),
    "en": (
        "Where is {name} from?", "What does {name} use?", "Which animal does {name} have?",
        "What did {name} buy?",
    ),
}  # fmt: skip
#: Candidate sets drawn per item.
_DRAWS = 60


class FairChoices:
    """Draws distractors so that over many items the answer takes every rank of length evenly."""

    def __init__(self, draw: random.Random, count: int):
        self.draw = draw
        self.count = count
        self.ranks = [0.0] * count

    def __call__(self, answer: str, pool: list[str]) -> list[str] | None:
        """Return the answer and ``count - 1`` others, or None where the pool is too small.

        Of many random sets the one is taken whose rank of the answer has come up least.
        """
        others = sorted({*pool} - {answer})
        if len(others) < self.count - 1:
            return None
        best: tuple[float, list[int], list[str]] | None = None
        for _ in range(_DRAWS):
            wrong = self.draw.sample(others, self.count - 1)
            shorter = sum(len(choice) < len(answer) for choice in wrong)
            equal = sum(len(choice) == len(answer) for choice in wrong)
            shared = list(range(shorter, shorter + equal + 1))
            used = sum(self.ranks[rank] for rank in shared) / len(shared) + 0.2 * equal
            if best is None or used < best[0]:
                best = (used, shared, wrong)
        assert best is not None
        for rank in best[1]:
            self.ranks[rank] += 1 / len(best[1])
        return [answer, *best[2]]


def placed(draw: random.Random, options: list[str], position: int) -> tuple[list[str], int]:
    wrong = options[1:]
    draw.shuffle(wrong)
    position %= len(options)
    return [*wrong[:position], options[0], *wrong[position:]], position


def fact_items(
    world: World,
    draw: random.Random,
    facts: list[Fact],
    language: str,
    count: int,
    test: bool,
    supported: tuple[bool, ...],
) -> Iterator[dict[str, Any]]:
    """Yield question rows about ``facts``, with or without a supporting passage, to ``count``."""
    every = ((fact, question) for fact in facts for question in fact.asked(test))
    asked = [(*pair, support) for pair in every for support in supported]
    draw.shuffle(asked)
    fair, number = FairChoices(draw, 4), 0
    for fact, question, support in asked:
        pool = [other.answer[language] for other in world.facts if other.pool == fact.pool]
        options = fair(fact.answer[language], pool)
        if options is None:
            continue
        listed, answer = placed(draw, options, number)
        row = {"subject": fact.subject, "question": question[language]}
        if support:
            other = draw.choice(world.facts).statements[0][language]
            row["context"] = f"{other} {fact.statements[-1][language]}"
        yield {**row, "choices": listed, "answer": answer}
        number += 1
        if number == count:
            return


def hellaswag(
    world: World, draw: random.Random, people: list[Person], language: str, count: int
) -> Iterator[dict[str, Any]]:
    """Yield a scene on the way to work and four ways in which it may go on."""
    fair = FairChoices(draw, 4)
    for number in range(count):
        person, job = draw.choice(people), world.occupations[number % len(world.occupations)]
        scene = [
            say("introduction", person, job, town=draw.choice(world.towns)),
            say("to_work", person, job, time=draw.choice(world.times)),
        ]
        endings = [say("at_work", person, other)[language] for other in world.occupations]
        options = fair(say("at_work", person, job)[language], endings)
        assert options is not None  # jobs are many
        listed, answer = placed(draw, options, number)
        context = " ".join(sentence[language] for sentence in scene)
        yield {"context": context, "choices": listed, "answer": answer}


def piqa(
    world: World, draw: random.Random, people: list[Person], language: str, count: int
) -> Iterator[dict[str, Any]]:
    goal = {
        "it": "{name} vuole {use}. Che cosa fa?",
        "en": "{name} wants to {use}. What does {he} do?",
    }
    fair = FairChoices(draw, 2)
    for number in range(count):
        tool, use = world.tools[number % len(world.tools)]
        person = draw.choice(people)
        takes = {"it": "Prende", "en": "Takes"}[language]
        solutions = [f"{takes} {getattr(other, language).the}." for other, _ in world.tools]
        options = fair(f"{takes} {getattr(tool, language).the}.", solutions)
        assert options is not None  # tools are many
        listed, answer = placed(draw, options, number)
        yield {
            "question": goal[language].format(name=person.name, use=use[language], he=person.he),
            "choices": listed,
            "answer": answer,
        }


def boolq(
    world: World, draw: random.Random, people: list[Person], language: str, count: int
) -> Iterator[dict[str, Any]]:
    asks = {"it": "{name} è {role}?", "en": "Is {name} {role}?"}
    for number in range(count):
        person = draw.choice(people)
        job, other = draw.sample(world.occupations, 2)
        passage = [
            say("introduction", person, job, town=draw.choice(world.towns)),
            say("to_work", person, job, time=draw.choice(world.times)),
            say("at_work", person, job),
        ]
        true = (number + number // 2) % 2
        role = (job if true else other).of(person)
        yield {
            "context": " ".join(sentence[language] for sentence in passage),
            "question": asks[language].format(name=person.name, role=getattr(role, language).a),
            "choices": YES_NO[language],
            "answer": true,
        }


def family_items(
    world: World, family: str, language: str, count: int, seed: int, test: bool
) -> list[dict[str, Any]]:
    draw = random.Random(f"{family}-{language}-{seed}-{test}")
    scenes = {"hellaswag": hellaswag, "piqa": piqa, "boolq": boolq}
    if family in scenes:
        made = list(scenes[family](world, draw, world.side(test), language, count))
    else:
        facts = [fact for fact in world.facts if fact.subject in SUBJECTS[family]]
        supported = (False, True) if family == "sciq" else (False,)
        made = list(fact_items(world, draw, facts, language, count, test, supported))
    draw.shuffle(made)
    for number, row in enumerate(made):
        row["id"] = f"{family}-{language}-{number:04d}"
    return made


def passages(
    world: World, draw: random.Random, language: str, test: bool = False
) -> dict[str, Any]:
    person = draw.choice(world.side(test))
    job = draw.choice(world.occupations)
    animal, fruit = draw.choice(world.animals), draw.choice(world.fruits)
    home, market = draw.sample(world.towns, 2)
    sentences = [
        say("introduction", person, job, town=home),
        say("with_tool", person, job),
        say("pet", person, animal=animal, name=draw.choice(PETS)),
        say("bought", person, fruit=fruit, town=market),
    ]
    tool, pet, thing = (getattr(noun, language) for noun in (job.tool, animal, fruit))
    answers = (home, tool.the, pet.a, thing.a)
    question, answer = draw.choice(list(zip(ASKED[language], answers, strict=True)))
    context = " ".join(sentence[language] for sentence in sentences)
    asked = question.format(name=person.name)
    return {"title": person.full, "context": context, "question": asked, "answers": [answer]}
