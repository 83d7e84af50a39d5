"""Rows of score tables: the base model, and a block of a group's runs for every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from revocab.evaluation.over_seeds import deviation
from revocab.report.names import method_label
from revocab.report.table_parts.table import Cell, Row, mark_best, text

if TYPE_CHECKING:
    from revocab.closed import Step
    from revocab.config.expand import Run
    from revocab.report.published.paper_values import Published
    from revocab.report.results import Record, Results

    #: From a run and a step to the cells right of its label.
    CellsOf = Callable[[Run, int], list[Cell]]


def blocks(
    results: Results, group: str, wanted: list[Step]
) -> Iterator[tuple[str, list[tuple[Run, int]]]]:
    """Yield a heading and (run, step) pairs of a group's evaluated runs: of those that are not
    trained, then of the others for every wanted step.
    """
    made = [run for run in results.group(group) if run.made]
    trained = [run for run in made if run.trains]
    untrained = [(run, 0) for run in made if not run.trains]
    if untrained:
        yield "Not trained", untrained
    for step in dict.fromkeys(wanted):
        pairs = [(run, one) for run in trained for one in run.select([step])]
        steps = sorted({one for _, one in pairs})
        if len(steps) == 1:
            yield f"{steps[0]} training steps", pairs
        elif steps:
            listed = ", ".join(map(str, steps))
            yield f"{str(step).capitalize()} checkpoint ({listed} steps)", pairs


def score_rows(results: Results, group: str, wanted: list[Step], cells: CellsOf) -> list[Row]:
    """Return rows of the base model and references, then one block per step, best and second marked
    within each block.
    """
    as_they_are = [run for run in results.group(group) if not run.made]
    rows = [Row([text(method_label(run)), *cells(run, 0)]) for run in as_they_are]
    shown: set[str] = set()
    for heading, pairs in blocks(results, group, wanted):
        if heading in shown:  # "first" and "last" of a run with one checkpoint
            continue
        shown.add(heading)
        block = [Row([text(method_label(run)), *cells(run, step)]) for run, step in pairs]
        mark_best(block)
        rows += [Row(section=heading), *block]
    return rows


def score_cell(score: Record | None, published: Published | None, scale: float = 1) -> Cell:
    """Return the cell of a row of ``scores.parquet`` (None: not there yet)."""
    if score is None:
        return Cell(published=published, scale=scale)
    low, high = score.get("low"), score.get("high")
    return Cell(
        score["value"],
        score["stderr"],
        published,
        scale=scale,
        provenance=score["provenance"],
        interval=None if low is None or high is None else (low, high),
        deviation=deviation(score.get("by_seed", ())),
    )
