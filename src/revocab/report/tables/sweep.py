"""One value of the runs of a sweep: an axis down, another across."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from revocab.report import notes
from revocab.report.kind import TableKind
from revocab.report.results import Results
from revocab.report.table_parts.seed_cells import cells_over_seeds
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, mark_cells, text
from revocab.report.values.sweep_grid import (
    SweepOptions,
    grid_of,
    sweep_limited,
    sweep_needs,
    sweep_problems,
    sweep_scores,
    values_of,
)

if TYPE_CHECKING:
    from revocab.report.values.sweep_grid import Grid


class SweepTable(SweepOptions):
    """Two axes of a sweep as rows and columns."""

    kind: Literal["sweep"]


def build(results: Results, identifier: str, options: SweepTable) -> Table:
    """Return a row per value of one axis and a column per value of the other."""
    grid = grid_of(results.experiment, options)
    value, (down, across) = options.value.value, values_of(grid)
    rows = [
        Row([text(one), *[cell_at(results, options, grid, one, other) for other in across]])
        for one in down
    ]
    if value.better is not None:
        mark_cells([cell for row in rows for cell in row.cells], lowest=value.better == "lower")
    return Table(
        identifier,
        options.kind,
        options.title,
        [f"{options.rows} / {options.columns}", *across],
        rows,
        [
            f"{options.value.header}; {options.rows} down, {options.columns} across"
            + (". Best in bold, second underlined." if value.better else "."),
            *value.notes(results, options.value.header),
            *notes.seeds_of(results, grid.values()),
            *notes.synthetic(results),
        ],
    )


def cell_at(results: Results, options: SweepOptions, grid: Grid, row: str, column: str) -> Cell:
    """Return the value at one place; a dash where no run stands."""
    run = grid.get((row, column))
    if run is None:
        return text(MISSING)
    value = options.value.value
    return cells_over_seeds(results, results.run(run), lambda one: [value.cell(results, one)])[0]


TABLE = TableKind(
    options=SweepTable,
    build=build,
    problems=sweep_problems,
    needs=sweep_needs,
    scores=sweep_scores,
    limited=sweep_limited,
)
