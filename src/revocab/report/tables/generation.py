"""Tables 5 and 6: translation, question answering and copying of one group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import Id, Step
from revocab.report import notes
from revocab.report.asked import of_group
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import METRICS
from revocab.report.references import unknown_groups, unscored_steps, wrong_steps
from revocab.report.results import Results
from revocab.report.score_rows import score_cell, score_rows
from revocab.report.table import Cell, Table

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment


class GenerationTable(KindOptions):
    """Generation metrics of one group at chosen steps."""

    kind: Literal["generation"]
    group: Id
    steps: list[Step] = Field(default=["first", "last"])


def build(results: Results, identifier: str, options: GenerationTable) -> Table:
    """Return a table of every generative task's metrics."""
    columns = task_metrics(results)

    def cells(run: Run, step: int) -> list[Cell]:
        model = results.model_label(run)
        return [
            score_cell(
                results.scores.get(run.id, step, task, metric),
                results.paper.generation(model, step, run.name, task, metric),
            )
            for task, metric in columns
        ]

    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *[METRICS[metric] for _, metric in columns]],
        score_rows(results, options.group, options.steps, cells),
        [
            *notes.generation(results),
            notes.MARKS,
            *notes.published(results),
            *notes.synthetic(results),
        ],
        over=["", *[task_label(results, task) for task, _ in columns]],
    )


def task_metrics(results: Results) -> list[tuple[str, str]]:
    """Return (task, metric) of every column: translation tasks first."""
    given = results.experiment.evaluation.generation
    xcomet = ["xcomet"] if given.xcomet_model else []
    metrics = {
        "translation": ["comet22", *xcomet, "chrf++", "bleu"],
        "question_answering": ["rougeL"],
        "copying": ["copy_ratio", "copied"],
    }
    return [
        (task, metric)
        for kind, shown in metrics.items()
        for task in sorted(task for task, one in given.tasks.items() if one.kind == kind)
        for metric in shown
    ]


def task_label(results: Results, task: str) -> str:
    """Return a generative task as a header, such as ``flores EN-IT``."""
    given = results.experiment.evaluation.generation.tasks[task]
    if given.kind != "translation":
        return task
    direction = "-".join(language.upper() for language in given.direction)
    name = task.removesuffix("_" + "_".join(given.direction))
    return f"{name} {direction}"


def problems(experiment: Experiment, key: str, options: GenerationTable) -> Iterator[str]:
    """Yield a problem for an unknown group, and for steps at which nothing is generated."""
    yield from unknown_groups(experiment, key, options.group)
    yield from wrong_steps(experiment, f"{key}.steps", options.group, options.steps)
    if not experiment.evaluation.generation.tasks:
        yield f"{key}: shows generation, and evaluation.generation.tasks is empty; add a task"
    yield from unscored_steps(
        experiment, f"{key}.steps", options.group, options.steps, "generation"
    )


def scores(experiment: Experiment, options: GenerationTable) -> Iterator[tuple[str, str]]:
    """Yield every generative task."""
    return of_group(options.group, experiment.evaluation.generation.tasks)


def limited(results: Results, options: GenerationTable) -> str | None:
    """Return how many queries were generated from, where not all were."""
    return notes.limited_queries(results)


TABLE = TableKind(
    options=GenerationTable, build=build, problems=problems, limited=limited, scores=scores
)
