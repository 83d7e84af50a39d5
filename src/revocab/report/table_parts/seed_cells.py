"""Cells of runs that have replicates: means over seeds, with their deviation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from revocab.evaluation.over_seeds import deviation
from revocab.report.results.replicates import mean_of
from revocab.report.table_parts.table import MISSING, Cell, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.report.results import Results


def cells_over_seeds(results: Results, run: Run, cells: Callable[[Run], list[Cell]]) -> list[Cell]:
    """Return the cells of a run: those of its replicates, averaged."""
    each = [cells(one) for one in results.replicates(run)]
    return [pooled_cell(column) for column in zip(*each, strict=True)]


def pooled_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of one cell per seed; of texts that differ, a dash; of one cell, itself."""
    first = cells[0]
    if len(cells) == 1:
        return first
    if any(one.text is not None for one in cells):
        return first if len({one.text for one in cells}) == 1 else text(MISSING)
    values = [one.value for one in cells if one.value is not None]
    if len(values) < len(cells):
        return replace(first, value=None, stderr=None, interval=None)
    return replace(
        first,
        value=fmean(values),
        stderr=mean_of([one.stderr for one in cells]),
        interval=None,
        deviation=deviation(values),
    )
