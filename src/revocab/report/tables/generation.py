"""Tables 5 and 6: what the outputs of one group's runs are worth, by task and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Literal

from pydantic import Field

from revocab.closed import GenerationTaskId, OneLine, unknown
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.metric import COMET
from revocab.report import notes
from revocab.report.annotations import Experiment
from revocab.report.names import metric_label
from revocab.report.references import group_tasks, no_generated_text, of_group, unscored_steps
from revocab.report.results import Results
from revocab.report.table_parts.value_table import Column, GroupTable
from revocab.report.values.task_scores import TaskScore, wrong_metrics


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

    def said(self, results: Results) -> list[str]:
        return [*notes.generation(results, self.group), *notes.captions(results)]

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


TABLE = GenerationTable
