"""Statements of a paper, each with the number behind it: as printed, and ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.report import notes
from revocab.report.kind import TableOptions
from revocab.report.paper_claims.claim import PaperClaim, smaller
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

VERDICTS = {True: "holds", False: "does not hold"}
OF_THE_PAPER = ("Printed values", "They say")
COLUMNS = ("Claim", "Where", "Holds if", *OF_THE_PAPER, "Our values", "We say")
NOT_PRINTED = "not printed"
NOT_MEASURED = "not measured here"
TOO_SMALL = "cannot be tested at this scale"


class ClaimsTable(TableOptions):
    """Table of a paper's statements."""

    kind: Literal["claims"]
    claims: list[PaperClaim] = Field(min_length=1)

    def build(self, results: Results) -> Table:
        """Return a row per statement, in the order of the file.

        Where no statement has printed numbers, the columns for them are left out.
        """
        rows = [dict(zip(COLUMNS, texts_of(results, claim), strict=True)) for claim in self.claims]
        printed = any(row["They say"] != NOT_PRINTED for row in rows)
        columns = [name for name in COLUMNS if printed or name not in OF_THE_PAPER]
        sources = "the printed tables and from our results" if printed else "our results"
        return Table(
            columns,
            [Row([text(row[name]) for name in columns]) for row in rows],
            [
                f"Computed from {sources} by one rule. Gains are in points; of several runs the "
                "worst counts, against the best of those named after it.",
                *notes.synthetic(results),
            ],
            texts=True,
        )

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for place, claim in enumerate(self.claims):
            yield from claim.measure.problems(experiment, f"{key}.claims.{place}")

    def needs(self, layout: Layout) -> list[str]:
        files = [file for claim in self.claims for file in claim.measure.needs(layout)]
        return list(dict.fromkeys(files))

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for claim in self.claims:
            yield from claim.measure.scores(experiment)

    def limited(self, results: Results) -> None:
        """Return None: what is too small to be tested says so itself."""


def texts_of(results: Results, claim: PaperClaim) -> list[str]:
    measure = claim.measure
    printed, ours = measure.published(results), measure.ours(results)
    return [
        claim.says,
        claim.place,
        claim.bounds(),
        MISSING if printed is None else measure.shown(printed),
        NOT_PRINTED if printed is None else VERDICTS[claim.holds(printed)],
        MISSING if ours is None else measure.shown(ours) + measure.remark(results),
        verdict(results, claim, ours),
    ]


def verdict(results: Results, claim: PaperClaim, ours: float | None) -> str:
    if ours is None:
        return NOT_MEASURED
    if smaller(results) and not claim.measure.any_scale:
        return TOO_SMALL
    return VERDICTS[claim.holds(ours)]


TABLE = ClaimsTable
