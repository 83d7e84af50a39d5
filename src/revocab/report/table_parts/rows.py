"""Rows of tables whose rows are runs: chosen ones, or a group's in blocks by training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from revocab.report.names import method_label
from revocab.report.table_parts.table import Row, mark_columns, text

if TYPE_CHECKING:
    from revocab.closed import Step
    from revocab.config.expand import Run
    from revocab.report.results import Results
    from revocab.report.table_parts.table import Cell
    from revocab.report.values.run_value import RunValue


def run_rows(results: Results, runs: Sequence[str], values: Sequence[RunValue]) -> list[Row]:
    """Return a row per run in the order given; where groups differ, under headings of groups.

    Models that no method made are not ranked.
    """
    chosen = [results.run(run) for run in runs]
    headed = len({run.group for run in chosen}) > 1
    rows: list[Row] = []
    ranked: list[Row] = []
    for _, members in groupby(chosen, key=lambda run: run.group):
        for place, run in enumerate(members):
            if headed and place == 0:
                rows.append(Row(section=results.model_label(run)))
            cells = [value.cell(results, run) for value in values]
            rows.append(Row([text(method_label(run)), *cells]))
            ranked += rows[-1:] if run.made else []
    mark_columns(ranked, [value.better for value in values])
    return rows


def blocks(
    results: Results, group: str, wanted: Sequence[Step]
) -> Iterator[tuple[str, list[tuple[Run, int]]]]:
    """Yield a heading and (run, step) pairs of a group's evaluated runs: of those that are not
    trained, then of the others for every wanted step.
    """
    made = [run for run in results.group(group) if run.made]
    untrained = [(run, 0) for run in made if not run.trains]
    if untrained:
        yield "Not trained", untrained
    headings: set[str] = set()
    for step in dict.fromkeys(wanted):
        pairs = [(run, at) for run in made if run.trains for at in run.select([step])]
        steps = sorted({at for _, at in pairs})
        listed = ", ".join(map(str, steps))
        heading = f"{str(step).capitalize()} checkpoint ({listed} steps)"
        if len(steps) == 1:
            heading = f"{listed} training steps"
        if steps and heading not in headings:  # "first" and "last" of a run with one checkpoint
            headings.add(heading)
            yield heading, pairs


def score_rows(
    results: Results, group: str, wanted: Sequence[Step], cells: Callable[[Run, int], list[Cell]]
) -> list[Row]:
    """Return rows of the base model and references, then one block per step, best and second marked
    within each block.

    ``cells``: from a run and a step to the cells right of its label.
    """
    as_they_are = [run for run in results.group(group) if not run.made]
    rows = [Row([text(method_label(run)), *cells(run, 0)]) for run in as_they_are]
    for heading, pairs in blocks(results, group, wanted):
        block = [Row([text(method_label(run)), *cells(run, step)]) for run, step in pairs]
        mark_columns(block, ["higher"] * (len(block[0].cells) - 1))
        rows += [Row(section=heading), *block]
    return rows
