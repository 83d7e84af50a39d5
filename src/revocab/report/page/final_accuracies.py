"""What final averages of multiple-choice scores can tell apart: said first in the report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from revocab.languages import language_label
from revocab.report.values.task_scores import TaskScore

if TYPE_CHECKING:
    from revocab.report.results import Results

#: Standard normal quantile of a 95 % interval.
TWO_SIDED = 1.96
ONE_SEED = (
    "Each run was trained with one seed, so these averages do not show how much another seed would "
    "change."
)


def final_accuracies(results: Results) -> list[str]:
    """Return one note on the final averages of every group and language; none without two runs."""
    lines = list(_lines(results))
    if not lines:
        return []
    compared = [run for group in results.experiment.runs for run in results.group(group)]
    trained = [run for run in compared if run.trains]
    lone = all(len(results.replicates(run)) == 1 for run in trained)
    return [f"Final accuracies: {' '.join([*lines, *([ONE_SEED] if lone else [])])}"]


def _lines(results: Results) -> Iterator[str]:
    tasks = results.experiment.evaluation.multiple_choice.tasks.values()
    for group, given in results.experiment.runs.items():
        runs = [run for run in results.group(group) if run.trains]
        for language in dict.fromkeys(one.language for one in tasks):
            average = TaskScore.average(language)
            cells = [average.cell(results, run) for run in runs]
            found = [(c.value, c.stderr) for c in cells if c.value is not None and c.stderr]
            if len(found) > 1:
                yield line(f"{given.label}, {language_label(language)}", found)


def line(name: str, found: list[tuple[float, float]]) -> str:
    """Return the sentence on averages with their standard errors over items, as fractions.

    Two averages on the same items vary together, so that the reach of independent ones is an upper
    bound.
    """
    values = [value for value, _ in found]
    spread = max(values) - min(values)
    reach = TWO_SIDED * math.sqrt(2) * max(error for _, error in found)
    verdict = (
        "they do not rank the methods" if spread < reach else "only larger differences rank methods"
    )
    return (
        f"{name}: {len(found)} runs end within {100 * spread:.1f} points of each other, and "
        f"the items alone can make two of them differ by up to {100 * reach:.1f} (95 %): {verdict}."
    )
