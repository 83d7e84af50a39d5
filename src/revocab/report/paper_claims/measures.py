"""What a statement measures: one number, from the paper's printed values and from our results."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from revocab.closed import (
    GroupId,
    Id,
    MeasuredCorpusId,
    MeasuredTokenizerId,
    OneLine,
    Refers,
    ShownRunId,
    TaskLanguage,
    TokenizerId,
)
from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.over_seeds import Difference
from revocab.limits import StepNumber
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import Place as ShownPlace
from revocab.report.kind import Shows, manifest
from revocab.report.references import of_group, unknowns, unspoken, without_families
from revocab.report.results import Results, number
from revocab.report.runs import RunIndex, choices_in
from revocab.report.values import HelperSimilarity, OneValue, RunValue, TaskScore, difference

ModelLabel = Annotated[OneLine, Refers("label in parameters")]


def lead(ours: Sequence[float | None], others: Sequence[float | None]) -> float | None:
    """Return by how much the least of ours is above the greatest of others; None without one."""
    known = [value for value in ours if value is not None]
    against = [value for value in others if value is not None]
    if len(known) < len(ours) or len(against) < len(others):
        return None
    return min(known) - max(against)


class Measure(Shows):
    """What a claim is about. A number of ours is exact unless it is a :class:`Comparison`."""

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


#: A number of a run; and some of these, or what is printed of them, with those that they are
#: compared with and those that the differences are shares of (none: no shares).
Place = tuple[RunValue, Run]
Side = tuple[list[Place], list[Place], list[Place]]
Printed = tuple[list[float | None], list[float | None], list[float | None]]


def least(values: Iterable[float | None]) -> float:
    return min((abs(value) for value in values if value), default=1.0)


class Comparison(Measure):
    """The least of some differences, each of which has an error."""

    def sides(self, results: Results) -> list[Side]:
        """Return what is compared; none where a run is missing."""
        return []

    def printed(self, results: Results) -> list[Printed]:
        return []

    def published(self, results: Results) -> float | None:
        gains = []
        for ours, others, whole in self.printed(results):
            gain = lead(ours, others)
            gains.append(gain and gain / least(whole))
        known = [gain for gain in gains if gain is not None]
        return min(known) if known and len(known) == len(gains) else None

    def differences(self, results: Results) -> list[Difference]:
        """Return our differences; none where a number is missing."""
        found: list[Difference] = []
        for ours, others, whole in self.sides(results):
            parts = [difference(results, first, other) for first in ours for other in others]
            known = [part for part in parts if part is not None]
            if not known or len(known) < len(parts):
                return []
            shares = least(value.cell(results, run).value for value, run in whole)
            found += [scaled(part, 1 / shares) for part in known]
        return found

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

    source: TokenizerId
    target: TokenizerId

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

    source: MeasuredTokenizerId
    target: MeasuredTokenizerId
    #: Corpora on which it is measured.
    corpora: list[MeasuredCorpusId] = Field(min_length=1)

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


def scaled(found: Difference, factor: float) -> Difference:
    return replace(
        found,
        value=factor * found.value,
        item_error=factor * found.item_error,
        deviation=factor * found.deviation,
    )


class Gain(Comparison):
    """By how many points the worst of some runs of a group is above the best of others."""

    group: GroupId
    #: Runs that are compared.
    runs: list[Id] = Field(min_length=1)
    #: Run that the others are compared with.
    over: list[Id] = Field(min_length=1)
    #: Steps of the paper; ``paper_steps`` of the group says which of ours stand for them.
    step: StepNumber
    #: Step of those in ``over``; none: the same.
    over_step: StepNumber | None = None

    def printed(self, results: Results) -> list[Printed]:
        second = self.step if self.over_step is None else self.over_step
        ours, others = (
            [self._printed(results, name, step) for name in names]
            for names, step in ((self.runs, self.step), (self.over, second))
        )
        return [(ours, others, [])]

    def sides(self, results: Results) -> list[Side]:
        named = {run.name: run for run in results.group(self.group)}

        def places(names: Sequence[str], step: int) -> list[Place]:
            found: list[Place] = []
            for run in [named[name] for name in names if name in named]:
                at = [own for own in run.steps if results.published_place(run, own)[1] == step]
                found += [(self._value(results, own), run) for own in at[:1]]
            return found

        second = self.step if self.over_step is None else self.over_step
        ours, others = places(self.runs, self.step), places(self.over, second)
        known = len(ours) == len(self.runs) and len(others) == len(self.over)
        return [(ours, others, [])] if known else []

    def shown(self, value: float) -> str:
        return f"{100 * value:+.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        known = [run.name for run in experiment.index.group(self.group, evaluated=False)]
        names = [*self.runs, *self.over]
        yield from unknowns(key, names, known, f"run of group {self.group!r}")

    @abstractmethod
    def _printed(self, results: Results, name: str, step: int) -> float | None:
        """Return the paper's value of a run at one of its steps."""

    @abstractmethod
    def _value(self, results: Results, step: int) -> RunValue:
        """Return our value at one of our steps."""


class ScoreGain(Gain):
    """Of multiple-choice scores in a language: of one family, or (none) of their average."""

    language: TaskLanguage
    #: Tasks of one family; none: the mean of all.
    family: Id | None = None

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from super().problems(experiment, key)
        yield from without_families(experiment, f"{key}.family", self.language, self._families)
        yield from unspoken(experiment, key, self.group, self.language)

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
        from revocab.experiment.lineage import learns_new_rows  # stands on the schema

        if not learns_new_rows(layout.experiment.runs[self.group]):
            return []
        return [manifest(layout.paths.similarity(self.group))]

    def _printed(self, results: Results, name: str, step: int) -> float | None:
        label = results.experiment.runs[self.group].label
        return results.paper.similarity(label, step, name)

    def _value(self, results: Results, step: int) -> RunValue:
        return HelperSimilarity(step=step)


class TextGain(Gain):
    """Of the metric of a generative task."""

    #: Generative task.
    task: Id
    #: One that its kind computes.
    metric: OneLine

    def shown(self, value: float) -> str:
        return f"{value:+.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from super().problems(experiment, key)
        tasks = experiment.evaluation.generation.tasks
        yield from unknowns(f"{key}.task", [self.task], tasks, "generation task")
        yield from unknowns(f"{key}.metric", [self.metric], metrics(), "metric")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, [self.task])

    def _printed(self, results: Results, name: str, step: int) -> float | None:
        label = results.experiment.runs[self.group].label
        return results.paper.generation(label, step, name, self.task, self.metric)

    def _value(self, results: Results, step: int) -> RunValue:
        return TaskScore(task=self.task, metric=self.metric, step=step)


class ValueFall(Comparison):
    """By how much a number of the worst of some runs is below the best of others, lower being
    better; means over seeds.
    """

    value: OneValue = Field(description="as a column of a table of kind runs")
    #: Runs that have the lower value.
    runs: list[ShownRunId] = Field(min_length=1)
    #: Runs that have the higher value.
    below: list[ShownRunId] = Field(min_length=1)
    below_value: OneValue | None = Field(
        default=None, description="another number of those in below; default: the same"
    )
    share: bool = Field(default=False, description="as a share of the others' number")

    def sides(self, results: Results) -> list[Side]:
        below, runs = (
            [(value.value, results.run(run)) for run in runs]
            for value, runs in ((self._others, self.below), (self.value, self.runs))
        )
        return [(below, runs, below if self.share else [])]

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %" if self.share else f"{value:.3f}"

    def remark(self, results: Results) -> str:
        runs = [results.replicates(results.run(run)) for run in (*self.runs, *self.below)]
        several = [{training.seed for training in run} for run in runs if len(run) > 1]
        seeds = sorted(set.intersection(*several)) if several else []
        falls = [self._fall_of_seed(results, seed) for seed in seeds]
        listed = ", ".join(self.shown(fall) for fall in falls if fall is not None)
        return f" (by seed: {listed})" if listed else ""

    def places(self, index: RunIndex) -> Iterator[ShownPlace]:
        for key, named, runs in (
            ("value", self.value, self.runs),
            ("below_value", self._others, self.below),
        ):
            yield from (ShownPlace(named.value, index.run(run), key=key) for run in runs)

    @property
    def _others(self) -> OneValue:
        return self.below_value or self.value

    def _fall_of_seed(self, results: Results, seed: int) -> float | None:
        """Return the fall of one seed; a run without replicates stands for every seed."""

        def values(runs: Sequence[str], value: OneValue) -> list[float | None]:
            every = [results.replicates(results.run(run)) for run in runs]
            shown = [next((r for r in runs if r.seed == seed), runs[0]) for runs in every]
            return [value.value.cell(results, run).value for run in shown]

        others = values(self.below, self._others)
        fall = lead(others, values(self.runs, self.value))
        if fall is None or not self.share:
            return fall
        return fall / min(value for value in others if value is not None)
