"""Tables 5 and 6: what the outputs of one group's runs are worth, by task and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import Id, OneLine, Step, unknown
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.metric import COMET
from revocab.report import notes
from revocab.report.asked import group_tasks, of_group
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import metric_label
from revocab.report.references import (
    no_generated_text,
    unknown_groups,
    unknown_tasks,
    unscored_steps,
    wrong_steps,
)
from revocab.report.results import Results
from revocab.report.table_parts.score_rows import score_cell, score_rows
from revocab.report.table_parts.table import Cell, Table
from revocab.report.values.task_means import wrong_metrics

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment


class GenerationTable(KindOptions):
    """Generation metrics of one group at chosen steps."""

    kind: Literal["generation"]
    group: Id
    steps: list[Step] = Field(default=["first", "last"])
    metrics: dict[Id, list[OneLine]] = Field(
        default_factory=dict, description="metrics of a task, instead of those that its kind shows"
    )


def build(results: Results, identifier: str, options: GenerationTable) -> Table:
    """Return a table of every generation task's metrics; COMET's has a column if empty, too."""
    comet = dict.fromkeys([COMET, *results.comet_metrics])
    columns = [
        (task, metric)
        for task, metrics in groupby(task_metrics(results, options.group, comet), key=itemgetter(0))
        for metric in options.metrics.get(task) or [one for _, one in metrics]
    ]

    def cells(run: Run, step: int) -> list[Cell]:
        place = results.published_place(run, step)
        return [
            score_cell(
                results.scores.get(run.id, step, task, metric),
                results.paper.generation(*place, task, metric),
            )
            for task, metric in columns
        ]

    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *[metric_label(metric) for _, metric in columns]],
        score_rows(results, options.group, options.steps, cells),
        [
            *notes.generation(results, options.group),
            *notes.captions(results),
            notes.MARKS,
            *notes.seeds(results, options.group),
            *notes.published(results),
            *notes.synthetic(results),
        ],
        over=["", *[task_label(results, task) for task, _ in columns]],
    )


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
    """Return a generation task as a header, such as ``flores EN-IT``."""
    given = results.experiment.evaluation.generation.tasks[task]
    return generation_kinds()[given.kind].header(task, given.direction)


def problems(experiment: Experiment, key: str, options: GenerationTable) -> Iterator[str]:
    """Yield a problem for an unknown group, and for steps at which nothing is generated."""
    yield from unknown_groups(experiment, key, options.group)
    yield from wrong_steps(experiment, f"{key}.steps", options.group, options.steps)
    yield from no_generated_text(experiment, key, options.group)
    yield from unscored_steps(
        experiment, f"{key}.steps", options.group, options.steps, "generation"
    )
    yield from unknown_metrics(experiment, f"{key}.metrics", options)


def unknown_metrics(experiment: Experiment, key: str, options: GenerationTable) -> Iterator[str]:
    """Yield a problem for every task that is not there, or not in the group's languages, and every
    metric that its kind lacks.
    """
    metrics = options.metrics
    yield from unknown_tasks(experiment, key, metrics)
    tasks, shown = experiment.evaluation.generation.tasks, group_tasks(experiment, options.group)
    for task in tasks.keys() & metrics.keys():
        if task not in shown:
            yield unknown(f"{key}.{task}", task, tasks.keys() & shown, "task in its languages")
        yield from wrong_metrics(experiment, f"{key}.{task}", task, metrics[task])


def scores(experiment: Experiment, options: GenerationTable) -> Iterator[tuple[str, str]]:
    """Yield every generative task."""
    return of_group(options.group, experiment.evaluation.generation.tasks)


def limited(results: Results, options: GenerationTable) -> str | None:
    """Return how many queries were generated from, where not all were."""
    return notes.limited_queries(results)


TABLE = TableKind(
    options=GenerationTable, build=build, problems=problems, limited=limited, scores=scores
)
