"""What a number of a run is: the one way in which tables, figures and claims read one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import ClassVar

from revocab.closed import Closed
from revocab.evaluation.over_seeds import FEWEST_SEEDS, NORMAL_95, Difference, deviation
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, OTHERWISE, Better, Cell, text


class RunValue(Closed):
    """One number of a run; hooks say nothing where a value has nothing to say."""

    #: Which value is the better one; None: neither.
    better: ClassVar[Better | None] = None
    #: Whether it has no error: a count or a measure of a tokenizer.
    exact: ClassVar[bool] = False

    @abstractmethod
    def header(self) -> str:
        """Return the header of its column."""

    @abstractmethod
    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the number of one training: empty if it is not there, a dash if it cannot be."""

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the number of a run as it is shown: the mean over its replicates, if it has any.

        Of texts that differ it is a dash. Where a task has other items than expected, the published
        value beside it is marked.
        """
        replicates = results.replicates(run)
        cells = [self.of_training(results, each) for each in replicates]
        seeded = sorted(zip(replicates, cells, strict=True), key=lambda pair: pair[0].seed)
        by_seed = {
            each.seed: cell.value
            for each, cell in seeded
            if cell.value is not None and (run.trains or len(cells) > 1)
        }
        cell = replace(over_seeds(cells), by_seed=by_seed, exact=self.exact, better=self.better)
        if results.other_items.keys() & set(self.tasks(results.experiment)):
            return replace(cell, published_mark=OTHERWISE)
        return cell

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterable[str]:
        """Yield what the experiment lacks for it."""
        return ()

    def needs(self, layout: Layout, runs: Sequence[str]) -> Iterable[str]:
        return ()

    def tasks(self, experiment: Experiment) -> Iterable[str]:
        return ()


def over_seeds(cells: Sequence[Cell]) -> Cell:
    """Return the mean of the cells of replicates."""
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
