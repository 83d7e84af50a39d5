"""What the statements of a paper are about: sizes, fertility, gains of scores and of similarity.

Every measure gives one number twice: from the paper's printed values, and from our results.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from revocab.closed import Id, OneLine, unknown
from revocab.report.asked import choices_in, of_group
from revocab.report.kind import manifest
from revocab.report.paper_claims.measure import Measure
from revocab.report.references import no_choices, other_languages, unknown_groups
from revocab.report.results import Results, number
from revocab.report.values.run_value import RunValue
from revocab.report.values.similarity import HelperSimilarity
from revocab.report.values.task_scores import TaskScore

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment


class SharedTokens(Measure):
    """Tokens that two vocabularies share, spellings compared as the SAVA release does."""

    source: Id
    target: Id

    def ours(self, results: Results) -> float | None:
        return self._counts(results).get("marker")

    def remark(self, results: Results) -> str:
        count = self._counts(results).get("bytes")
        return "" if count is None else f" by marker; {count:,} by bytes"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for one in (self.source, self.target):
            if one not in experiment.tokenizers:
                yield unknown(key, one, experiment.tokenizers, "tokenizer")

    def needs(self, layout: Layout) -> list[str]:
        pair = (self.source, self.target)
        return [manifest(layout.paths.intersection(*pair))] if pair in layout.intersections else []

    def _counts(self, results: Results) -> dict[str, int]:
        path = ("intersections", f"{self.source}--{self.target}", "report.json")
        return (results.json(*path) or {}).get("shared_by", {})


class FertilityFall(Measure):
    """Share by which fertility falls between two tokenizers, mean over corpora."""

    source: Id
    target: Id
    corpora: list[Id] = Field(min_length=1)

    def published(self, results: Results) -> float | None:
        found = {}
        for corpus in self.corpora:
            for one in (self.source, self.target):
                found[one, corpus] = results.paper.fertility(one, corpus)
        return self._fall(found)

    def ours(self, results: Results) -> float | None:
        rows = results.csv("fertility", "fertility.csv")
        return self._fall({(r["tokenizer"], r["corpus"]): number(r["fertility"]) for r in rows})

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        setting = experiment.fertility
        for one in (self.source, self.target):
            if one not in setting.tokenizers:
                yield unknown(key, one, setting.tokenizers, "tokenizer in fertility.tokenizers")
        for one in self.corpora:
            if one not in setting.corpora:
                yield unknown(key, one, setting.corpora, "corpus in fertility.corpora")

    def needs(self, layout: Layout) -> list[str]:
        return [manifest(layout.paths.fertility)]

    def _fall(self, found: dict[tuple[str, str], float | None]) -> float | None:
        pairs = [(found.get((self.source, c)), found.get((self.target, c))) for c in self.corpora]
        falls = [1 - after / before for before, after in pairs if before and after is not None]
        return math.fsum(falls) / len(pairs) if len(falls) == len(pairs) else None


class SizeFall(Measure):
    """By how much a model of ``parameters`` is smaller than another, both named by label."""

    any_scale: ClassVar[bool] = True

    of: Literal["vocabulary_size", "parameters"]
    source: OneLine
    target: OneLine
    #: A share of the source's size, or a count.
    share: bool = True

    def published(self, results: Results) -> float | None:
        return self._fall(*(results.paper.size(one, self.of) for one in (self.source, self.target)))

    def ours(self, results: Results) -> float | None:
        sizes = {row["label"]: number(row[self.of]) for row in results.csv("parameters.csv")}
        return self._fall(sizes.get(self.source), sizes.get(self.target))

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %" if self.share else f"{value / 1e9:.2f} B"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        known = [one.label for one in experiment.parameters]
        for one in (self.source, self.target):
            if one not in known:
                yield unknown(key, one, known, "label in parameters")

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.parameters]

    def _fall(self, before: float | None, after: float | None) -> float | None:
        if not before or after is None:
            return None
        return (before - after) / before if self.share else before - after


class Gain(Measure):
    """By how many points the worst of some runs of a group is above the best of others."""

    group: Id
    runs: list[Id] = Field(min_length=1)
    over: list[Id] = Field(min_length=1)
    #: Steps of the paper; ``paper_steps`` of the group says which of ours stand for them.
    step: int = Field(ge=0)
    #: Step of those in ``over``; none: the same.
    over_step: int | None = Field(default=None, ge=0)

    def published(self, results: Results) -> float | None:
        return self._gain(lambda name, step: self._printed(results, name, step))

    def ours(self, results: Results) -> float | None:
        named = {run.name: run for run in results.group(self.group)}

        def value(name: str, step: int) -> float | None:
            run = named.get(name)
            if run is None:
                return None
            at = [one for one in run.steps if results.published_place(run, one)[1] == step]
            return self._value(results, at[0]).cell(results, run).value if at else None

        return self._gain(value)

    def shown(self, value: float) -> str:
        return f"{100 * value:+.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unknown_groups(experiment, key, self.group)
        group = experiment.runs.get(self.group)
        from revocab.config.lineage import shown_names  # stands on the schema, which needs kinds

        known = ["base", *group.references, *shown_names(group)] if group else []
        for name in (*self.runs, *self.over) if group else ():
            if name not in known:
                yield unknown(key, name, known, f"run of group {self.group!r}")

    def _gain(self, value: Callable[[str, int], float | None]) -> float | None:
        second = self.step if self.over_step is None else self.over_step
        left = [value(name, self.step) for name in self.runs]
        right = [value(name, second) for name in self.over]
        lowest = min((one for one in left if one is not None), default=0.0)
        highest = max((one for one in right if one is not None), default=0.0)
        return None if None in (*left, *right) else lowest - highest

    @abstractmethod
    def _printed(self, results: Results, name: str, step: int) -> float | None:
        """Return the paper's value of a run at one of its steps."""

    @abstractmethod
    def _value(self, results: Results, step: int) -> RunValue:
        """Return our value at one of our steps."""


class ScoreGain(Gain):
    """Of multiple-choice scores in a language: of one family, or (none) of their average."""

    language: Id
    family: Id | None = None

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from super().problems(experiment, key)
        yield from no_choices(experiment, key, self.language, self._families)
        yield from other_languages(experiment, key, self.group, self.language)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, choices_in(experiment, self.language, self._families))

    @property
    def _families(self) -> list[str] | None:
        return [self.family] if self.family else None

    def _printed(self, results: Results, name: str, step: int) -> float | None:
        place = (results.experiment.runs[self.group].label, step, name)
        return results.paper.multiple_choice(*place, self.family or "avg", self.language)

    def _value(self, results: Results, step: int) -> RunValue:
        if self.family is None:
            return TaskScore.average(self.language, step)
        (task, *_) = results.choice_tasks(self.language, [self.family])
        return TaskScore(task=task, step=step)


class SimilarityGain(Gain):
    """Of similarity to the helper."""

    def needs(self, layout: Layout) -> list[str]:
        from revocab.config.lineage import learns_new_rows  # stands on the schema

        if not learns_new_rows(layout.experiment.runs[self.group]):
            return []
        return [manifest(layout.paths.similarity(self.group))]

    def _printed(self, results: Results, name: str, step: int) -> float | None:
        label = results.experiment.runs[self.group].label
        return results.paper.similarity(label, step, name)

    def _value(self, results: Results, step: int) -> RunValue:
        return HelperSimilarity(step=step)


class Product(Measure):
    """The product of numbers that the paper gives: its arithmetic alone."""

    any_scale: ClassVar[bool] = True

    factors: list[float] = Field(min_length=2)

    def published(self, results: Results) -> float | None:
        return math.prod(self.factors)
