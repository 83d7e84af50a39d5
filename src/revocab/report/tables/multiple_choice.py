"""Tables 3, 4, 10 and 11: accuracies of one group in one language, and their mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from revocab.closed import GroupId, Id, Step, TaskLanguage
from revocab.evaluation.multiple_choice.families import family_label
from revocab.report import notes
from revocab.report.annotations import Experiment, Run
from revocab.report.asked import choices_in, of_group
from revocab.report.kind import TableOptions
from revocab.report.references import unscored_language, unscored_steps
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell, Table
from revocab.report.table_parts.value_table import score_rows
from revocab.report.values.task_scores import Average, TaskScore


class AverageAccuracy(Average):
    """The mean of a row's accuracies, as fractions."""

    unit: ClassVar[float] = 100


class MultipleChoiceTable(TableOptions):
    """Scores of one group in one language at chosen steps; families in ``columns`` order."""

    kind: Literal["multiple_choice"]
    group: GroupId
    language: TaskLanguage
    steps: list[Step] = Field(default=["first", "last"])
    columns: list[Id] | None = None

    def build(self, results: Results) -> Table:
        tasks = results.choice_tasks(self.language, self.columns)

        def cells(run: Run, step: int) -> list[Cell]:
            scores = [TaskScore(task=task, step=step).cell(results, run) for task in tasks]
            mean = AverageAccuracy(named=tasks, step=step).cell(results, run)
            printed = TaskScore.average(self.language, step).cell(results, run).published
            return [*scores, replace(mean, stderr=None, published=printed)]

        return Table(
            ["Model", *column_labels(results, tasks), "AVG"],
            score_rows(results, self.group, self.steps, cells),
            [
                *notes.multiple_choice(results, tasks),
                notes.MARKS,
                *notes.seeds(results, self.group),
                *notes.published(results),
                *notes.synthetic(results),
            ],
        )

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
