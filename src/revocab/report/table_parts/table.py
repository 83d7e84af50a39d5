"""What a table is before it becomes CSV, Markdown, LaTeX or HTML: cells with values, not text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

#: Which of two values is the better one.
Better = Literal["higher", "lower"]

MISSING = "–"
#: Marks behind published values: of other items or tasks than ours, so that they are compared with
#: nothing; and means of published values, over the tasks that are scored here.
OTHERWISE, RECOMPUTED = "‡", "†"
#: What a cell has for comparisons with others alone, and no file of a table.
COMPARED = ("by_seed", "exact", "better")


@dataclass
class Cell:
    """A number with its error, its published counterpart and its origin; or a text.

    ``scale`` multiplies value, error and published value when they are shown (100: per cent).
    """

    value: float | None = None
    stderr: float | None = None
    published: float | None = None
    #: ``OTHERWISE`` or ``RECOMPUTED``, shown behind the published value.
    published_mark: str = ""
    text: str | None = None
    scale: float = 1.0
    digits: int = 2
    mark: Literal["best", "second"] | None = None
    #: File that the value was read from, relative to the results folder.
    provenance: str | None = None
    #: 95 % bootstrap interval, in the unit of ``value``.
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    #: Standard deviation over seeds, of which ``value`` is the mean, in the unit of ``value``.
    deviation: float | None = None
    #: 95 % interval over seeds, and their number. Without ``interval`` it is shown.
    seed_interval: tuple[float, float] | None = None
    seeds: int | None = None
    #: Values by seed, ascending; none of what is not trained and has no replicates.
    by_seed: dict[int, float] = field(default_factory=dict)
    #: Whether it has no error: a count or a measure of a tokenizer.
    exact: bool = False
    better: Better | None = None

    def number(self) -> str:
        """Return our value as shown, with its error and its deviation over seeds, or a dash."""
        if self.value is None:
            return MISSING
        shown = decimal(self.value * self.scale, self.digits)
        if self.stderr is not None:
            shown += f"±{self.stderr * self.scale:.{self.digits}f}"
        if self.deviation is not None and (self.deviation or self.digits):  # a count: no "[0]"
            shown += f" [{self.deviation * self.scale:.{self.digits}f}]"
        if self.seed_interval is not None and self.interval is None:
            low, high = self.seed_interval
            shown += f"±{(high - low) / 2 * self.scale:.{self.digits}f}"
        return shown

    def published_number(self) -> str | None:
        if self.published is None:
            return None
        return f"{self.published * self.scale:.{self.digits}f}{self.published_mark}"

    def compared(self) -> float | None:
        """Return the published value, if it is of what ours is of."""
        return None if self.published_mark == OTHERWISE else self.published

    def shown(self) -> float | None:
        if self.value is None:
            return None
        return round(self.value * self.scale, self.digits)

    def interval_text(self) -> str | None:
        parts = []
        for interval, over in (
            (self.interval, ""),
            (self.seed_interval, f"over {self.seeds} seeds "),
        ):
            if interval is not None:
                ends = (decimal(bound * self.scale, self.digits) for bound in interval)
                parts.append(f"{over}{' to '.join(ends)}")
        if self.interval is not None and self.p_value is not None:
            parts[0] += f", p {self.p_value:.3g}"
        return f"95 % interval {'; '.join(parts)}" if parts else None

    def is_from_a_file(self) -> bool:
        """Return whether the value was read from a path in the results folder."""
        return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", self.provenance or "") is not None


@dataclass
class Row:
    """A row of a table; with ``section`` set, a heading over the rows that follow."""

    cells: list[Cell] = field(default_factory=list)
    section: str | None = None


@dataclass
class Table:
    """A table: one header per column, the first column naming the row.

    ``over`` holds the headers above the headers, one per column (equal neighbours are joined), and
    ``texts`` says that cells hold long text. ``notes`` stand under the table.
    """

    header: list[str]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    over: list[str] | None = None
    texts: bool = False
    #: Columns of a table of texts in LaTeX, where these do not share the page alike.
    latex_columns: str | None = None
    #: Its id, kind and title in the experiment.
    identifier: str = ""
    kind: str = ""
    title: str = ""
    #: How the scores are limited; the title says so wherever it is shown.
    limited: str | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Table:
        rows = [
            Row([Cell(**cell) for cell in row["cells"]], row["section"]) for row in data["rows"]
        ]
        return cls(**{**data, "rows": rows})

    def as_data(self) -> dict[str, Any]:
        """Return the table as JSON holds it, its cells without what they do not have."""
        usual = {k: v for k, v in asdict(Cell()).items() if k not in COMPARED}
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            cells = [
                {k: v for k in usual if (v := getattr(cell, k)) != usual[k]} for cell in row.cells
            ]
            rows.append({"cells": cells, "section": row.section})
        return {**asdict(self), "rows": rows}

    @property
    def columns(self) -> list[str]:
        if self.over is None:
            return self.header
        return [f"{over} {name}".strip() for over, name in zip(self.over, self.header, strict=True)]

    def shown_title(self) -> str:
        return f"{self.title} [{self.limited}]" if self.limited else self.title

    def rows_in_blocks(self) -> Iterator[tuple[str, Row]]:
        """Yield every row that is no heading, with the heading above it (empty: none)."""
        block = ""
        for row in self.rows:
            if row.section is None:
                yield block, row
            else:
                block = row.section

    def data_rows(self) -> list[Row]:
        return [row for _, row in self.rows_in_blocks()]

    def cells(self) -> list[Cell]:
        return [cell for row in self.rows for cell in row.cells]

    def places(self) -> dict[tuple[str, str, str], Cell]:
        """Return the cells by block, row and column, as the table's CSV file names them."""
        return {
            (block, row.cells[0].text or "", name): cell
            for block, row in self.rows_in_blocks()
            for name, cell in zip(self.columns[1:], row.cells[1:], strict=True)
        }


def decimal(value: float, digits: int) -> str:
    """Return a number with so many digits after the point; nothing is written as minus zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def text(content: str, provenance: str | None = None) -> Cell:
    return Cell(text=content, provenance=provenance)


def mark_columns(rows: Sequence[Row], better: Sequence[Better | None]) -> None:
    """Mark the best and second-best values of every column but the first, the label."""
    for column, best in enumerate(better, start=1):
        if best is not None:
            mark_cells([row.cells[column] for row in rows], best)


def mark_cells(cells: Sequence[Cell], better: Better = "higher") -> None:
    """Mark the best and the second-best of some values; equal values share their mark.

    Where fewer than two different values stand, nothing is marked.
    """
    numbers = [cell for cell in cells if cell.text is None]
    shown = {value for c in numbers if (value := c.shown()) is not None}
    values = sorted(shown, reverse=better == "higher")
    if len(values) < 2:
        return
    for cell in numbers:
        if cell.shown() == values[0]:
            cell.mark = "best"
        elif cell.shown() == values[1]:
            cell.mark = "second"
