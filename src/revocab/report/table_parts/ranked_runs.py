"""Runs of the same names in several groups, by seed: what tables that order methods are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import Field

from revocab.closed import GroupId, HeldoutLanguage, Id, Step
from revocab.evaluation.ranking import Curve, Sample, at_place, mean_curve, stratified_interval
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import TableOptions
from revocab.report.names import method_label
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.results.heldout_losses import (
    Progress,
    heldout_curve,
    loss_at,
    training_progress,
)
from revocab.report.table_parts.table import MISSING, Cell, text
from revocab.report.values.losses import unmeasured_steps, without_heldout_text

#: Where runs are compared at the same amount instead of the same step, by what it is counted in.
EQUAL: Mapping[Step, Progress] = {"equal-text": "bytes", "equal-flops": "flops"}


@dataclass(frozen=True)
class Losses:
    """Held-out losses of one training, and how far it was at each of its steps."""

    run: Run
    by_step: Mapping[int, float]
    progress: Mapping[Progress, Mapping[int, float]]
    provenance: str

    def along(self, over: Progress) -> Curve:
        """Return the losses by text or operations; empty where neither was recorded."""
        places = self.progress[over]
        curve = [(places[step], loss) for step, loss in self.by_step.items() if step in places]
        return curve if len(curve) > 1 else []

    def at(self, point: Step, end: float | None) -> float | None:
        """Return the loss at a step, or at ``end`` of what ``point`` holds equal."""
        if point not in EQUAL:
            return loss_at(self.run, self.by_step, point)
        return None if end is None else at_place(self.along(EQUAL[point]), end)


@dataclass(frozen=True)
class Entry:
    """A method: its losses by seed, in every group of a block."""

    label: str
    losses_G: Sequence[Mapping[int, Losses]]

    def end(self, group: int, over: Progress) -> float | None:
        """Return the last place that all seeds have reached."""
        curves = [losses.along(over) for losses in self.losses_G[group].values()]
        return min((curve[-1][0] for curve in curves), default=None) if all(curves) else None

    def sample(self, point: Step, ends_G: Sequence[float | None]) -> Sample:
        sample = []
        for by_seed, end in zip(self.losses_G, ends_G, strict=True):
            values = {seed: losses.at(point, end) for seed, losses in by_seed.items()}
            sample.append({seed: value for seed, value in values.items() if value is not None})
        return sample

    def curve(self, over: Progress) -> Curve:
        """Return the mean over seeds, then over groups."""
        return mean_curve(
            [mean_curve([each.along(over) for each in of.values()]) for of in self.losses_G]
        )

    @property
    def measured(self) -> bool:
        return all(each.by_step for of in self.losses_G for each in of.values())

    @property
    def provenance(self) -> str:
        return next(iter(self.losses_G[0].values())).provenance


class RankedOptions(TableOptions):
    """Methods by their held-out loss, in groups of runs that differ in language."""

    #: Language whose held-out text counts, by group of runs.
    groups: dict[GroupId, HeldoutLanguage] = Field(min_length=1)
    methods: list[Id] | None = Field(
        default=None, min_length=2, description="names of runs; default: all that are trained"
    )

    def names(self, results: Results) -> list[str]:
        """Return the names that are ordered, in the order of the experiment."""
        runs = [run for group in self.groups for run in trained_runs(results, group).values()]
        return self.methods or list(dict.fromkeys(run.name for run in runs))

    def entries(
        self, results: Results, groups: Sequence[str], names: Sequence[str]
    ) -> Iterator[Entry]:
        """Yield an entry for every name that all of some groups have."""
        runs = {group: trained_runs(results, group) for group in groups}
        for name in names:
            if all(name in runs[group] for group in groups):
                losses_G = [
                    losses_by_seed(results, runs[group][name], self.groups[group])
                    for group in groups
                ]
                yield Entry(method_label(runs[groups[0]][name]), losses_G)

    def run_problems(
        self,
        experiment: Experiment,
        key: str,
        points: Mapping[str, Sequence[Step]],
        also: Iterable[str] = (),
    ) -> Iterator[str]:
        """Yield what is wrong with methods and steps, these by the keys that name them.

        ``also``: points that are no steps.
        """
        from revocab.config.lineage import run_id  # stands on the schema, which needs kinds

        yield from without_heldout_text(experiment, key)
        trained = trained_names(experiment, self.groups)
        every = {name for names in trained.values() for name in names}
        if trained:
            what = "trained run of its groups"
            yield from unknowns(f"{key}.methods", self.methods or (), every, what)
        runs = [
            run_id(group, name)
            for group, names in trained.items()
            for name in names
            if self.methods is None or name in self.methods
        ]
        for listed, named in points.items():
            yield from unmeasured_steps(experiment, f"{key}.{listed}", runs, named, also)


def trained_runs(results: Results, group: str) -> dict[str, Run]:
    return {run.name: run for run in results.group(group, evaluated=False) if run.trains}


def trained_names(experiment: Experiment, groups: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of trained runs of those groups that there are."""
    from revocab.config.lineage import run_id, shown_names, single_runs

    def trains(group: str, name: str) -> bool:
        runs = single_runs(experiment, [run_id(group, name)])
        return any(experiment.expanded[run].trains for run in runs)

    return {
        group: [name for name in shown_names(experiment.runs[group]) if trains(group, name)]
        for group in groups
        if group in experiment.runs
    }


def losses_by_seed(results: Results, run: Run, language: str) -> dict[int, Losses]:
    amounts: tuple[Progress, ...] = ("bytes", "flops")
    losses = {}
    for single in sorted(results.replicates(run), key=lambda single: single.seed):
        curve = heldout_curve(results, single, language)
        progress = {over: training_progress(results, single, over) for over in amounts}
        losses[single.seed] = Losses(single, curve, progress, results.heldout(single)[1])
    return losses


def point_label(point: Step) -> str:
    if point in EQUAL:
        return {"bytes": "equal text", "flops": "equal FLOPs"}[EQUAL[point]]
    return f"{point} steps" if isinstance(point, int) else f"{point} checkpoint"


def mean_cell(
    values_GS: Sequence[Sequence[float]], digits: int, provenance: str | None = None
) -> Cell:
    """Return a mean with its interval over seeds; a dash where a stratum has no value."""
    if not values_GS or not all(values_GS):
        return text(MISSING)
    interval = stratified_interval(values_GS)
    cell = Cell(fmean(map(fmean, values_GS)), digits=digits, provenance=provenance)
    if interval:
        cell.seed_interval, cell.seeds = (interval.low, interval.high), interval.seeds
    return cell


def no_results(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells that are empty where a dash would say that there can be no number."""
    return [Cell() if cell.text == MISSING else cell for cell in cells]
