"""What tables with headers above their headers lack: the common check reads single headers only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revocab.report.table_parts.render import columns
from revocab.report.table_parts.table import Table


def empty_cells(path: Path, table: Table, rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield a line for every missing number; a number that cannot exist is a text instead."""
    for row in table.data_rows():
        for name, cell in zip(columns(table), row.cells, strict=True):
            if cell.text is None and cell.value is None:
                yield f"{path}: {row.cells[0].text}: no {name}"
