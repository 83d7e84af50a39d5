"""Methods by held-out loss, each beside a reference, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from pydantic import Field

from revocab.closed import GroupId, HeldoutLanguage, Id, Step, unknown
from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    Curve,
    Sample,
    at_place,
    crossing,
    mean_curve,
    mean_of,
    paired_difference,
    possible_best,
    stratified_interval,
    tell,
)
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
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, mark_cells, text
from revocab.report.values.losses import unmeasured_steps, without_heldout_text

#: What a column of losses or differences takes: a step, or what all runs are held equal in.
Point = Step
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


class RankingTable(TableOptions):
    """Methods by held-out loss, at steps and at equal text or operations, against a reference, in
    groups of runs that differ in language.
    """

    kind: Literal["ranking"]
    #: Language whose held-out text counts, by group of runs.
    groups: dict[GroupId, HeldoutLanguage] = Field(min_length=1)
    methods: list[Id] | None = Field(
        default=None, min_length=2, description="names of runs; default: all that are trained"
    )
    reference: Id = Field(description="name of the run of every group that all are compared with")
    points: list[Point] = Field(
        default=[0, "last", "equal-text", "equal-flops"],
        min_length=1,
        description="columns of losses: steps, and equal-text or equal-flops",
    )
    differences: list[Point] = Field(
        default=["last", "equal-text"],
        min_length=1,
        description="columns of differences from the reference",
    )
    #: Where the ranks are taken.
    rank_by: Point = "last"
    #: What is equal there: as much as the run with the least has, or as the reference has.
    equal_to: Literal["shortest", "reference"] = "shortest"
    pooled: bool = Field(default=False, description="one block of means over all groups")

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

    def build(self, results: Results) -> Table:
        """Return a block per group, or one of all: the reference, then the methods by rank."""
        blocks = [[*self.groups]] if self.pooled else [[group] for group in self.groups]
        names = [name for name in self.names(results) if name != self.reference]
        rows: list[Row] = []
        for groups in blocks:
            if len(blocks) > 1:
                rows.append(Row(section=results.experiment.runs[groups[0]].label))
            rows += self.block(results, groups, names)
        over = ["", "", *["bits per byte"] * len(self.points)]
        over += [f"minus {self.reference}"] * len(self.differences)
        labels = [point_label(point) for point in (*self.points, *self.differences)]
        crossed = f"below {self.reference} after (MB)"
        return Table(["Method", "Rank", *labels, crossed], rows, over=[*over, ""])

    def block(self, results: Results, groups: Sequence[str], names: Sequence[str]) -> list[Row]:
        (reference,) = self.entries(results, groups, [self.reference])
        entries = list(self.entries(results, groups, names))
        every = [reference, *entries]
        ends = {
            point: self.ends(every, point)
            for point in dict.fromkeys([*self.points, *self.differences, self.rank_by])
        }
        samples = {
            point: [entry.sample(point, ends_G) for entry in every]
            for point, ends_G in ends.items()
        }
        # Operations that were not recorded are missing, and no amount that a run did not reach.
        unknown_ends = {point for point in ends if point in EQUAL and None in ends[point]}
        ranked = rank_cells(samples[self.rank_by][1:])
        rows: list[Row] = []
        for entry, rank, *of_points in zip(
            every, [text(MISSING), *ranked], *samples.values(), strict=True
        ):
            sample = dict(zip(samples, of_points, strict=True))
            cells = [
                Cell() if point in unknown_ends
                else mean_cell([[*of.values()] for of in sample[point]], 3, entry.provenance)
                for point in self.points
            ]  # fmt: skip
            for point in self.differences:
                cell = text(MISSING)
                if entry is not reference:
                    other = samples[point][0]
                    cell = difference_cell(sample[point], other, len(entries), entry.provenance)
                cells.append(Cell() if point in unknown_ends else cell)
            cells.append(text(MISSING) if entry is reference else crossing_cell(entry, reference))
            if not entry.measured or not reference.measured:
                cells = no_results(cells)
            rows.append(Row([text(entry.label), rank, *cells]))
        for column in range(2, 2 + len(self.points)):
            mark_cells([row.cells[column] for row in rows[1:]], "lower")
        best_first = sorted(range(len(entries)), key=lambda n: ranked[n].value or len(entries) + 1)
        return [rows[0], *(rows[1 + number] for number in best_first)]

    def ends(self, every: Sequence[Entry], point: Point) -> list[float | None]:
        """Return, by group, the amount at which a point compares; None: at steps, or not known."""
        over = EQUAL.get(point)
        compared = every[:1] if self.equal_to == "reference" else every
        ends: list[float | None] = []
        for group in range(len(every[0].losses_G)):
            known = [entry.end(group, over) for entry in compared] if over else []
            least = [end for end in known if end is not None]
            ends.append(min(least) if least and len(least) == len(known) else None)
        return ends

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
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
        points = {"points": self.points, "differences": self.differences, "rank_by": [self.rank_by]}
        for listed, named in points.items():
            also = [*map(str, EQUAL)]
            yield from unmeasured_steps(experiment, f"{key}.{listed}", runs, named, also)
        for group, names in trained.items():
            if self.reference not in names:
                what = f"trained run of group {group!r}"
                yield unknown(f"{key}.reference", self.reference, names, what)


def rank_cells(samples: Sequence[Sample]) -> list[Cell]:
    """Return ranks, those in bold that may be the best; a dash for a method without a loss."""
    means = [mean_of(sample) for sample in samples]
    known = [mean for mean in means if mean is not None]
    compared = [sample for sample, mean in zip(samples, means, strict=True) if mean is not None]
    best = iter(possible_best(compared))
    cells = []
    for mean in means:
        if mean is None:
            cells.append(text(MISSING))
            continue
        rank = 1.0 + sum(other < mean for other in known)
        cells.append(Cell(rank, digits=0, mark="best" if next(best) else None))
    return cells


def difference_cell(sample: Sample, reference: Sample, comparisons: int, provenance: str) -> Cell:
    value, interval = paired_difference(sample, reference, comparisons=comparisons)
    if value is None:
        return text(MISSING)
    cell = Cell(value, digits=3, provenance=provenance)
    if interval is not None:
        real = interval.seeds >= FEWEST_SEEDS and tell(interval.low, interval.high) is not None
        cell.mark = "best" if real else None
        cell.seed_interval, cell.seeds = (interval.low, interval.high), interval.seeds
    return cell


def crossing_cell(entry: Entry, reference: Entry) -> Cell:
    curve, other = entry.curve("bytes"), reference.curve("bytes")
    if not curve or not other:
        return Cell()
    place = crossing(curve, other)
    return text("none") if place is None else Cell(place, digits=2, provenance=entry.provenance)


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


TABLE = RankingTable
