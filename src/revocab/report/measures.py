"""What a statement measures: one number, from a paper's printed values and from our results.

Numbers are in the unit in which tables show them; shares are fractions.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from operator import attrgetter
from statistics import fmean
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import Id, OneLine, Refers, ShownRunId, TokenizerId, exactly_one, unknown
from revocab.evaluation.over_seeds import Difference
from revocab.languages import language_label
from revocab.limits import Weight
from revocab.report.annotations import Experiment, Layout
from revocab.report.kind import Place, Shows, manifest
from revocab.report.pivot import ValueTable
from revocab.report.published import read_published
from revocab.report.references import unknowns
from revocab.report.results import Results, number
from revocab.report.runs import RunIndex
from revocab.report.table import MISSING, Cell, difference
from revocab.report.tables.languages import ModelsByLanguageTable
from revocab.report.tables.tokenizers import SIZES, FertilityTable
from revocab.report.values import OneValue, RunValue

ModelLabel = Annotated[OneLine, Refers("label in parameters")]
Show = Callable[[float], str]
#: A value of a cell: the printed one, or ours.
Value = Callable[[Cell], float | None]
PRINTED: Value = attrgetter("published")
OURS: Value = attrgetter("value")
#: Cells that should be better, and those that they are compared with.
Side = tuple[Sequence[Cell], Sequence[Cell]]


@dataclass(frozen=True)
class Measured:
    """What a statement is decided by; None where a number is not known."""

    show: Show
    printed: float | None = None
    ours: float | None = None
    #: 95 % interval of ours, both ends equal where it has no error; None: not known.
    interval: tuple[float, float] | None = None
    remark: str = ""

    @classmethod
    def exactly(cls, show: Show, printed: float | None, ours: float | None) -> Measured:
        return cls(show, printed, ours, None if ours is None else (ours, ours))

    def our_values(self) -> str:
        if self.ours is None:
            return MISSING
        number = self.show(self.ours) + self.remark
        if self.interval is None:
            return f"{number}, no error known"
        low, high = self.interval
        ends = f", 95 % interval {self.show(low)} to {self.show(high)}" if low < high else ""
        return number + ends


class Measure(Shows):
    """What a claim is about."""

    #: Whether it follows from names and sizes, so that a smaller run tests it as well.
    any_scale: ClassVar[bool] = False

    @abstractmethod
    def measured(self, results: Results) -> Measured:
        """Return its number, from the paper's printed values and from our results."""


class Gain(Measure):
    """By how much the worst of some numbers is better than the best of others."""

    share: bool = Field(default=False, description="as a share of the others' number")

    @abstractmethod
    def sides(self, results: Results) -> list[Side]:
        """Return what is compared."""

    def measured(self, results: Results) -> Measured:
        sides = self.sides(results)
        cells = [cell for side in sides for half in side for cell in half]
        sign, digits = "" if is_lower(cells) else "+", max(cell.digits for cell in cells)

        def show(value: float) -> str:
            if self.share:
                return f"{100 * value:{sign}.1f} %"
            small = value and not round(value, digits)
            return f"{value:{sign}.2g}" if small else f"{value:{sign}.{digits}f}"

        def gain(of: Value) -> float | None:
            return min((gained.value for gained in self.differences(sides, of)), default=None)

        several = [{*cell.by_seed} for cell in cells if len(cell.by_seed) > 1]
        seeds = sorted(set.intersection(*several)) if several else []
        by_seed = [gain(of_seed(seed)) for seed in seeds]
        listed = ", ".join(show(value) for value in by_seed if value is not None)
        remark = f" (by seed: {listed})" if listed else ""
        interval = least_interval(self.differences(sides, OURS))
        return Measured(show, gain(PRINTED), gain(OURS), interval, remark)

    def differences(self, sides: list[Side], of: Value) -> list[Difference]:
        """Return the differences, of which the least counts, in some value of the cells; none where
        a cell lacks it.
        """
        differences = []
        for side in sides:
            ours, others = ([replace(cell, value=of(cell)) for cell in half] for half in side)
            least = min((abs(cell.value) for cell in others if cell.value), default=1.0)
            for pair in product(ours, others):
                gained = difference(*(reversed(pair) if is_lower(pair) else pair))
                if gained is None:
                    return []
                differences.append(scaled(gained, 1 / least if self.share else pair[0].scale))
        return differences


def of_seed(seed: int) -> Value:
    """Return the value of one seed; what has no seeds stands for each."""
    return lambda cell: cell.by_seed.get(seed, cell.value)


def is_lower(cells: Iterable[Cell]) -> bool:
    return any(cell.better == "lower" for cell in cells)


def scaled(found: Difference, factor: float) -> Difference:
    return replace(
        found,
        value=factor * found.value,
        item_error=factor * found.item_error,
        deviation=factor * found.deviation,
    )


def least_interval(found: list[Difference]) -> tuple[float, float] | None:
    """Return the interval of the least difference: that all lie above its low end needs each
    interval by itself, that one lies below its high end all of them at once.
    """
    alone, at_once = ([one.interval(number) for one in found] for number in (1, len(found)))
    lows = [ends[0] for ends in alone if ends is not None]
    highs = [ends[1] for ends in at_once if ends is not None]
    known = found and len(lows) == len(highs) == len(found)
    return (min(lows), min(highs)) if known else None


class RunGain(Gain):
    """Of a number of runs, means over seeds."""

    value: OneValue = Field(
        description="as a column of a table of kind runs; a step of the paper's is that of ours"
        " which stands for it by paper_steps"
    )
    #: Runs that are better.
    runs: list[ShownRunId] = Field(min_length=1)
    #: Runs that they are compared with.
    over: list[ShownRunId] = Field(min_length=1)
    over_value: OneValue | None = Field(
        default=None, description="another number of those in over; default: the same"
    )

    def sides(self, results: Results) -> list[Side]:
        def cells(value: OneValue, runs: list[str]) -> list[Cell]:
            named = [results.run(run) for run in runs]
            values = [our_step(results.experiment, value.value, run.group) for run in named]
            return [of.cell(results, run) for of, run in zip(values, named, strict=True)]

        return [(cells(self.value, self.runs), cells(self.over_value or self.value, self.over))]

    def places(self, index: RunIndex) -> Iterator[Place]:
        for run in map(index.run, self.runs):
            yield Place(our_step(index.experiment, self.value.value, run.group), run, key="value")
        over = self.over_value or self.value
        for run in map(index.run, self.over):
            key = "over_value" if self.over_value else "value"
            yield Place(our_step(index.experiment, over.value, run.group), run, key=key)


def our_step(experiment: Experiment, value: RunValue, group: str) -> RunValue:
    """Return a value at the step of a group's runs that stands for the paper's."""
    ours = {theirs: own for own, theirs in experiment.runs[group].paper_steps.items()}
    step = getattr(value, "step", None)
    return value.model_copy(update={"step": ours[step]}) if step in ours else value


class CellGain(Gain):
    """Of rows of a table in some columns, or of columns in some rows."""

    #: Table that has them.
    table: Id
    rows: list[OneLine] = Field(
        min_length=1, description="as the table names them, or ids of the runs that it chooses"
    )
    #: By the headers of the table.
    columns: list[OneLine] = Field(min_length=1)
    #: Rows that these are compared with, in each of the columns.
    over_rows: list[OneLine] | None = Field(default=None, min_length=1)
    #: Columns that these are compared with, in each of the rows.
    over_columns: list[OneLine] | None = Field(default=None, min_length=1)
    mean: bool = Field(
        default=False, description="the mean of the columns counts, or of the rows, not the worst"
    )

    @model_validator(mode="after")
    def _rows_or_columns(self) -> CellGain:
        return exactly_one(self, ("over_rows", "over_columns"))

    def sides(self, results: Results) -> list[Side]:
        cells = cells_of(results, self.table)

        def at(rows: Sequence[str], columns: Sequence[str]) -> list[Cell]:
            return [cells.get((row, column), Cell()) for row in rows for column in columns]

        if self.over_rows:
            return [(at(self.rows, [c]), at(self.over_rows, [c])) for c in self.columns]
        return [(at([r], self.columns), at([r], self.over_columns or ())) for r in self.rows]

    def differences(self, sides: list[Side], of: Value) -> list[Difference]:
        """Return all; of a mean it alone, whose error is known where there is none."""
        if not self.mean:
            return super().differences(sides, of)
        by_side = [super(CellGain, self).differences([side], of) for side in sides]
        if not all(by_side):
            return []
        exact = all(cell.exact for side in sides for half in side for cell in half)
        return [Difference(fmean(min(d.value for d in each) for each in by_side), known=exact)]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        rows = [*self.rows, *(self.over_rows or ())]
        columns = [*self.columns, *(self.over_columns or ())]
        return missing_places(experiment, key, self.table, rows, columns)


def axes(experiment: Experiment, table: str) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return the names of a table's rows and columns; None of one whose cells no claim reads."""
    options = experiment.tables.get(table)
    if isinstance(options, ValueTable):
        return options.runs, [column.header for column in options.columns_of(experiment.index)]
    if isinstance(options, ModelsByLanguageTable):
        return options.row_labels, list(options.columns)
    if isinstance(options, FertilityTable):
        of_corpora = [(c, experiment.corpora[c].language) for c in experiment.fertility.corpora]
        columns = [f"{language_label(language)} {corpus}" for corpus, language in of_corpora]
        return experiment.fertility.tokenizers, columns
    return None


def missing_places(
    experiment: Experiment, key: str, table: str, rows: Sequence[str], columns: Sequence[str]
) -> Iterator[str]:
    """Yield the rows and columns that a table lacks; models that are not run here may be among the
    columns that the paper prints.
    """
    if (known := axes(experiment, table)) is None:
        tables = [name for name in experiment.tables if axes(experiment, name)]
        yield unknown(f"{key}.table", table, tables, "table of runs, languages or fertility")
        return
    yield from unknowns(f"{key}.rows", rows, known[0], f"row of {table!r}")
    if left := [column for column in columns if column not in known[1]]:
        printed = [cell.column for cell in read_published(experiment.paper_values).cells(table)]
        headers = dict.fromkeys([*known[1], *printed])
        yield from unknowns(f"{key}.columns", left, headers, f"column of {table!r}, also printed,")


@lru_cache(maxsize=16)
def cells_of(results: Results, table: str) -> dict[tuple[str, str], Cell]:
    """Return a table's cells by row and column, those that the paper alone has among them; rows of
    chosen runs by their ids. It is built once for all statements.
    """
    options = results.experiment.tables[table]
    chosen = options.labels(results) if isinstance(options, ValueTable) else {}
    ids = {place: run for run, place in chosen.items()}

    cells = options.build(results).places()
    for printed in results.paper.cells(table):
        cell = cells.setdefault(printed.place, Cell())
        if printed.value is not None:
            cell.published = printed.value / cell.scale
    return {
        (ids.get((block, row)) or (f"{block}, {row}" if ids else row), column): cell
        for (block, row, column), cell in cells.items()
    }


class Mean(Measure):
    """The greatest distance, over the rows of tables, of a column from the weighted mean of others.
    Rows that lack one of the columns say nothing.
    """

    #: Tables that have it.
    tables: list[Id] = Field(min_length=1)
    #: Column of which the mean is taken.
    column: OneLine
    weights: dict[OneLine, Weight] = Field(
        min_length=1, description="columns and what they weigh in the mean, such as their tasks"
    )

    def measured(self, results: Results) -> Measured:
        tables = [cells_of(results, table) for table in self.tables]
        printed, ours = (self._distance(tables, of) for of in (PRINTED, OURS))
        return Measured.exactly("{:.2f}".format, printed, ours)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for table in self.tables:
            yield from missing_places(experiment, key, table, (), [self.column, *self.weights])

    def _distance(self, tables: list[dict[tuple[str, str], Cell]], of: Value) -> float | None:
        distances = []
        for cells in tables:
            rows: dict[str, dict[str, float]] = {}
            for (row, column), cell in cells.items():
                if (value := of(cell)) is not None:
                    rows.setdefault(row, {})[column] = value * cell.scale
            for values in rows.values():
                if {self.column, *self.weights} <= values.keys():
                    mean = fmean([values[name] for name in self.weights], self.weights.values())
                    distances.append(abs(values[self.column] - mean))
        return max(distances, default=None)


class SharedTokens(Measure):
    """Tokens that two vocabularies share, spellings compared as the SAVA release does."""

    source: TokenizerId
    target: TokenizerId

    def measured(self, results: Results) -> Measured:
        path = ("intersections", f"{self.source}--{self.target}", "report.json")
        counts = (results.json(*path) or {}).get("shared_by", {})
        measured = Measured.exactly("{:,.10g}".format, None, counts.get("marker"))
        by_bytes = counts.get("bytes")
        remark = "" if by_bytes is None else f" by marker; {by_bytes:,} by bytes"
        return replace(measured, remark=remark)

    def needs(self, layout: Layout) -> list[str]:
        pair = (self.source, self.target)
        return [manifest(layout.paths.intersection(*pair))] if pair in layout.intersections else []


#: Columns in which a paper's table of parameters prints sizes.
PRINTED_SIZES = {"vocabulary_size": "Vocabulary", "parameters": "Parameters"}


class SizeFall(Measure):
    """By how much a model of ``parameters`` is smaller than another, both named by label."""

    any_scale: ClassVar[bool] = True

    #: What becomes smaller.
    of: Literal["vocabulary_size", "parameters"]
    source: ModelLabel
    target: ModelLabel
    #: A share of the source's size, or a count.
    share: bool = True

    def measured(self, results: Results) -> Measured:
        def show(value: float) -> str:
            return f"{100 * value:.1f} %" if self.share else f"{value / 1e9:.2f} B"

        def fall(before: float | None, after: float | None) -> float | None:
            if not before or after is None:
                return None
            return (before - after) / before if self.share else before - after

        models, column = (self.source, self.target), PRINTED_SIZES[self.of]
        sizes = {row["label"]: number(row[self.of]) for row in results.csv(SIZES)}
        printed = fall(*(results.paper.value("", model, column) for model in models))
        return Measured.exactly(show, printed, fall(*map(sizes.get, models)))

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.parameters]


class Product(Measure):
    """The product of numbers that the paper gives: its arithmetic alone."""

    any_scale: ClassVar[bool] = True

    #: Numbers that are multiplied.
    factors: list[float] = Field(min_length=2)

    def measured(self, results: Results) -> Measured:
        return Measured("{:,.10g}".format, printed=math.prod(self.factors))
