"""One value of the runs of a sweep: an axis down, another across."""

from __future__ import annotations

from typing import Literal

from revocab.report import notes
from revocab.report.kind import TableOptions
from revocab.report.results import Results
from revocab.report.table_parts.sweep_grid import SweepOptions, values_of
from revocab.report.table_parts.table import Table, mark_cells


class SweepTable(SweepOptions, TableOptions):
    """Two axes of a sweep as rows and columns."""

    kind: Literal["sweep"]

    def build(self, results: Results) -> Table:
        grid, value = self.grid(results.experiment), self.value.value
        _, across = values_of(grid)
        rows = self.rows_shown(results)
        if value.better is not None:
            mark_cells([cell for row in rows for cell in row.cells[1:]], value.better)
        header = [f"{self.rows} / {self.columns}", *across]
        note = f"{self.value.header}; {self.rows} down, {self.columns} across"
        note += ". Best in bold, second underlined." if value.better else "."
        said = [note, *value.notes(results, self.value.header)]
        return Table(header, rows, [*said, *notes.seeds_of(results, grid.values())])


TABLE = SweepTable
