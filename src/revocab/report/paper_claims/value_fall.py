"""By how much a number of runs is below that of other runs: what a comparison of runs claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from revocab.closed import Id
from revocab.report.asked import of_runs
from revocab.report.paper_claims.measure import Measure
from revocab.report.references import unknown_runs
from revocab.report.values.one_value import OneValue

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.report.results import Results


class ValueFall(Measure):
    """By how much a number of the worst of some runs is below the best of others, lower being
    better; means over seeds.
    """

    value: OneValue = Field(description="as a column of a table of kind runs")
    runs: list[Id] = Field(min_length=1)
    below: list[Id] = Field(min_length=1)
    below_value: OneValue | None = Field(
        default=None, description="another number of those in below; default: the same"
    )
    share: bool = Field(default=False, description="as a share of the others' number")

    def ours(self, results: Results) -> float | None:
        return self._fall(
            [self.value.value.cell(results, results.run(run)).value for run in self.runs],
            [self._others.value.cell(results, results.run(run)).value for run in self.below],
        )

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %" if self.share else f"{value:.3f}"

    def remark(self, results: Results) -> str:
        falls = [self._of_seed(results, one) for one in _seeds(results, [*self.runs, *self.below])]
        listed = ", ".join(self.shown(one) for one in falls if one is not None)
        return f" (by seed: {listed})" if listed else ""

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unknown_runs(experiment, key, [*self.runs, *self.below])
        yield from self.value.value.problems(experiment, f"{key}.value", self.runs)
        yield from self._others.value.problems(experiment, f"{key}.below_value", self.below)

    def needs(self, layout: Layout) -> list[str]:
        return [
            *self.value.value.needs(layout, self.runs),
            *self._others.value.needs(layout, self.below),
        ]

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        yield from of_runs(experiment, self.runs, self.value.value.tasks(experiment))
        yield from of_runs(experiment, self.below, self._others.value.tasks(experiment))

    @property
    def _others(self) -> OneValue:
        return self.below_value or self.value

    def _of_seed(self, results: Results, seed: int) -> float | None:
        def values(runs: Sequence[str], value: OneValue) -> list[float | None]:
            found = [_of_seed(results.replicates(results.run(one)), seed) for one in runs]
            return [value.value.cell(results, one).value for one in found]

        return self._fall(values(self.runs, self.value), values(self.below, self._others))

    def _fall(self, ours: list[float | None], others: list[float | None]) -> float | None:
        highest = [one for one in ours if one is not None]
        lowest = [one for one in others if one is not None]
        if len(highest) < len(ours) or len(lowest) < len(others):
            return None
        fall = min(lowest) - max(highest)
        return fall / min(lowest) if self.share else fall


def _seeds(results: Results, runs: Sequence[str]) -> list[int]:
    """Return the seeds that all of the runs with several have, ascending; none: no run has."""
    each = [{one.seed for one in results.replicates(results.run(run))} for run in runs]
    several = [seeds for seeds in each if len(seeds) > 1]
    return sorted(set.intersection(*several)) if several else []


def _of_seed(replicates: Sequence[Run], seed: int) -> Run:
    """Return the run of a seed; one without replicates stands for every seed."""
    return next((one for one in replicates if one.seed == seed), replicates[0])
