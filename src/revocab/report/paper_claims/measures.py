"""What a statement measures: one number, from the paper's printed values and from our results."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from revocab import closed
from revocab.evaluation.over_seeds import Difference
from revocab.report.annotations import Experiment, Layout
from revocab.report.kind import manifest
from revocab.report.results import Results, number

ModelLabel = Annotated[closed.OneLine, closed.Refers("label in parameters")]


def lead(ours: Sequence[float | None], others: Sequence[float | None]) -> float | None:
    """Return by how much the least of ours is above the greatest of others; None without one."""
    known = [value for value in ours if value is not None]
    against = [value for value in others if value is not None]
    if len(known) < len(ours) or len(against) < len(others):
        return None
    return min(known) - max(against)


class Measure(closed.Closed):
    """What a claim is about; the hooks say nothing where a measure has nothing to say. A number of
    ours is exact unless it is a :class:`Comparison`.
    """

    #: Whether it follows from names and sizes, so that a smaller run tests it as well.
    any_scale: ClassVar[bool] = False

    def published(self, results: Results) -> float | None:
        return None

    def ours(self, results: Results) -> float | None:
        return None

    def interval(self, results: Results) -> tuple[float, float] | None:
        """Return the 95 % interval of our number, both ends equal where it has no error; None
        where its error is not known.
        """
        value = self.ours(results)
        return None if value is None else (value, value)

    def shown(self, value: float) -> str:
        return f"{value:,.10g}"

    def remark(self, results: Results) -> str:
        return ""

    def problems(self, experiment: Experiment, key: str) -> Iterable[str]:
        return ()

    def needs(self, layout: Layout) -> Iterable[str]:
        return ()

    def scores(self, experiment: Experiment) -> Iterable[tuple[str, str]]:
        return ()


class Comparison(Measure):
    """The least of some differences, each of which has an error."""

    @abstractmethod
    def differences(self, results: Results) -> list[Difference]:
        """Return our differences; none where a number is missing."""

    def ours(self, results: Results) -> float | None:
        return min((found.value for found in self.differences(results)), default=None)

    def interval(self, results: Results) -> tuple[float, float] | None:
        """Return the interval of the least: that all lie above its low end needs each interval by
        itself, that one lies below its high end all of them at once.
        """
        differences = self.differences(results)
        alone = [found.interval() for found in differences]
        at_once = [found.interval(len(differences)) for found in differences]
        lows = [ends[0] for ends in alone if ends is not None]
        highs = [ends[1] for ends in at_once if ends is not None]
        if not differences or len(lows) < len(differences) or len(highs) < len(differences):
            return None
        return min(lows), min(highs)


class SharedTokens(Measure):
    """Tokens that two vocabularies share, spellings compared as the SAVA release does."""

    source: closed.TokenizerId
    target: closed.TokenizerId

    def ours(self, results: Results) -> float | None:
        return self._counts(results).get("marker")

    def remark(self, results: Results) -> str:
        count = self._counts(results).get("bytes")
        return "" if count is None else f" by marker; {count:,} by bytes"

    def needs(self, layout: Layout) -> list[str]:
        pair = (self.source, self.target)
        return [manifest(layout.paths.intersection(*pair))] if pair in layout.intersections else []

    def _counts(self, results: Results) -> dict[str, int]:
        path = ("intersections", f"{self.source}--{self.target}", "report.json")
        return (results.json(*path) or {}).get("shared_by", {})


class FertilityFall(Measure):
    """Share by which fertility falls between two tokenizers, mean over corpora."""

    source: closed.MeasuredTokenizerId
    target: closed.MeasuredTokenizerId
    #: Corpora on which it is measured.
    corpora: list[closed.MeasuredCorpusId] = Field(min_length=1)

    def published(self, results: Results) -> float | None:
        return self._fall(results.paper.fertility)

    def ours(self, results: Results) -> float | None:
        rows = results.measured_tokenizers
        return self._fall(lambda *place: number(rows.get(place, {}).get("fertility")))

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %"

    def needs(self, layout: Layout) -> list[str]:
        return [manifest(layout.paths.fertility)]

    def _fall(self, fertility: Callable[[str, str], float | None]) -> float | None:
        pairs = [(fertility(self.source, c), fertility(self.target, c)) for c in self.corpora]
        falls = [1 - after / before for before, after in pairs if before and after is not None]
        return math.fsum(falls) / len(pairs) if len(falls) == len(pairs) else None


class SizeFall(Measure):
    """By how much a model of ``parameters`` is smaller than another, both named by label."""

    any_scale: ClassVar[bool] = True

    #: What becomes smaller.
    of: Literal["vocabulary_size", "parameters"]
    source: ModelLabel
    target: ModelLabel
    #: A share of the source's size, or a count.
    share: bool = True

    def published(self, results: Results) -> float | None:
        models = (self.source, self.target)
        return self._fall(*(results.paper.size(model, self.of) for model in models))

    def ours(self, results: Results) -> float | None:
        sizes = {row["label"]: number(row[self.of]) for row in results.csv("parameters.csv")}
        return self._fall(sizes.get(self.source), sizes.get(self.target))

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %" if self.share else f"{value / 1e9:.2f} B"

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.parameters]

    def _fall(self, before: float | None, after: float | None) -> float | None:
        if not before or after is None:
            return None
        return (before - after) / before if self.share else before - after


class Product(Measure):
    """The product of numbers that the paper gives: its arithmetic alone."""

    any_scale: ClassVar[bool] = True

    #: Numbers that are multiplied.
    factors: list[float] = Field(min_length=2)

    def published(self, results: Results) -> float | None:
        return math.prod(self.factors)
