"""Published values of any table, addressed as the table's CSV file names its cells.

A file of them has a line per value: table, block, row, column, value, stderr, note. ``table`` is
the id in the experiment, ``block`` the heading above the row (empty: none), ``row`` the first cell,
``column`` the column's name in the CSV file. Values are in the unit shown. A note stands under the
table: of a cell, say, that contradicts the average which the paper prints beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from revocab.errors import RevocabError

HEADER = ("table", "block", "row", "column", "value", "stderr", "note")
#: Columns that every line fills.
NEEDED = ("table", "row", "column")


@dataclass(frozen=True)
class PublishedCell:
    """One line of such a file; without a ``value`` the paper prints none, and a note says why."""

    table: str
    block: str
    row: str
    column: str
    value: float | None
    stderr: float | None
    note: str

    @property
    def place(self) -> tuple[str, str, str]:
        return self.block, self.row, self.column

    def told(self) -> str:
        return ", ".join(filter(None, self.place))

    def told_row(self) -> str:
        return ", ".join(filter(None, self.place[:2]))


def read_cells(path: Path, rows: Sequence[dict[str, str]]) -> list[PublishedCell]:
    """Return the cells of a file; raise :class:`RevocabError` naming every line that is wrong."""
    problems = [
        f"{path}, line {line}: {problem}"
        for line, row in enumerate(rows, start=2)
        for problem in line_problems(row)
    ]
    if problems:
        raise RevocabError(problems)
    found = [
        PublishedCell(
            **{key: row[key] or "" for key in ("table", "block", "row", "column", "note")},
            value=float(row["value"]) if row["value"] else None,
            stderr=float(row["stderr"]) if row["stderr"] else None,
        )
        for row in rows
    ]
    places = [(one.table, *one.place) for one in found]
    twice = {place for place in places if places.count(place) > 1}
    if twice:
        raise RevocabError(
            f"{path}: {', '.join(filter(None, place))}: given {places.count(place)} times; keep one"
            for place in sorted(twice)
        )
    return found


def line_problems(row: dict[str, str]) -> Iterator[str]:
    for name in NEEDED:
        if not row[name]:
            yield f"{name} is empty; every line names {', '.join(NEEDED)}"
    for name in ("value", "stderr"):
        if row[name] and not is_number(row[name]):
            yield f"{name}: {row[name]!r} is not a number; give one, or leave it empty"
    if not row["value"] and not row["note"]:
        yield "value and note are empty; give a value, or a note that says why there is none"


def is_number(content: str) -> bool:
    try:
        return math.isfinite(float(content))
    except ValueError:
        return False
