"""What is computed of cells: means over seeds and over languages, and differences with errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from revocab.evaluation.over_seeds import FEWEST_SEEDS, NORMAL_95, Difference, deviation
from revocab.report.table import MISSING, Cell, text


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
    if len(values) < len(cells):
        return replace(first, value=None, stderr=None, interval=None)
    errors = [cell.stderr for cell in cells if cell.stderr is not None]
    return replace(
        first,
        value=fmean(values),
        stderr=fmean(errors) if len(errors) == len(cells) else None,
        interval=None,
        deviation=deviation(values),
        seeds=len(values),
    )


def average_cells(rows: Sequence[Sequence[Cell]]) -> list[Cell]:
    """Return the mean of every column of some rows; without a value where one is missing."""
    means = []
    for column in zip(*rows, strict=True):
        values = [cell.value for cell in column if cell.value is not None]
        mark = max(cell.published_mark for cell in column)
        if any(cell.text is not None for cell in column):
            means.append(text(MISSING))
        elif len(values) < len(column):
            means.append(Cell(published_mark=mark))
        else:
            means.append(replace(mean_cell(column), published_mark=mark))
    return means


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of values with its error, items being independent and seeds the same."""
    errors = [cell.stderr for cell in cells if cell.stderr is not None]
    spreads = [cell.deviation for cell in cells if cell.deviation is not None]
    return Cell(
        fmean(cell.value or 0.0 for cell in cells),
        math.hypot(*errors) / len(cells) if len(errors) == len(cells) else None,
        digits=cells[0].digits,
        deviation=fmean(spreads) if len(spreads) == len(cells) else None,
        seeds=min((cell.seeds for cell in cells if cell.seeds), default=None),
    )


def item_error(cell: Cell) -> float | None:
    """Return a value's standard error over items: where all of few are equal, by its interval."""
    if cell.interval is None:
        return cell.stderr
    return max(cell.stderr or 0.0, (cell.interval[1] - cell.interval[0]) / (2 * NORMAL_95))


def difference(first: Cell, second: Cell) -> Difference | None:
    """Return a value minus another, with its errors; None where one is missing.

    Items are independent, and so are seeds, of which equal ones are paired. Without errors over
    items it is known where all that is trained has enough seeds.
    """
    if first.value is None or second.value is None:
        return None
    value = first.value - second.value
    if first.exact and second.exact:
        return Difference(value)
    pair = (first, second)
    errors = [item_error(cell) for cell in pair]
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
