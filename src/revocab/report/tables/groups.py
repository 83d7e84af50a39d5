"""Numbers of the runs of a group at chosen steps: accuracies, generated text, similarity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Literal

from pydantic import Field

from revocab.closed import GenerationTaskId, GroupId, Id, OneLine, TaskLanguage, unknown
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.metric import COMET
from revocab.evaluation.multiple_choice.families import family_label
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import TableOptions, manifest
from revocab.report.names import method_label, metric_label
from revocab.report.references import (
    choices_in,
    group_tasks,
    no_generated_text,
    no_new_rows,
    of_group,
    unscored_language,
    unscored_steps,
)
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell, Table, mark_columns
from revocab.report.table_parts.value_table import Column, GroupTable, value_row
from revocab.report.values.task_scores import (
    Average,
    HelperSimilarity,
    TaskScore,
    wrong_metrics,
)


class AverageAccuracy(Average):
    """The mean of a row's accuracies, as fractions, and the average that the paper prints."""

    unit: ClassVar[float] = 100

    #: Language of the printed average.
    printed: str

    def of_training(self, results: Results, run: Run) -> Cell:
        average = TaskScore.average(self.printed, self.step).of_training(results, run)
        mean = super().of_training(results, run)
        return replace(mean, stderr=None, published=average.published)


class MultipleChoiceTable(GroupTable):
    """Scores of one group in one language at chosen steps; families in ``columns`` order."""

    kind: Literal["multiple_choice"]
    language: TaskLanguage
    #: Families of tasks; none: all.
    columns: list[Id] | None = None

    def shown(self, results: Results) -> list[Column]:
        tasks = results.choice_tasks(self.language, self.columns)
        labels = column_labels(results, tasks)
        scores = [
            Column(label, TaskScore(task=task)) for label, task in zip(labels, tasks, strict=True)
        ]
        mean = AverageAccuracy(named=tasks, printed=self.language)
        return [*scores, Column("AVG", mean)]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unscored_steps(
            experiment, f"{key}.steps", self.group, self.steps, "multiple_choice"
        )
        yield from unscored_language(experiment, key, self.group, self.language, self.columns)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, choices_in(experiment, self.language, self.columns))


def column_labels(results: Results, tasks: Sequence[str]) -> list[str]:
    """Return a header per task: its family's, or its own id where a family has several tasks."""
    families = [results.family(task) for task in tasks]
    return [
        family_label(family) if families.count(family) == 1 else task
        for task, family in zip(tasks, families, strict=True)
    ]


class GenerationTable(GroupTable):
    """Generation metrics of one group at chosen steps."""

    kind: Literal["generation"]
    metrics: dict[GenerationTaskId, list[OneLine]] = Field(
        default_factory=dict, description="metrics of a task, instead of those that its kind shows"
    )

    def shown(self, results: Results) -> list[Column]:
        """Return every generation task's metrics; COMET's has a column if empty, too."""
        comet = dict.fromkeys([COMET, *results.comet_metrics])
        return [
            Column(
                metric_label(metric), TaskScore(task=task, metric=metric), task_label(results, task)
            )
            for task, shown in groupby(task_metrics(results, self.group, comet), key=itemgetter(0))
            for metric in self.metrics.get(task) or [metric for _, metric in shown]
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from no_generated_text(experiment, key, self.group)
        yield from unscored_steps(experiment, f"{key}.steps", self.group, self.steps, "generation")
        tasks, shown = experiment.evaluation.generation.tasks, group_tasks(experiment, self.group)
        for task in tasks.keys() & self.metrics.keys():
            where = f"{key}.metrics.{task}"
            if task not in shown:
                yield unknown(where, task, tasks.keys() & shown, "task in its languages")
            yield from wrong_metrics(experiment, where, task, self.metrics[task])

    def may_be_empty(self, results: Results) -> bool:
        """COMET's column is there without its model, too."""
        return True

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, experiment.evaluation.generation.tasks)


def task_metrics(results: Results, group: str, comet: Iterable[str]) -> list[tuple[str, str]]:
    """Return (task, metric) of every column of a group, by kind; ``comet`` where it applies.

    The score that a task names stands first.
    """
    tasks = results.experiment.evaluation.generation.tasks
    shown = group_tasks(results.experiment, group)
    return [
        (task, metric)
        for name, kind in generation_kinds().items()
        for task in sorted(task for task in tasks.keys() & shown if tasks[task].kind == name)
        for metric in dict.fromkeys(filter(None, [tasks[task].score, *kind.columns(comet)]))
    ]


def task_label(results: Results, task: str) -> str:
    entry = results.experiment.evaluation.generation.tasks[task]
    return generation_kinds()[entry.kind].header(task, entry.direction)


class SimilarityTable(TableOptions):
    """Similarity to the helper at the beginning and end of training."""

    kind: Literal["similarity"]
    #: Columns, two each.
    groups: list[GroupId]

    def may_be_empty(self, results: Results) -> bool:
        """Runs without a helper have none; :meth:`gaps` knows the others."""
        return True

    def build(self, results: Results) -> Table:
        groups = results.experiment.runs
        by_name: dict[str, dict[str, Run]] = {}
        header, over = ["Model"], [""]
        for group in self.groups:
            runs = results.group(group)
            for run in runs:
                if run.learns_rows_of(groups[group].target):
                    by_name.setdefault(run.name, {})[group] = run
            steps = sorted({run.steps[-1] for run in runs if run.trains})
            header += ["@0", f"@{steps[0]}" if len(steps) == 1 else "@last"]
            over += [groups[group].label] * 2
        rows = []
        for named in by_name.values():
            places = [
                (HelperSimilarity(step=step), named.get(group))
                for group in self.groups
                for step in (0, "last")
            ]
            rows.append(value_row(results, method_label(next(iter(named.values()))), places))
        mark_columns(rows, ["higher"] * (len(header) - 1))
        return Table(header, rows, over=over)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        return no_new_rows(experiment, key, *self.groups)

    def needs(self, layout: Layout) -> list[str]:
        return [manifest(layout.paths.similarity(group)) for group in self.groups]

    def gaps(self, results: Results) -> Iterator[str]:
        for run in results.runs:
            group = results.experiment.runs[run.group]
            shown = run.group in self.groups and run.evaluate and group.helper
            for step in (0, run.steps[-1]) if shown and run.learns_rows_of(group.target) else ():
                if HelperSimilarity(step=step).of_training(results, run).value is None:
                    yield f"similarity: {run.id} has none at step {step}; measure it"


TABLE = (MultipleChoiceTable, GenerationTable, SimilarityTable)
