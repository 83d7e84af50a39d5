"""Rows of tables that compare named runs, of one group or of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from revocab.report import notes
from revocab.report.names import method_label
from revocab.report.table_parts.seed_cells import cells_over_seeds
from revocab.report.table_parts.table import Row, mark_column, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.report.results import Results
    from revocab.report.table_parts.table import Cell

#: Which of two values is the better one.
Better = Literal["higher", "lower"]
RANKED = "Best in bold, second underlined; unadapted models are not ranked."


def run_rows(
    results: Results,
    runs: Sequence[str],
    cells: Callable[[Run], list[Cell]],
    better: Sequence[Better | None],
) -> list[Row]:
    """Return a row per run in the order given; where groups differ, under headings of groups.

    ``better`` says of every column which value is the best; models that no method made are not
    ranked.
    """
    found = [results.run(one) for one in runs]
    headed = len({run.group for run in found}) > 1
    rows: list[Row] = []
    ranked: list[Row] = []
    for _, members in groupby(found, key=lambda run: run.group):
        block = [
            (run, Row([text(method_label(run)), *cells_over_seeds(results, run, cells)]))
            for run in members
        ]
        if headed:
            rows.append(Row(section=results.model_label(block[0][0])))
        rows += [row for _, row in block]
        ranked += [row for run, row in block if run.made]
    for column, best in enumerate(better, start=1):
        if best is not None:
            mark_column(ranked, column, lowest=best == "lower")
    return rows


def run_notes(results: Results, runs: Sequence[str]) -> list[str]:
    """Return the notes under a table of such rows: how they are ranked, seeds, synthetic text."""
    return [RANKED, *notes.seeds_of(results, runs), *notes.synthetic(results)]
