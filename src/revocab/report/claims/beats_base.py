"""Adapted models end better than the base model in the adapted language.

Whether a difference is more than chance is told by the comparison item by item where a table shows
one, else by a run's seeds; without either, the two values decide, and the claim says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from revocab.evaluation.over_seeds import paired_interval
from revocab.languages import language_label
from revocab.report.annotations import Run
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Record, Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.table_parts.table import Cell
from revocab.report.tables.significance import is_marked
from revocab.report.values.task_scores import TaskScore

#: The checkpoint at which runs are compared with their base model.
STEP = "last"


@dataclass(frozen=True)
class Gain:
    """A run's difference to its base model: whether it is above 0, and how chance was judged."""

    above: bool
    #: What is said of chance behind the run's value; nothing is known of it if this is empty.
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
        adapted: list[tuple[str, Cell, Gain]] = []
        for run in results.group(group):
            cell = average.cell(results, run)
            if run.trains and cell.value is not None:
                by_seed = list(average.by_seed(results, run).values())
                row = compared.get((run.id, base.id))
                gain = gain_of(cell.value, by_seed, level.value, row)
                adapted.append((method_label(run), cell, gain))
        if adapted:
            yield claim(base, language_label(language), level, adapted)


def claim(base: Run, language: str, level: Cell, adapted: list[tuple[str, Cell, Gain]]) -> Claim:
    listed = [f"{name} {percent(cell)}{gain.chance}" for name, cell, gain in adapted]
    unknown = [name for name, _, gain in adapted if not gain.chance]
    more = " by more than chance" if not unknown else ""
    numbers = f"base {percent(level)}; {', '.join(listed)}"
    if unknown:
        runs = "all" if len(unknown) == len(adapted) else ", ".join(unknown)
        numbers += f"; values alone, neither compared by item nor over seeds: {runs}"
    return Claim(
        f"{base.label}: at the last checkpoint every adapted model beats the base model's "
        f"{language} average{more}",
        numbers,
        all(gain.above for _, _, gain in adapted),
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


def gain_of(value: float, by_seed: list[float], level: float, compared: Record | None) -> Gain:
    if compared is not None:
        chance = f" (p {float(compared['p_holm']):.3g}"
        chance += f", {compared['seeds']} seeds)" if compared.get("seeds") else ")"
        return Gain(compared["difference"] > 0 and is_marked(compared), chance)
    over = paired_interval(by_seed, [level] * len(by_seed))
    if over is not None:
        low, high = (f"{100 * end:+.2f}" for end in (over.low, over.high))
        return Gain(over.low > 0, f" (95 % interval over {over.seeds} seeds {low} to {high})")
    return Gain(value > level)


def percent(cell: Cell) -> str:
    error = f"±{100 * cell.stderr:.2f}" if cell.stderr else ""
    return f"{100 * (cell.value or 0):.2f}{error}"


CLAIMS = ClaimKind("beats-base", place=5, find=find)
