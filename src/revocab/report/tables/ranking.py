"""Methods by held-out loss, each beside a reference, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import Literal

from pydantic import Field

from revocab.closed import GroupId, HeldoutLanguage, Id, Step, unknown
from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    Curve,
    Sample,
    SeedInterval,
    at_place,
    mean_interval,
    paired_difference,
    possible_best,
    tell,
)
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import TableOptions
from revocab.report.references import unmeasured_steps, without_heldout_text
from revocab.report.results import Results
from revocab.report.results.heldout_losses import (
    Progress,
    heldout_curve,
    loss_at,
    training_progress,
)
from revocab.report.runs import method_label
from revocab.report.table import MISSING, Cell, Row, Table, mark_cells, text

#: What a column of losses or differences takes: a step, or what all runs are held equal in.
Point = Step
#: Where runs are compared at the same amount instead of the same step: what it is counted in, and
#: how its column is headed.
EQUAL: Mapping[Step, tuple[Progress, str]] = {
    "equal-text": ("bytes", "equal text"), "equal-flops": ("flops", "equal FLOPs"),
}  # fmt: skip


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
        return Table(["Method", "Rank", *labels], rows, over=over)

    def block(self, results: Results, group: str) -> list[Row]:
        trained = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        runs = [trained.pop(self.reference), *trained.values()]
        named = dict.fromkeys([*self.points, *self.differences, self.rank_by])
        samples = samples_at(results, runs, self.groups[group], named)
        ranked = rank_cells(samples[self.rank_by][1:])
        rows: list[Row] = []
        for place, (run, rank) in enumerate(zip(runs, [text(MISSING), *ranked], strict=True)):
            where, cells = results.heldout(run)[1], [text(method_label(run)), rank]
            for point in self.points:
                losses = [*samples[point][place].values()]
                mean = fmean(losses) if losses else None
                cells.append(interval_cell(mean, mean_interval(losses), where))
            for point in self.differences:
                if not place:  # the run that the others are compared with
                    cells.append(text(MISSING))
                    continue
                pair = samples[point][place], samples[point][0]
                found = paired_difference(*pair, comparisons=len(ranked))
                cells.append(interval_cell(*found, where, marked=True))
            rows.append(Row(cells))
        for column in range(2, 2 + len(self.points)):
            mark_cells([row.cells[column] for row in rows[1:]], "lower")
        best_first = sorted(range(len(ranked)), key=lambda n: ranked[n].value or len(runs))
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


def samples_at(
    results: Results, runs: Sequence[Run], language: str, points: Collection[Point]
) -> dict[Point, list[Sample]]:
    """Return the losses of each run by seed at every point: at a step, or at the amount of what
    they are held equal in that all trainings have reached, none where one was not recorded.
    """
    seeds = [sorted(results.replicates(run), key=lambda single: single.seed) for run in runs]
    curves = {single.id: heldout_curve(results, single, language) for single in chain(*seeds)}

    along: dict[Progress, dict[str, Curve]] = {}
    for over, _ in (EQUAL[point] for point in points if point in EQUAL):
        places = {single: training_progress(results, single, over) for single in chain(*seeds)}
        along[over] = {
            single.id: [(at[step], loss) for step, loss in curves[single.id].items() if step in at]
            for single, at in places.items()
        }

    def loss(single: Run, point: Point) -> float | None:
        if point not in EQUAL:
            return loss_at(single, curves[single.id], point)
        reached = along[EQUAL[point][0]]
        if min(map(len, reached.values())) < 2:
            return None
        return at_place(reached[single.id], min(curve[-1][0] for curve in reached.values()))

    return {
        point: [
            {single.seed: value for single in each if (value := loss(single, point)) is not None}
            for each in seeds
        ]
        for point in points
    }


def rank_cells(samples: Sequence[Sample]) -> list[Cell]:
    """Return ranks, those in bold that may be the best; a dash for a method without a loss."""
    means = [fmean(sample.values()) if sample else None for sample in samples]
    best = iter(possible_best([sample for sample in samples if sample]))
    cells = []
    for mean in means:
        if mean is None:
            cells.append(text(MISSING))
            continue
        rank = 1.0 + sum(other < mean for other in means if other is not None)
        cells.append(Cell(rank, digits=0, mark="best" if next(best) else None))
    return cells


def interval_cell(
    value: float | None, interval: SeedInterval | None, where: str, *, marked: bool = False
) -> Cell:
    """Return a value with its interval over seeds; ``marked``: where that tells it from 0."""
    if value is None:
        return Cell()
    cell = Cell(value, digits=3, provenance=where)
    if interval is not None:
        real = interval.seeds >= FEWEST_SEEDS and tell(interval.low, interval.high) is not None
        cell.mark = "best" if real and marked else None
        cell.seed_interval, cell.seeds = (interval.low, interval.high), interval.seeds
    return cell


def point_label(point: Step) -> str:
    if point in EQUAL:
        return EQUAL[point][1]
    return f"{point} steps" if isinstance(point, int) else f"{point} checkpoint"


TABLE = RankingTable
