"""What a table is before it becomes CSV, Markdown, LaTeX or HTML: cells with values, not text; and
what is computed of these: means over seeds and languages, and differences with errors.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from revocab.evaluation.over_seeds import FEWEST_SEEDS, NORMAL_95, Difference, deviation
from revocab.io import cell_of

#: Which of two values is the better one.
Better = Literal["higher", "lower"]

MISSING = "–"
#: Marks behind published values: of other items or tasks than ours, so that they are compared with
#: nothing; and means of published values, over the tasks that are scored here.
OTHERWISE, RECOMPUTED = "‡", "†"


@dataclass
class Cell:
    """A number with its error, its published counterpart and its origin; or a text. ``scale``
    multiplies value, error and published value when they are shown (100: per cent).
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
    # For comparisons with other cells alone.
    #: Values by seed, ascending; none of what is not trained and has no replicates.
    by_seed: dict[int, float] = field(default_factory=dict)
    #: Whether it has no error: a count or a measure of a tokenizer.
    exact: bool = False
    better: Better | None = None

    def number(self) -> str:
        """Return our value as shown, with its error and its deviation over seeds, or a dash."""
        if self.value is None:
            return MISSING
        number = self.scaled(self.value)
        if self.stderr is not None:
            number += f"±{self.scaled(self.stderr)}"
        if self.deviation is not None and (self.deviation or self.digits):  # a count: no "[0]"
            number += f" [{self.scaled(self.deviation)}]"
        if self.seed_interval is not None and self.interval is None:
            low, high = self.seed_interval
            number += f"±{self.scaled((high - low) / 2)}"
        return number

    def scaled(self, value: float) -> str:
        """Return a number in the unit and with the digits of this cell."""
        return decimal(value * self.scale, self.digits)

    def published_number(self) -> str | None:
        if self.published is None:
            return None
        return f"{self.scaled(self.published)}{self.published_mark}"

    def compared(self) -> float | None:
        """Return the published value, if it is of what ours is of."""
        return None if self.published_mark == OTHERWISE else self.published

    def difference(self) -> float | None:
        """Return our value minus the published one, in the unit shown; None without either."""
        compared = self.compared()
        if self.value is None or compared is None:
            return None
        return (self.value - compared) * self.scale

    def noise(self) -> float | None:
        """Return how far chance reaches, in the unit shown: 1.96 standard errors over items and
        deviations over seeds, as far as ours has them; None where there is neither.
        """
        errors = [error for error in (self.stderr, self.deviation) if error]
        return NORMAL_95 * math.hypot(*errors) * self.scale if errors else None

    def rounded(self) -> float | None:
        return None if self.value is None else round(self.value * self.scale, self.digits)

    def is_from_a_file(self) -> bool:
        """Return whether the value was read from a path in the results folder."""
        return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", self.provenance or "") is not None

    def numbers(self) -> dict[str, str]:
        """Return what CSV has of the cell, in the unit shown and with full digits, by what follows
        the name of its column. What is published of other items or tasks stands apart.
        """
        low, high = self.interval or (None, None)
        seeds_low, seeds_high = self.seed_interval or (None, None)
        compared = self.compared()
        values = {
            "": self.value,
            " stderr": self.stderr,
            " low": low,
            " high": high,
            " p": self.p_value,
            " deviation": self.deviation,
            " seeds low": seeds_low,
            " seeds high": seeds_high,
            " published": compared,
            " published otherwise": self.published if compared is None else None,
        }
        numbers = dict.fromkeys(values, "")
        for more, value in values.items():
            if value is not None:
                numbers[more] = repr(round(value * (1 if more == " p" else self.scale), 6))
        return numbers if self.text in (None, MISSING) else {**numbers, "": self.text}


@dataclass
class Row:
    """A row of a table; with ``section`` set, a heading over the rows that follow."""

    cells: list[Cell] = field(default_factory=list)
    section: str | None = None


@dataclass
class Table:
    """A table: one header per column, the first column naming the row. ``over`` holds the headers
    above the headers, one per column (equal neighbours are joined), and ``texts`` says that cells
    hold long text. ``notes`` stand under the table.
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

    def as_csv(self) -> str:
        """Return the numbers of the table, one row each. A column has further ones where a number
        of it has more to say. The column ``block`` names the heading above a row, ``limited`` says
        how the scores are limited.
        """
        rows = [
            {"block": block, "limited": self.limited}
            | {
                f"{name}{more}": number
                for name, cell in zip(self.columns, row.cells, strict=True)
                for more, number in cell.numbers().items()
            }
            for block, row in self.rows_in_blocks()
        ]
        names = ["block"] * any(row.section for row in self.rows)
        names += [
            f"{name}{more}"
            for name in self.columns
            for more in Cell().numbers()
            if not more or any(row[f"{name}{more}"] for row in rows)
        ]
        names += ["limited"] * bool(self.limited)
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(map(cell_of, names))
        writer.writerows([cell_of(row[name]) for name in names] for row in rows)
        return buffer.getvalue()

    @property
    def columns(self) -> list[str]:
        if self.over is None:
            return self.header
        return [f"{over} {name}".strip() for over, name in zip(self.over, self.header, strict=True)]

    def full_title(self) -> str:
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


def mark_cells(cells: Sequence[Cell], better: Better = "higher") -> None:
    """Mark the best and the second-best of some values; equal values share their mark. Where fewer
    than two different values stand, nothing is marked.
    """
    numbers = [cell for cell in cells if cell.text is None]
    values = {value for cell in numbers if (value := cell.rounded()) is not None}
    if len(values) < 2:
        return
    best, second, *_ = sorted(values, reverse=better == "higher")
    for cell in numbers:
        if cell.rounded() == best:
            cell.mark = "best"
        elif cell.rounded() == second:
            cell.mark = "second"


def mean_over_seeds(cells: Sequence[Cell]) -> Cell:
    """Return the mean of the cells of replicates; of texts that differ a dash, of a missing number
    none.
    """
    first = cells[0]
    if len(cells) == 1:
        return first
    if any(cell.text is not None for cell in cells):
        return first if len({cell.text for cell in cells}) == 1 else text(MISSING)
    values = [cell.value for cell in cells if cell.value is not None]
    errors = [cell.stderr for cell in cells if cell.stderr is not None]
    mean = replace(first, value=None, stderr=None, interval=None)
    if len(values) == len(cells):
        mean.value, mean.deviation, mean.seeds = fmean(values), deviation(values), len(values)
        mean.stderr = fmean(errors) if len(errors) == len(cells) else None
    return mean


def average_cells(rows: Sequence[Sequence[Cell]]) -> list[Cell]:
    """Return the mean of every column of some rows; without a value where one is missing."""
    return [mean_cell(column) for column in zip(*rows, strict=True)]


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of values with its error, items being independent and seeds the same."""
    values = [cell.value for cell in cells if cell.value is not None]
    errors = [cell.stderr for cell in cells if cell.stderr is not None]
    spreads = [cell.deviation for cell in cells if cell.deviation is not None]
    if any(cell.text is not None for cell in cells):
        return text(MISSING)
    mean = Cell(published_mark=max(cell.published_mark for cell in cells))
    if len(values) == len(cells):
        mean.value, mean.digits = fmean(values), cells[0].digits
        mean.stderr = math.hypot(*errors) / len(cells) if len(errors) == len(cells) else None
        mean.deviation = fmean(spreads) if len(spreads) == len(cells) else None
        mean.seeds = min((cell.seeds for cell in cells if cell.seeds), default=None)
    return mean


def difference(first: Cell, second: Cell) -> Difference | None:
    """Return a value minus another, with its errors; None where one is missing. Items are
    independent, and so are seeds, of which equal ones are paired. Without errors over items it is
    known where all that is trained has enough seeds.
    """
    if first.value is None or second.value is None:
        return None
    value = first.value - second.value
    if first.exact and second.exact:
        return Difference(value)
    pair = (first, second)
    errors = [cell.stderr for cell in pair]
    for number, cell in enumerate(pair):
        if cell.interval:  # where all of few items are equal, it tells more than their error
            width = cell.interval[1] - cell.interval[0]
            errors[number] = max(cell.stderr or 0.0, width / (2 * NORMAL_95))
    spread = math.hypot(*(cell.deviation or 0.0 for cell in pair))
    seeds = min((cell.seeds for cell in pair if cell.seeds), default=1)
    shared = first.by_seed.keys() & second.by_seed.keys()
    if len(shared) > 1:
        spread = deviation([first.by_seed[seed] - second.by_seed[seed] for seed in shared]) or 0.0
        seeds = len(shared)
    trained = [cell.by_seed for cell in pair if cell.by_seed]
    enough = bool(trained) and min(seeds, *map(len, trained)) >= FEWEST_SEEDS
    item_errors = math.hypot(*(error or 0.0 for error in errors))
    return Difference(value, item_errors, spread, seeds, known=None not in errors or enough)
