"""Methods by held-out loss, each beside a reference, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from revocab.closed import Id, Step, unknown
from revocab.evaluation.over_seeds import FEWEST_SEEDS, excludes_zero
from revocab.evaluation.ranking import (
    Sample,
    crossing,
    mean_of,
    paired_difference,
    possible_best,
)
from revocab.languages import language_label
from revocab.report.annotations import Experiment
from revocab.report.results import Results
from revocab.report.table_parts.ranked_runs import (
    EQUAL,
    Entry,
    RankedOptions,
    mean_cell,
    no_results,
    point_label,
    trained_names,
)
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, mark_cells, text

#: What a column of losses or differences takes: a step, or what all runs are held equal in.
Point = Step


class RankingTable(RankedOptions):
    """Methods by held-out loss, at steps and at equal text or operations, against a reference."""

    kind: Literal["ranking"]
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
        return Table(
            ["Method", "Rank", *labels, crossed], rows, self.said(results), over=[*over, ""]
        )

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

    def said(self, results: Results) -> list[str]:
        listed = ", ".join(map(language_label, dict.fromkeys(self.groups.values())))
        amount = {
            "reference": f"as much as all of {self.reference}'s",
            "shortest": "as much as that of the run with the least",
        }[self.equal_to]
        pooled = (
            f"Means over {len(self.groups)} groups; intervals of seeds within each, added by "
            "squares."
        )
        return [
            f"Loss on held-out text ({listed}) in bits per byte; lower is better. Best in bold, "
            f"second underlined; {self.reference} is not ranked. After ±: half of the 95 % "
            "interval of Student's t over seeds. It does not include the choice of the text.",
            f"Equal text or FLOPs: training text or operations {amount}, losses interpolated "
            f'linearly between measured steps; "{MISSING}": the run had less. Operations of stages '
            "are spread evenly over a run's steps.",
            f"Minus {self.reference}: differences seed by seed, with intervals that hold for all "
            "rows of a block at once (Bonferroni); bold: 0 lies outside, with at least "
            f"{FEWEST_SEEDS} seeds.",
            f"Rank: by the loss at {point_label(self.rank_by)}. In bold: no other method is below "
            "it beyond chance, so that the best is among these with 95 % confidence "
            f"(with fewer than {FEWEST_SEEDS} seeds: all).",
            f"Below {self.reference} after: the training text at which the mean curve is first "
            'below its, at the same text; "none": nowhere that both were measured.',
            *([pooled] if self.pooled else []),
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        points = {"points": self.points, "differences": self.differences, "rank_by": [self.rank_by]}
        yield from self.run_problems(experiment, key, points, [*map(str, EQUAL)])
        for group, trained in trained_names(experiment, self.groups).items():
            if self.reference not in trained:
                what = f"trained run of group {group!r}"
                yield unknown(f"{key}.reference", self.reference, trained, what)


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
        real = interval.seeds >= FEWEST_SEEDS and excludes_zero(interval.low, interval.high)
        cell.mark = "best" if real else None
        cell.seed_interval, cell.seeds = (interval.low, interval.high), interval.seeds
    return cell


def crossing_cell(entry: Entry, reference: Entry) -> Cell:
    curve, other = entry.curve("bytes"), reference.curve("bytes")
    if not curve or not other:
        return Cell()
    place = crossing(curve, other)
    return text("none") if place is None else Cell(place, digits=2, provenance=entry.provenance)


TABLE = RankingTable
