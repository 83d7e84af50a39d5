"""A paper's published values: CSV files with a line per value, such as ``config/published/sava``.

A value is addressed as the table's CSV file names its cell: ``table`` is the id in the experiment,
``block`` the heading above the row (empty: none), ``row`` the first cell. With :data:`SCORES` for a
table it is a run's score, at its :func:`score_place`, and stands beside ours in whatever table or
figure shows it. Values are in the unit shown. A note stands under the table: of a cell, say, that
contradicts the average which the paper prints beside it.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from pydantic import model_validator

from revocab.closed import Closed, OneLine, checked
from revocab.errors import RevocabError, all_of, refuse
from revocab.io import read_csv
from revocab.links import check_links

COLUMNS = ("table", "block", "row", "column", "value", "stderr", "note")
#: The table of values that are scores of runs.
SCORES = "scores"


def score_place(label: str, step: int, run: str, column: str) -> tuple[str, str, str]:
    """Return where the score of a run (its name) of a source model (its label) stands; ``column``:
    a multiple-choice task, ``average_LANGUAGE``, ``similarity_helper``, or ``TASK METRIC``.
    """
    return f"{label}, {step} steps", run, column


class PublishedCell(Closed):
    """A line; without a ``value`` the paper prints none, and a note says why."""

    table: OneLine
    block: str = ""
    row: OneLine
    column: OneLine
    value: float | None = None
    stderr: float | None = None
    note: str = ""
    #: Shown behind the value (``table.py``).
    mark: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> PublishedCell:
        if self.value is None and not self.note:
            raise ValueError("give a value, or a note that says why there is none")
        return self

    @property
    def place(self) -> tuple[str, str, str]:
        return self.block, self.row, self.column

    def label(self, parts: int = 3) -> str:
        return ", ".join(filter(None, self.place[:parts]))


class PaperValues:
    """The values of a folder; none without one."""

    def __init__(self, folder: str | Path | None = None):
        self._lines = read_lines(Path(folder)) if folder is not None else []
        self._values = {cell.place: cell.value for cell in reversed(self._lines)}

    def __bool__(self) -> bool:
        return bool(self.cells(SCORES))

    def cells(self, table: str) -> list[PublishedCell]:
        return [cell for cell in self._lines if cell.table == table]

    def value(self, block: str, row: str, column: str) -> float | None:
        """Return what the first table that names the place prints there."""
        return self._values.get((block, row, column))


def read_lines(folder: Path) -> list[PublishedCell]:
    """Return the lines of all files; raise :class:`RevocabError` naming every one that is wrong."""
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise RevocabError(f"paper_values: {folder} has no CSV file; see docs/tables.md")
    check_links(folder, [file.name for file in files])
    read = all_of(partial(read_csv, path, COLUMNS) for path in files)
    lines = [
        (f"{path}, line {line}", {name: text for name, text in row.items() if text})
        for path, rows in zip(files, read, strict=True)
        for line, row in enumerate(rows, start=2)
    ]
    cells = all_of(partial(checked, PublishedCell, line, where) for where, line in lines)
    named: dict[tuple[str, ...], list[str]] = {}
    for (where, _), cell in zip(lines, cells, strict=True):
        named.setdefault((cell.table, *cell.place), []).append(where)
    refuse(
        f"{' and '.join(wheres)}: {', '.join(filter(None, place))}: keep one of these"
        for place, wheres in named.items()
        if len(wheres) > 1
    )
    return cells


def read_published(folder: str | Path | None) -> PaperValues:
    """Return the published values of a folder; it is read again only where a file has changed."""
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    return _read(folder, tuple((file.name, file.stat().st_mtime_ns) for file in files))


@cache
def _read(folder: str | Path | None, files: tuple[tuple[str, int], ...]) -> PaperValues:
    return PaperValues(folder)
