"""One statement of a paper, as an experiment file gives it: its words, a measure and bounds."""

from __future__ import annotations

import math

from pydantic import model_validator

from revocab.closed import Closed, OneLine, exactly_one
from revocab.report.paper_claims.cell_gain import CellGain
from revocab.report.paper_claims.measure import Measure
from revocab.report.paper_claims.measures import (
    FertilityFall,
    Product,
    ScoreGain,
    SharedTokens,
    SimilarityGain,
    SizeFall,
)
from revocab.report.paper_claims.value_fall import ValueFall
from revocab.report.results import Results

#: Bounds are met up to this share of them: printed decimals have no exact binary form.
SLACK = 1e-9

#: Keys of a statement that are no measure.
WORDS = ("says", "place", "at_least", "at_most")


class PaperClaim(Closed):
    """One statement: its words, where it stands, one measure, and the bounds within which it holds.

    Shares are fractions, and so are gains: 0.04 is 4 points.
    """

    says: OneLine
    place: OneLine
    at_least: float | None = None
    at_most: float | None = None
    shared_tokens: SharedTokens | None = None
    fertility_fall: FertilityFall | None = None
    size_fall: SizeFall | None = None
    score_gain: ScoreGain | None = None
    similarity_gain: SimilarityGain | None = None
    value_fall: ValueFall | None = None
    cell_gain: CellGain | None = None
    product: Product | None = None

    @model_validator(mode="after")
    def _one_measure_and_a_bound(self) -> PaperClaim:
        exactly_one(self, tuple(key for key in PaperClaim.model_fields if key not in WORDS))
        if self.at_least is None and self.at_most is None:
            raise ValueError("at_least or at_most must be given, received neither")
        return self

    @property
    def measure(self) -> Measure:
        return next(value for key, value in self if key not in WORDS and value is not None)

    def holds(self, value: float) -> bool:
        low = -math.inf if self.at_least is None else self.at_least - SLACK * abs(self.at_least)
        high = math.inf if self.at_most is None else self.at_most + SLACK * abs(self.at_most)
        return low <= value <= high

    def bounds(self) -> str:
        show, given = self.measure.shown, (self.at_least, self.at_most)
        low, high = ("" if one is None else show(one) for one in given)
        if low == high:
            return low
        if not high:
            return f"at least {low}"
        return f"{low} to {high}" if low else f"at most {high}"


def smaller(results: Results) -> bool:
    """Return whether the experiment is a smaller copy of the paper's: fewer steps, or few items."""
    limited = results.experiment.evaluation.multiple_choice.limit is not None
    return limited or any(group.paper_steps for group in results.experiment.runs.values())
