"""Scores of tasks, multiple-choice and generative, 0 to 100, and their means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revocab.closed import Step, unknown
from revocab.evaluation.generation.kind import find_kind, metrics
from revocab.evaluation.metric import COMET_METRICS, UNKNOWN
from revocab.report.names import metric_label
from revocab.report.table_parts.seed_cells import pooled_cell
from revocab.report.table_parts.table import Cell

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment
    from revocab.report.results import Results

#: The metric of generative tasks, by task, in place of the first of their kind.
Metrics = Mapping[str, str]


@dataclass(frozen=True)
class TaskScore:
    """A run's score on a task, 0 to 100, with its standard error over items where there is one."""

    value: float
    stderr: float | None
    items: int | None
    provenance: str | None


def metric_of(results: Results, task: str, chosen: Metrics) -> str:
    """Return the metric of a generative task: the chosen one, or the first that its kind shows."""
    kind = results.experiment.evaluation.generation.tasks[task].kind
    return chosen.get(task) or find_kind(kind).columns()[0]


def task_score(
    results: Results, run: Run, step: int, task: str, chosen: Metrics
) -> TaskScore | None:
    """Return a run's score on a task of either kind; None if it has none there."""
    if task in results.experiment.evaluation.multiple_choice.tasks:
        row = results.scores.choice(run.id, step, task, results.family(task))
    else:
        row = results.scores.get(run.id, step, task, metric_of(results, task, chosen))
    if row is None or row["value"] is None:
        return None
    # Fractions become per cent; metrics of text are 0 to 100 as they are.
    scale = 100.0 if metrics().get(row["metric"], UNKNOWN).high == 1 else 1.0
    stderr = None if row["stderr"] is None else row["stderr"] * scale
    return TaskScore(row["value"] * scale, stderr, row["items"], row["provenance"])


#: From the scores of all tasks to a mean with its standard error.
Mean = Callable[[Sequence[TaskScore]], tuple[float, float | None]]


def macro(scores: Sequence[TaskScore]) -> tuple[float, float | None]:
    """Return the unweighted mean over tasks and its standard error, items being independent."""
    return _weighted(scores, [1.0] * len(scores))


def micro(scores: Sequence[TaskScore]) -> tuple[float, float | None]:
    """Return the mean over items, and its standard error: tasks count by their items.

    NaN if the number of a task's items is not known.
    """
    return _weighted(scores, [math.nan if one.items is None else one.items for one in scores])


def _weighted(scores: Sequence[TaskScore], weights: Sequence[float]) -> tuple[float, float | None]:
    total = math.fsum(weights)
    pairs = list(zip(scores, weights, strict=True))
    mean = math.fsum(one.value * weight for one, weight in pairs) / total
    errors = [(one.stderr, weight) for one, weight in pairs if one.stderr is not None]
    if len(errors) < len(pairs):
        return mean, None
    return mean, math.sqrt(math.fsum((error * weight) ** 2 for error, weight in errors)) / total


def mean_cell(
    results: Results, run: Run, step: Step, tasks: Sequence[str], chosen: Metrics, mean: Mean
) -> Cell:
    """Return a run's mean over tasks at a step; without a value if a score is missing.

    A mean over fewer tasks could not be compared with the others.
    """
    replicates = results.replicates(run)
    if len(replicates) > 1:
        return pooled_cell(
            [mean_cell(results, one, step, tasks, chosen, mean) for one in replicates]
        )
    at = run.select([step])
    found = [task_score(results, run, at[0], one, chosen) if at else None for one in tasks]
    scores = [one for one in found if one is not None]
    if len(scores) < len(found) or not scores:
        return Cell()
    value, stderr = mean(scores)
    if math.isnan(value):
        return Cell()
    return Cell(value, stderr, provenance=scores[0].provenance)


def metrics_note(results: Results, tasks: Iterable[str], chosen: Metrics) -> list[str]:
    """Return the sentence on the metrics of generative tasks, where there are any."""
    listed = shown_metrics(results, tasks, chosen)
    return [f"Metrics of generated text, 0 to 100: {listed}."] if listed else []


def shown_metrics(results: Results, tasks: Iterable[str], chosen: Metrics) -> str:
    """Return which metric of each generative task is shown; nothing where there is no such task."""
    generated = results.experiment.evaluation.generation.tasks
    named = [task for task in dict.fromkeys(tasks) if task in generated]
    return ", ".join(f"{metric_label(metric_of(results, one, chosen))} of {one}" for one in named)


def unknown_task_ids(experiment: Experiment, key: str, tasks: Iterable[str]) -> Iterator[str]:
    """Yield a problem for tasks of neither kind, and those that are named twice."""
    evaluation = experiment.evaluation
    known = [*evaluation.multiple_choice.tasks, *evaluation.generation.tasks]
    named = list(tasks)
    for task in dict.fromkeys(named):
        if task not in known:
            yield unknown(key, task, known, "task")
        elif named.count(task) > 1:
            yield f"{key}: task {task!r} is named {named.count(task)} times; name it once"


def unknown_choices(experiment: Experiment, key: str, chosen: Metrics) -> Iterator[str]:
    """Yield a problem for metrics of tasks that are not generative, and metrics they lack."""
    generated = experiment.evaluation.generation.tasks
    for task, metric in chosen.items():
        if task in generated:
            yield from wrong_metrics(experiment, f"{key}.metrics.{task}", task, [metric])
        else:
            yield unknown(f"{key}.metrics", task, generated, "generation task")


def wrong_metrics(
    experiment: Experiment, key: str, task: str, metrics: Iterable[str]
) -> Iterator[str]:
    """Yield a problem for every metric that the kind of a generative task lacks."""
    kind = find_kind(experiment.evaluation.generation.tasks[task].kind)
    known = [one.name for one in kind.metrics]
    known += [one.name for one in COMET_METRICS.values()] if kind.comet_source else []
    for metric in metrics:
        if metric not in known:
            yield unknown(key, metric, known, "metric of its kind")
