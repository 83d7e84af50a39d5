"""By how much some runs are above or below others: of a score, of any number."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from revocab.closed import GroupId, Id, OneLine, ShownRunId, TaskLanguage
from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.over_seeds import Difference
from revocab.limits import StepNumber
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import manifest
from revocab.report.paper_claims.measures import Comparison, lead
from revocab.report.references import choices_in, of_group, of_runs, unknowns, unscored_language
from revocab.report.results import Results
from revocab.report.values.one_value import OneValue
from revocab.report.values.run_value import RunValue, difference
from revocab.report.values.task_scores import HelperSimilarity, TaskScore


def all_differences(
    results: Results, ours: Sequence[tuple[RunValue, Run]], others: Sequence[tuple[RunValue, Run]]
) -> list[Difference]:
    """Return each number minus each of the others; none where one is missing."""
    found = [difference(results, first, second) for first in ours for second in others]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else []


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

    def published(self, results: Results) -> float | None:
        second = self.step if self.over_step is None else self.over_step
        return lead(
            [self._printed(results, name, self.step) for name in self.runs],
            [self._printed(results, name, second) for name in self.over],
        )

    def differences(self, results: Results) -> list[Difference]:
        named = {run.name: run for run in results.group(self.group)}

        def places(names: Sequence[str], step: int) -> list[tuple[RunValue, Run]]:
            found = []
            for run in [named[name] for name in names if name in named]:
                at = [own for own in run.steps if results.published_place(run, own)[1] == step]
                found += [(self._value(results, own), run) for own in at[:1]]
            return found

        second = self.step if self.over_step is None else self.over_step
        ours, others = places(self.runs, self.step), places(self.over, second)
        if len(ours) < len(self.runs) or len(others) < len(self.over):
            return []
        return all_differences(results, ours, others)

    def shown(self, value: float) -> str:
        return f"{100 * value:+.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        from revocab.config.lineage import shown_names  # stands on the schema, which needs kinds

        group = experiment.runs.get(self.group)
        if group is not None:
            known = ["base", *group.references, *shown_names(group)]
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
        yield from unscored_language(experiment, key, self.group, self.language, self._families)

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

    def differences(self, results: Results) -> list[Difference]:
        below = [(self._others.value, results.run(run)) for run in self.below]
        runs = [(self.value.value, results.run(run)) for run in self.runs]
        found = all_differences(results, below, runs)
        if not found or not self.share:
            return found
        whole = min(value.cell(results, run).value or math.nan for value, run in below)
        return [scaled(each, 1 / whole) for each in found]

    def shown(self, value: float) -> str:
        return f"{100 * value:.1f} %" if self.share else f"{value:.3f}"

    def remark(self, results: Results) -> str:
        runs = [results.replicates(results.run(run)) for run in (*self.runs, *self.below)]
        several = [{training.seed for training in run} for run in runs if len(run) > 1]
        seeds = sorted(set.intersection(*several)) if several else []
        falls = [self._fall_of_seed(results, seed) for seed in seeds]
        listed = ", ".join(self.shown(fall) for fall in falls if fall is not None)
        return f" (by seed: {listed})" if listed else ""

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from self.value.value.problems(experiment, f"{key}.value", self.runs)
        yield from self._others.value.problems(experiment, f"{key}.below_value", self.below)

    def needs(self, layout: Layout) -> list[str]:
        return [
            *self.value.value.needs(layout, self.runs),
            *self._others.value.needs(layout, self.below),
        ]

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        yield from of_runs(experiment, self.runs, self.value.value.tasks(experiment))
        yield from of_runs(experiment, self.below, self._others.value.tasks(experiment))

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
