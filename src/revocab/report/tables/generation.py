"""Tables 5 and 6: what the outputs of one group's runs are worth, by task and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Literal

from pydantic import Field

from revocab.closed import GenerationTaskId, GroupId, OneLine, Step, unknown
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.metric import COMET
from revocab.report import notes
from revocab.report.annotations import Experiment, Run
from revocab.report.asked import group_tasks, of_group
from revocab.report.kind import TableOptions
from revocab.report.names import metric_label
from revocab.report.references import no_generated_text, unscored_steps
from revocab.report.results import Results
from revocab.report.table_parts.table import Cell, Table
from revocab.report.table_parts.value_table import score_rows
from revocab.report.values.task_scores import TaskScore, wrong_metrics


class GenerationTable(TableOptions):
    """Generation metrics of one group at chosen steps."""

    #: COMET's column is there without its model, too.
    may_be_empty: ClassVar[bool] = True

    kind: Literal["generation"]
    group: GroupId
    steps: list[Step] = Field(default=["first", "last"])
    metrics: dict[GenerationTaskId, list[OneLine]] = Field(
        default_factory=dict, description="metrics of a task, instead of those that its kind shows"
    )

    def build(self, results: Results) -> Table:
        """Return a table of every generation task's metrics; COMET's has a column if empty, too."""
        comet = dict.fromkeys([COMET, *results.comet_metrics])
        columns = [
            (task, metric)
            for task, shown in groupby(task_metrics(results, self.group, comet), key=itemgetter(0))
            for metric in self.metrics.get(task) or [metric for _, metric in shown]
        ]

        def cells(run: Run, step: int) -> list[Cell]:
            return [
                TaskScore(task=task, metric=metric, step=step).cell(results, run)
                for task, metric in columns
            ]

        return Table(
            ["Model", *[metric_label(metric) for _, metric in columns]],
            score_rows(results, self.group, self.steps, cells),
            [
                *notes.generation(results, self.group),
                *notes.captions(results),
                notes.MARKS,
                *notes.seeds(results, self.group),
                *notes.published(results),
                *notes.synthetic(results),
            ],
            over=["", *[task_label(results, task) for task, _ in columns]],
        )

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from no_generated_text(experiment, key, self.group)
        yield from unscored_steps(experiment, f"{key}.steps", self.group, self.steps, "generation")
        tasks, shown = experiment.evaluation.generation.tasks, group_tasks(experiment, self.group)
        for task in tasks.keys() & self.metrics.keys():
            where = f"{key}.metrics.{task}"
            if task not in shown:
                yield unknown(where, task, tasks.keys() & shown, "task in its languages")
            yield from wrong_metrics(experiment, where, task, self.metrics[task])

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_group(self.group, experiment.evaluation.generation.tasks)


def task_metrics(results: Results, group: str, comet: Iterable[str]) -> list[tuple[str, str]]:
    """Return (task, metric) of every column of a group, by kind; ``comet`` where it applies."""
    given = results.experiment.evaluation.generation.tasks
    shown = group_tasks(results.experiment, group)
    return [
        (task, metric)
        for name, kind in generation_kinds().items()
        for task in sorted(task for task in given.keys() & shown if given[task].kind == name)
        for metric in kind.columns(comet)
    ]


def task_label(results: Results, task: str) -> str:
    given = results.experiment.evaluation.generation.tasks[task]
    return generation_kinds()[given.kind].header(task, given.direction)


TABLE = GenerationTable
