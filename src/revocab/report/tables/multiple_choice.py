"""Tables 3, 4, 10 and 11: accuracies of one group in one language, and their mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from revocab.closed import Id, TaskLanguage
from revocab.evaluation.multiple_choice.families import family_label
from revocab.report import notes
from revocab.report.annotations import Experiment, Run
from revocab.report.references import choices_in, of_group, unscored_language, unscored_steps
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell
from revocab.report.table_parts.value_table import Column, GroupTable
from revocab.report.values.task_scores import Average, TaskScore


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

    def said(self, results: Results) -> list[str]:
        return notes.multiple_choice(results, results.choice_tasks(self.language, self.columns))

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


TABLE = MultipleChoiceTable
