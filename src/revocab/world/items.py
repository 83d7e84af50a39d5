"""Multiple-choice test items whose answer shows in neither length nor position, and the guessers.

Every item is given a position and a rank of length for its right answer, both cycled uniformly;
wrong answers are drawn so that exactly ``rank`` of them are shorter and the rest longer.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from revocab.errors import RevocabError
from revocab.world.asking import CHOICES, YES_NO, Asked, Asker

ATTEMPTS = 3000


def build_items(asker: Asker, family: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Return ``count`` items of a family: {id, context?, question?, choices, answer, subject?}."""
    choose = random.Random(f"{seed}/items/{family}/{asker.language}")
    size = CHOICES[family]
    plan = [(number % size, number // size % size) for number in range(count)]
    choose.shuffle(plan)
    rows, used = [], set()
    for number, (position, rank) in enumerate(plan):
        asked, choices = _item(asker, family, choose, position, rank, used)
        row: dict[str, Any] = {"id": f"{family}-{asker.language}-{number:05d}"}
        row |= {"context": asked.context} if asked.context else {}
        row |= {"question": asked.question} if asked.question else {}
        row |= {"subject": asked.subject} if asked.subject and family == "mmlu" else {}
        rows.append(row | {"choices": choices, "answer": position})
    return rows


def _item(
    asker: Asker, family: str, choose: random.Random, position: int, rank: int, used: set[str]
) -> tuple[Asked, list[str]]:
    for _ in range(ATTEMPTS):
        asked = asker.ask(family, choose, test=True)
        key = f"{asked.context}\n{asked.question}"
        choices = (
            _yes_no(asker, asked, position)
            if family == "boolq"
            else _choices(asked, CHOICES[family], position, rank, choose)
        )
        if choices and key not in used:
            used.add(key)
            return asked, choices
    raise RevocabError(
        f"--items: no further {family} item in {asker.language} after {len(used)}; "
        "the world holds so many different questions; ask for fewer"
    )


def _yes_no(asker: Asker, asked: Asked, position: int) -> list[str] | None:
    choices = list(YES_NO[asker.language])
    return choices if choices[position] == asked.answer else None


def _choices(
    asked: Asked, size: int, position: int, rank: int, choose: random.Random
) -> list[str] | None:
    length = len(asked.answer)
    shorter = [text for text in asked.wrong if len(text) < length]
    longer = [text for text in asked.wrong if len(text) > length]
    if len(shorter) < rank or len(longer) < size - 1 - rank:
        return None
    wrong = choose.sample(shorter, rank) + choose.sample(longer, size - 1 - rank)
    choose.shuffle(wrong)
    wrong.insert(position, asked.answer)
    return wrong


def guessers(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the accuracies of blind guessers on a family's items; ties share the point."""
    count = len(rows)
    positions = Counter(row["answer"] for row in rows)
    return {
        "chance": sum(1 / len(row["choices"]) for row in rows) / count,
        "longest_option": sum(_share(row, max) for row in rows) / count,
        "shortest_option": sum(_share(row, min) for row in rows) / count,
        "majority_position": max(positions.values()) / count,
    }


def _share(row: dict[str, Any], extreme: Any) -> float:
    lengths = [len(choice) for choice in row["choices"]]
    best = [index for index, length in enumerate(lengths) if length == extreme(lengths)]
    return (row["answer"] in best) / len(best)
