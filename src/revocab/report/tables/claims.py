"""Statements of a paper, each with the number behind it: as printed, and ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, OneLine, exactly_one
from revocab.report.annotations import Experiment, Layout
from revocab.report.kind import TableOptions
from revocab.report.paper_claims import measures
from revocab.report.paper_claims.cells import CellGain, CellMean, RowGain
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, text

VERDICTS = {True: "holds", False: "does not hold", None: "cannot tell"}
OF_THE_PAPER = ("Printed values", "They say")
COLUMNS = ("Claim", "Where", "Holds if", *OF_THE_PAPER, "Our values", "We say")
NOT_PRINTED = "not printed"
#: Bounds are met up to this share of them: printed decimals have no exact binary form.
SLACK = 1e-9
#: Keys of a statement that are no measure.
WORDS = ("says", "place", "at_least", "at_most")


class PaperClaim(Closed):
    """One statement: its words, where it stands, one measure, and the bounds within which it holds.

    Shares are fractions, and so are gains: 0.04 is 4 points.
    """

    #: The statement.
    says: OneLine
    #: Where the paper says so; without it the claim is no paper's, and so at its own scale.
    place: OneLine | None = None
    #: The least that the measure may be.
    at_least: float | None = None
    #: The most that it may be.
    at_most: float | None = None
    shared_tokens: measures.SharedTokens | None = None
    fertility_fall: measures.FertilityFall | None = None
    size_fall: measures.SizeFall | None = None
    score_gain: measures.ScoreGain | None = None
    similarity_gain: measures.SimilarityGain | None = None
    text_gain: measures.TextGain | None = None
    value_fall: measures.ValueFall | None = None
    row_gain: RowGain | None = None
    cell_gain: CellGain | None = None
    cell_mean: CellMean | None = None
    product: measures.Product | None = None

    @model_validator(mode="after")
    def _one_measure_and_a_bound(self) -> PaperClaim:
        exactly_one(self, tuple(key for key in PaperClaim.model_fields if key not in WORDS))
        if self.at_least is None and self.at_most is None:
            raise ValueError("at_least or at_most must be given, received neither")
        return self

    @property
    def measure(self) -> measures.Measure:
        return next(value for key, value in self if key not in WORDS and value is not None)

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

    def bounds(self) -> str:
        show, limits = self.measure.shown, (self.at_least, self.at_most)
        low, high = ("" if limit is None else show(limit) for limit in limits)
        if low == high:
            return low
        if not high:
            return f"at least {low}"
        return f"{low} to {high}" if low else f"at most {high}"

    def texts(self, results: Results) -> list[str]:
        measure = self.measure
        printed, ours = measure.published(results), measure.ours(results)
        interval = measure.interval(results)
        if ours is None:
            verdict = "not measured here"
        elif self.place and smaller(results) and not measure.any_scale:
            verdict = "cannot be tested at this scale"
        else:
            verdict = VERDICTS[None if interval is None else self.holds(*interval)]
        shown = MISSING if ours is None else measure.shown(ours) + measure.remark(results)
        if ours is not None and interval is None:
            shown += ", no error known"
        elif interval is not None and interval[0] < interval[1]:
            shown += f", 95 % interval {' to '.join(map(measure.shown, interval))}"
        return [
            self.says,
            self.place or "not in a paper",
            self.bounds(),
            MISSING if printed is None else measure.shown(printed),
            NOT_PRINTED if printed is None else VERDICTS[self.holds(printed)],
            shown,
            verdict,
        ]


def smaller(results: Results) -> bool:
    """Return whether the experiment is a smaller copy of the paper's: fewer steps, or few items."""
    limited = results.experiment.evaluation.multiple_choice.limit is not None
    return limited or any(group.paper_steps for group in results.experiment.runs.values())


class ClaimsTable(TableOptions):
    """Table of a paper's statements."""

    kind: Literal["claims"]
    claims: list[PaperClaim] = Field(min_length=1)

    def build(self, results: Results) -> Table:
        """Return a row per statement, in the order of the file.

        Where no statement has printed numbers, the columns for them are left out.
        """
        rows = [dict(zip(COLUMNS, claim.texts(results), strict=True)) for claim in self.claims]
        printed = any(row["They say"] != NOT_PRINTED for row in rows)
        columns = [name for name in COLUMNS if printed or name not in OF_THE_PAPER]
        return Table(columns, [Row([text(row[c]) for c in columns]) for row in rows], texts=True)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for place, claim in enumerate(self.claims):
            yield from claim.measure.problems(experiment, f"{key}.claims.{place}")

    def needs(self, layout: Layout) -> Iterator[str]:
        for claim in self.claims:
            yield from claim.measure.needs(layout)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for claim in self.claims:
            yield from claim.measure.scores(experiment)

    def limited(self, results: Results) -> None:
        """Return None: what is too small to be tested says so itself."""


TABLE = ClaimsTable
