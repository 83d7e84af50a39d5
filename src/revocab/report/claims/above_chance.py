"""Base models answer better than blind guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.families import family_chance
from revocab.evaluation.over_seeds import tell
from revocab.io import read_jsonl
from revocab.report.claim import Claim, ClaimKind
from revocab.report.results import Record, Results

#: A family counts as above or below chance if it is so by more than this many errors.
STANDARD_ERRORS = 2
#: So many English families must be.
WANTED = 4


def chance(results: Results, task: str) -> float | None:
    """Return the accuracy of blind guessing: the mean of 1 / choices over the scored items.

    Falls back on the family's usual number of choices where the items are not on this machine.
    """
    setting = results.experiment.evaluation.multiple_choice
    data = setting.tasks[task].data
    path = Path(data.path) if data and data.path else None
    if data and data.world:
        path = results.resources / "world" / f"{data.world}.jsonl.gz"
    if path is not None:
        try:
            choices = [len(row["choices"]) for row in read_jsonl(path)][: setting.limit]
            return math.fsum(1 / count for count in choices) / len(choices)
        except (RevocabError, KeyError, ZeroDivisionError):
            pass  # not here, or of another shape: the usual number of choices is known
    return family_chance(results.family(task))


def scored(results: Results, group: str, language: str) -> list[Record]:
    base = results.base(group)
    rows = []
    for task in results.choice_tasks(language):
        score = results.scores.choice(base.id, 0, task, results.family(task))
        guess = chance(results, task)
        if score is None or guess is None:
            continue
        stderr = score["stderr"] or 0.0
        reach = STANDARD_ERRORS * stderr
        above = tell(score["value"] - reach - guess, score["value"] + reach - guess)
        row = {"task": task, "value": score["value"], "stderr": stderr, "chance": guess}
        rows.append({**row, "above": above})
    return rows


def find(results: Results) -> Iterator[Claim]:
    for group in results.experiment.runs:
        rows = scored(results, group, "en")
        if len(rows) < WANTED or results.base(group).scores_of:
            continue
        verdicts = [row["above"] for row in rows]
        above, unclear = verdicts.count(True), verdicts.count(None)
        listed = "; ".join(
            f"{row['task']} {100 * row['value']:.1f}±{100 * row['stderr']:.1f} "
            f"(chance {100 * row['chance']:.1f})"
            for row in rows
        )
        yield Claim(
            f"{results.base(group).label}: above chance by more than {STANDARD_ERRORS} standard "
            f"errors on at least {WANTED} English families",
            f"{above} of {len(rows)}: {listed}",
            tell(above - WANTED + 0.5, above + unclear - WANTED + 0.5),
        )


CLAIMS = ClaimKind("above-chance", place=2, find=find)
