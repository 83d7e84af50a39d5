"""Methods by held-out loss, each beside a reference, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    mean_interval,
    paired_difference,
    possible_best,
    tell,
)
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import TableOptions
from revocab.report.names import method_label
from revocab.report.references import unmeasured_steps, without_heldout_text
from revocab.report.results import Results
from revocab.report.results.heldout_losses import (
    Progress,
    heldout_curve,
    loss_at,
    training_progress,
)
from revocab.report.table import MISSING, Cell, Row, Table, mark_cells, text

#: What a column of losses or differences takes: a step, or what all runs are held equal in.
Point = Step
#: Where runs are compared at the same amount instead of the same step, by what it is counted in.
EQUAL: Mapping[Step, Progress] = {"equal-text": "bytes", "equal-flops": "flops"}


@dataclass(frozen=True)
class Losses:
    """Held-out losses of one training by step, and by text or operations; empty where neither was
    recorded.
    """

    run: Run
    by_step: Mapping[int, float]
    along: Mapping[Progress, Curve]
    provenance: str

    def at(self, point: Step, end: float | None) -> float | None:
        """Return the loss at a step, or at ``end`` of what ``point`` holds equal."""
        if point not in EQUAL:
            return loss_at(self.run, self.by_step, point)
        return None if end is None else at_place(self.along[EQUAL[point]], end)


@dataclass(frozen=True)
class Entry:
    """A method, and its losses by seed."""

    label: str
    losses: Mapping[int, Losses]

    def end(self, over: Progress) -> float | None:
        """Return the last place that all seeds have reached."""
        curves = [losses.along[over] for losses in self.losses.values()]
        return min((curve[-1][0] for curve in curves), default=None) if all(curves) else None

    def sample(self, point: Step, end: float | None) -> Sample:
        values = {seed: losses.at(point, end) for seed, losses in self.losses.items()}
        return {seed: value for seed, value in values.items() if value is not None}

    @property
    def curve(self) -> Curve:
        """Return the mean over seeds by text."""
        return mean_curve([losses.along["bytes"] for losses in self.losses.values()])

    @property
    def measured(self) -> bool:
        return all(losses.by_step for losses in self.losses.values())

    @property
    def provenance(self) -> str:
        return next(iter(self.losses.values())).provenance


class RankingTable(TableOptions):
    """All trained methods by held-out loss, at steps and at equal text or operations, against a
    reference, in groups of runs that differ in language.
    """

    kind: Literal["ranking"]
    #: Language whose held-out text counts, by group of runs.
    groups: dict[GroupId, HeldoutLanguage] = Field(min_length=1)
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

    def build(self, results: Results) -> Table:
        """Return a block per group: the reference, then the methods by rank."""
        rows: list[Row] = []
        for group in self.groups:
            if len(self.groups) > 1:
                rows.append(Row(section=results.experiment.runs[group].label))
            rows += self.block(results, group)
        over = ["", "", *["bits per byte"] * len(self.points)]
        over += [f"minus {self.reference}"] * len(self.differences)
        labels = [point_label(point) for point in (*self.points, *self.differences)]
        crossed = f"below {self.reference} after (MB)"
        return Table(["Method", "Rank", *labels, crossed], rows, over=[*over, ""])

    def block(self, results: Results, group: str) -> list[Row]:
        runs = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        names = [name for name in runs if name != self.reference]
        reference, *entries = every = [
            Entry(method_label(runs[name]), losses_by_seed(results, runs[name], self.groups[group]))
            for name in (self.reference, *names)
        ]
        ends = {
            point: least_end(every, point)
            for point in dict.fromkeys([*self.points, *self.differences, self.rank_by])
        }
        samples = {point: [entry.sample(point, end) for entry in every]
                   for point, end in ends.items()}  # fmt: skip
        # Operations that were not recorded are missing, and no amount that a run did not reach.
        unknown_ends = {point for point in ends if point in EQUAL and ends[point] is None}
        ranked = rank_cells(samples[self.rank_by][1:])
        rows: list[Row] = []
        for place, (entry, rank) in enumerate(zip(every, [text(MISSING), *ranked], strict=True)):
            where = entry.provenance
            cells = [
                Cell() if point in unknown_ends else mean_cell(samples[point][place], where)
                for point in self.points
            ]
            for point in self.differences:
                cell = text(MISSING)
                if entry is not reference:
                    sample, other = samples[point][place], samples[point][0]
                    cell = difference_cell(sample, other, len(entries), where)
                cells.append(Cell() if point in unknown_ends else cell)
            cells.append(text(MISSING) if entry is reference else crossing_cell(entry, reference))
            if not entry.measured or not reference.measured:  # a dash: there can be no number
                cells = [Cell() if cell.text == MISSING else cell for cell in cells]
            rows.append(Row([text(entry.label), rank, *cells]))
        for column in range(2, 2 + len(self.points)):
            mark_cells([row.cells[column] for row in rows[1:]], "lower")
        best_first = sorted(range(len(entries)), key=lambda n: ranked[n].value or len(entries) + 1)
        return [rows[0], *(rows[1 + number] for number in best_first)]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from without_heldout_text(experiment, key)
        trained = {
            group: {run.name: run for run in experiment.index.group(group, False) if run.trains}
            for group in self.groups
        }
        runs = [run for named in trained.values() for run in named.values()]
        points = {"points": self.points, "differences": self.differences, "rank_by": [self.rank_by]}
        for listed, named in points.items():
            also = [*map(str, EQUAL)]
            yield from unmeasured_steps(experiment, f"{key}.{listed}", runs, named, also)
        for group, names in trained.items():
            if self.reference not in names:
                what = f"trained run of group {group!r}"
                yield unknown(f"{key}.reference", self.reference, names, what)


def least_end(every: Sequence[Entry], point: Point) -> float | None:
    """Return the amount at which a point compares: that of the run with the least. None: at steps,
    or not known.
    """
    ends = [entry.end(EQUAL[point]) for entry in every] if point in EQUAL else []
    known = [end for end in ends if end is not None]
    return min(known) if known and len(known) == len(ends) else None


def rank_cells(samples: Sequence[Sample]) -> list[Cell]:
    """Return ranks, those in bold that may be the best; a dash for a method without a loss."""
    compared = [sample for sample in samples if sample]
    known = [fmean(sample.values()) for sample in compared]
    best = iter(possible_best(compared))
    cells = []
    for sample in samples:
        if not sample:
            cells.append(text(MISSING))
            continue
        rank = 1.0 + sum(other < fmean(sample.values()) for other in known)
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
    curve, other = entry.curve, reference.curve
    if not curve or not other:
        return Cell()
    place = crossing(curve, other)
    return text("none") if place is None else Cell(place, digits=2, provenance=entry.provenance)


def losses_by_seed(results: Results, run: Run, language: str) -> dict[int, Losses]:
    amounts: tuple[Progress, ...] = ("bytes", "flops")
    losses = {}
    for single in sorted(results.replicates(run), key=lambda single: single.seed):
        curve = heldout_curve(results, single, language)
        along: dict[Progress, Curve] = {}
        for over in amounts:
            places = training_progress(results, single, over)
            points = [(places[step], loss) for step, loss in curve.items() if step in places]
            along[over] = points if len(points) > 1 else []
        losses[single.seed] = Losses(single, curve, along, results.heldout(single)[1])
    return losses


def point_label(point: Step) -> str:
    if point in EQUAL:
        return {"bytes": "equal text", "flops": "equal FLOPs"}[EQUAL[point]]
    return f"{point} steps" if isinstance(point, int) else f"{point} checkpoint"


def mean_cell(sample: Sample, provenance: str) -> Cell:
    """Return a mean with its interval over seeds; a dash without a value."""
    if not sample:
        return text(MISSING)
    cell = Cell(fmean(sample.values()), digits=3, provenance=provenance)
    if interval := mean_interval([*sample.values()]):
        cell.seed_interval, cell.seeds = (interval.low, interval.high), interval.seeds
    return cell


TABLE = RankingTable
