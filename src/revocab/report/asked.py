"""Which scores an experiment's tables and figures show; no others are computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from revocab.closed import Id
from revocab.report.annotations import Experiment


def asked_scores(experiment: Experiment) -> dict[str, set[str]]:
    """Return the tasks, multiple-choice and generative, whose scores are shown, by run group."""
    asked: dict[str, set[str]] = {}
    for options in (*experiment.tables.values(), *experiment.figures.values()):
        for group, task in options.scores(experiment):
            if task in group_tasks(experiment, group):
                asked.setdefault(group, set()).add(task)
    return asked


def task_languages(experiment: Experiment) -> dict[str, set[Id]]:
    evaluation = experiment.evaluation
    choices = {name: {task.language} for name, task in evaluation.multiple_choice.tasks.items()}
    generated = {name: {*task.direction} for name, task in evaluation.generation.tasks.items()}
    return {**choices, **generated}


def group_tasks(experiment: Experiment, group: Id) -> set[str]:
    """Return the tasks in a run group's languages; all tasks, if it names no languages."""
    spoken = experiment.runs[group].languages if group in experiment.runs else None
    tasks = task_languages(experiment)
    return {task for task, used in tasks.items() if spoken is None or used.issubset(spoken)}


def choices_in(
    experiment: Experiment, language: Id, columns: Iterable[Id] | None = None
) -> list[str]:
    return [
        name
        for name, task in experiment.evaluation.multiple_choice.tasks.items()
        if task.language == language and (columns is None or task.family in columns)
    ]


def of_runs(
    experiment: Experiment, runs: Iterable[str], tasks: Iterable[str]
) -> Iterator[tuple[str, str]]:
    from revocab.config.lineage import group_of  # stands on the schema, which needs kinds

    named = list(tasks)
    for group in dict.fromkeys(group_of(experiment, run) for run in runs):
        if group is not None:
            yield from of_group(group, named)


def of_group(group: str, tasks: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((group, task) for task in tasks)
