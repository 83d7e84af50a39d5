"""Statements of a paper or an experiment file, each with its printed number and ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, OneLine, exactly_one
from revocab.report.annotations import Experiment, Layout
from revocab.report.kind import Place, TableOptions
from revocab.report.measures import (
    CellGain,
    Mean,
    Measure,
    Product,
    RunGain,
    SharedTokens,
    Show,
    SizeFall,
)
from revocab.report.results import Results
from revocab.report.runs import RunIndex
from revocab.report.table import MISSING, Row, Table, text

VERDICTS = {True: "holds", False: "does not hold", None: "cannot tell"}
OF_THE_PAPER = ("Printed values", "They say")
COLUMNS = ("Claim", "Where", "Holds if", *OF_THE_PAPER, "Our values", "We say")
NOT_PRINTED = "not printed"
#: Bounds are met up to this share of them: printed decimals have no exact binary form.
SLACK = 1e-9
#: Keys of a statement that are no measure.
WORDS = ("says", "place", "at_least", "at_most")


class PaperClaim(Closed):
    """A statement: its words, where it stands, a measure, and the bounds between which it holds."""

    #: The statement.
    says: OneLine
    #: Where the paper says so; without it the claim is no paper's, and so at its own scale.
    place: OneLine | None = None
    #: The least that the measure may be.
    at_least: float | None = None
    #: The most that it may be.
    at_most: float | None = None
    gain: RunGain | None = None
    cell_gain: CellGain | None = None
    mean: Mean | None = None
    shared_tokens: SharedTokens | None = None
    size_fall: SizeFall | None = None
    product: Product | None = None

    @model_validator(mode="after")
    def _one_measure_and_a_bound(self) -> PaperClaim:
        exactly_one(self, tuple(key for key in PaperClaim.model_fields if key not in WORDS))
        if self.at_least is None and self.at_most is None:
            raise ValueError("at_least or at_most must be given, received neither")
        return self

    @property
    def name(self) -> str:
        return next(key for key, value in self if key not in WORDS and value is not None)

    @property
    def measure(self) -> Measure:
        return getattr(self, self.name)

    def holds(self, low: float, high: float | None = None) -> bool | None:
        """Return whether a number is within the bounds: one without an error, or anywhere from
        ``low`` to ``high``; None (cannot tell) where the bounds part these.
        """
        high = low if high is None else high
        least = -math.inf if self.at_least is None else self.at_least - SLACK * abs(self.at_least)
        most = math.inf if self.at_most is None else self.at_most + SLACK * abs(self.at_most)
        if least <= low and high <= most:
            return True
        return False if high < least or low > most else None

    def bounds(self, show: Show) -> str:
        ends = (self.at_least, self.at_most)
        low, high = ("" if limit is None else show(limit) for limit in ends)
        if not (low and high):
            return f"at least {low}" if low else f"at most {high}"
        return low if low == high else f"{low} to {high}"

    def texts(self, results: Results) -> list[str]:
        measured = self.measure.measured(results)
        # A smaller copy of the paper's experiment has fewer steps, or few items.
        smaller = results.experiment.evaluation.multiple_choice.limit is not None
        smaller = smaller or any(group.paper_steps for group in results.experiment.runs.values())
        if measured.ours is None:
            verdict = "not measured here"
        elif self.place and smaller and not self.measure.any_scale:
            verdict = "cannot be tested at this scale"
        else:
            ends = measured.interval
            verdict = VERDICTS[None if ends is None else self.holds(*ends)]
        printed, said = MISSING, NOT_PRINTED
        if measured.printed is not None:
            printed = measured.show(measured.printed)
            said = VERDICTS[self.holds(measured.printed)]
        where, bounds = self.place or "not in a paper", self.bounds(measured.show)
        return [self.says, where, bounds, printed, said, measured.our_values(), verdict]


class ClaimsTable(TableOptions):
    """Table of a paper's statements."""

    kind: Literal["claims"]
    claims: list[PaperClaim] = Field(min_length=1)

    def build(self, results: Results) -> Table:
        """Return a row per statement, in the order of the file. Where no statement has printed
        numbers, the columns for them are left out.
        """
        rows = [dict(zip(COLUMNS, claim.texts(results), strict=True)) for claim in self.claims]
        printed = any(row["They say"] != NOT_PRINTED for row in rows)
        columns = [name for name in COLUMNS if printed or name not in OF_THE_PAPER]
        return Table(columns, [Row([text(row[c]) for c in columns]) for row in rows], texts=True)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for place, claim in enumerate(self.claims):
            yield from claim.measure.problems(experiment, f"{key}.claims.{place}.{claim.name}")

    def places(self, index: RunIndex) -> Iterator[Place | None]:
        for claim in self.claims:
            yield from claim.measure.places(index)

    def needs(self, layout: Layout) -> Iterator[str]:
        for claim in self.claims:
            yield from claim.measure.needs(layout)

    def limited(self, results: Results) -> None:
        """Return None: what is too small to be tested says so itself."""


TABLE = ClaimsTable
