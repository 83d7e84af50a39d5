"""Adapted models end better than the base model in the adapted language.

Whether a difference is more than chance is told by the comparison item by item where a table shows
one, else by the errors of both averages, over items and, of runs that have any, over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from revocab.evaluation.over_seeds import Difference, all_of, tell
from revocab.languages import language_label
from revocab.report.annotations import Run
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Record, Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.table_parts.table import Cell
from revocab.report.tables.significance import is_marked
from revocab.report.values.run_value import difference
from revocab.report.values.task_scores import TaskScore

#: The checkpoint at which runs are compared with their base model.
STEP = "last"


@dataclass(frozen=True)
class Gain:
    """Whether a run is above its base model, and what is said of chance behind its value."""

    above: bool | None
    chance: str = ""


def find(results: Results) -> Iterator[Claim]:
    for group in results.experiment.runs:
        language = adapted_language(results, group)
        if language is None:
            continue
        average, base = TaskScore.average(language, STEP), results.base(group)
        level = average.cell(results, base)
        if level.value is None:
            continue
        compared = comparisons(results, group, average_task(language))
        runs = [run for run in results.group(group) if run.trains]
        differences = {
            run.id: found
            for run in runs
            if (found := difference(results, (average, run), (average, base))) is not None
        }
        adapted = [
            (
                method_label(run),
                average.cell(results, run),
                gain_of(differences[run.id], len(differences), compared.get((run.id, base.id))),
            )
            for run in runs
            if run.id in differences
        ]
        if adapted:
            yield claim(base, language_label(language), level, adapted)


def claim(base: Run, language: str, level: Cell, adapted: list[tuple[str, Cell, Gain]]) -> Claim:
    listed = [f"{name} {percent(cell)}{gain.chance}" for name, cell, gain in adapted]
    return Claim(
        f"{base.label}: at the last checkpoint every adapted model beats the base model's "
        f"{language} average",
        f"base {percent(level)}; {', '.join(listed)}",
        all_of(gain.above for _, _, gain in adapted),
    )


def comparisons(results: Results, group: str, task: str) -> dict[tuple[str, str], Record]:
    """Return the comparisons of a group's runs on a task by pair, in both orders, with the sign of
    the difference; none where no table shows them.
    """
    shown = {pair for table in results.experiment.tables.values() for pair in table.compared()}
    if (group, STEP) not in shown:
        return {}
    differences: dict[tuple[str, str], Record] = {}
    for row in results.csv("significance", group, "significance.csv"):
        if (row["step"], row["task"], row["metric"]) == (STEP, task, AVERAGE):
            difference = float(row["difference"])
            differences[row["run"], row["other"]] = {**row, "difference": difference}
            differences[row["other"], row["run"]] = {**row, "difference": -difference}
    return differences


def gain_of(found: Difference, runs: int, compared: Record | None = None) -> Gain:
    """Return what is known of a run's difference to its base model, one of so many.

    That all are above it needs each interval by itself; that one is below it, all at once.
    """
    if compared is not None:
        chance = f" (p {float(compared['p_holm']):.3g}" if compared["p_holm"] else " (no p"
        chance += f", {compared['seeds']} seeds)" if compared.get("seeds") else ")"
        return Gain(compared["difference"] > 0 if is_marked(compared) else None, chance)
    alone, at_once = found.interval(), found.interval(runs)
    if alone is None or at_once is None:
        return Gain(None, " (no error known)")
    ends = " to ".join(f"{100 * end:+.2f}" for end in alone)
    seeds = f" over items and {found.seeds} seeds" if found.seeds > 1 else " over items"
    return Gain(tell(alone[0], at_once[1]), f" (95 % interval of the gain{seeds} {ends})")


def percent(cell: Cell) -> str:
    error = f"±{100 * cell.stderr:.2f}" if cell.stderr else ""
    return f"{100 * (cell.value or 0):.2f}{error}"


CLAIMS = ClaimKind("beats-base", place=5, find=find)
