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
        cell = self._over_replicates(results, run)
        if results.other_items.keys() & set(self.tasks(results.experiment)):
            return replace(cell, published_mark=OTHERWISE)
        return cell

    def _over_replicates(self, results: Results, run: Run) -> Cell:
        cells = [self.of_training(results, replicate) for replicate in results.replicates(run)]
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

    def by_seed(self, results: Results, run: Run) -> dict[int, float]:
        """Return the number by the seed of each replicate that has it, ascending."""
        replicates = sorted(results.replicates(run), key=lambda run: run.seed)
        values = {run.seed: self.of_training(results, run).value for run in replicates}
        return {seed: value for seed, value in values.items() if value is not None}

    def problems(self, experiment: Experiment, key: str, runs: Sequence[Run]) -> Iterable[str]:
        """Yield what the experiment lacks for it, of the runs that it is shown of."""
        return ()

    def needs(self, layout: Layout, runs: Sequence[Run]) -> Iterable[str]:
        """Yield files that it is read from, beside the scores."""
        return ()

    def tasks(self, experiment: Experiment) -> Iterable[str]:
        return ()


def item_error(cell: Cell) -> float | None:
    """Return a value's standard error over items: where all of few are equal, by its interval."""
    if cell.interval is None:
        return cell.stderr
    return max(cell.stderr or 0.0, (cell.interval[1] - cell.interval[0]) / (2 * NORMAL_95))


def cell_difference(first: Cell, second: Cell) -> Difference | None:
    """Return the difference of two values, items and seeds of both being independent."""
    if first.value is None or second.value is None:
        return None
    errors, spreads = (
        [item_error(cell) for cell in (first, second)],
        [cell.deviation or 0.0 for cell in (first, second)],
    )
    return Difference(
        first.value - second.value,
        math.hypot(*(error or 0.0 for error in errors)),
        math.hypot(*spreads),
        min((cell.seeds for cell in (first, second) if cell.seeds), default=1),
        known=None not in errors,
    )


def difference(
    results: Results, first: tuple[RunValue, Run], second: tuple[RunValue, Run]
) -> Difference | None:
    """Return a number of a run minus one of another, with its errors; None where one is missing.

    Equal seeds are paired. Without errors over items it is known where all that is trained has
    enough seeds.
    """
    found = cell_difference(*(value.cell(results, run) for value, run in (first, second)))
    if found is None or (first[0].exact and second[0].exact):
        return found and Difference(found.value)
    ours, theirs = (value.by_seed(results, run) for value, run in (first, second))
    shared = ours.keys() & theirs.keys()
    if len(shared) > 1:
        spread = deviation([ours[seed] - theirs[seed] for seed in shared]) or 0.0
        found = replace(found, deviation=spread, seeds=len(shared))
    sides = zip((first[1], second[1]), (ours, theirs), strict=True)
    enough = all(len(of) >= FEWEST_SEEDS for run, of in sides if run.trains)
    return replace(found, known=found.known or (enough and found.seeds >= FEWEST_SEEDS))
