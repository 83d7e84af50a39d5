"""Scores of tasks, multiple-choice and generative, and their means, 0 to 100 as they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from pydantic import Field, model_validator

from revocab.closed import Id, OneLine, Step, TaskLanguage, exactly_one, unknown
from revocab.evaluation.generation.kind import find_kind, metrics
from revocab.evaluation.metric import COMET_METRICS, UNKNOWN
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import manifest
from revocab.report.references import choices_in, no_new_rows, unknowns, unscored_runs
from revocab.report.results import Results
from revocab.report.results.scores import AVERAGE, HELPER_SIMILARITY, average_task, mean_score
from revocab.report.table_parts.table import MISSING, Better, Cell, text
from revocab.report.values.run_value import RunValue

#: The metric of generative tasks, by task, in place of the first of their kind.
Metrics = Mapping[str, str]


class TaskScore(RunValue):
    """A run's score on one task, with the paper's beside it."""

    better: ClassVar[Better | None] = "higher"

    task: str
    metric: str | None = Field(
        default=None, description="default: that of the task's family, or the first of its kind"
    )
    #: Checkpoint at which it is scored.
    step: Step = "last"

    @classmethod
    def average(cls, language: str, step: Step = "last") -> TaskScore:
        return cls(task=average_task(language), metric=AVERAGE, step=step)

    def header(self) -> str:
        return self.task

    def tasks(self, experiment: Experiment) -> list[str]:
        languages = {task.language for task in experiment.evaluation.multiple_choice.tasks.values()}
        of = next((each for each in languages if average_task(each) == self.task), None)
        return [self.task] if of is None else choices_in(experiment, of)

    def of_training(self, results: Results, run: Run) -> Cell:
        at, metric = run.select([self.step]), self.metric
        if not at:
            return Cell()
        if metric is None and self.task in results.experiment.evaluation.generation.tasks:
            metric = metric_of(results.experiment, self.task, {})
        if metric is None:
            row = results.scores.choice(run.id, at[0], self.task, results.family(self.task))
        else:
            row = results.scores.get(run.id, at[0], self.task, metric)
        metric = metric or (row["metric"] if row else "acc")
        cell = Cell(
            published=results.printed(run, at[0], self.task, metric),
            scale=100 if metric == AVERAGE or metrics().get(metric, UNKNOWN).high == 1 else 1,
        )
        if row is not None:
            cell.value, cell.stderr, cell.provenance = (
                row[name] for name in ("value", "stderr", "provenance")
            )
            if row["low"] is not None and row["high"] is not None:
                cell.interval = (row["low"], row["high"])
        return cell

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        yield from unknown_task_ids(experiment, f"{key}.task", [self.task])
        if self.metric is not None:
            yield from unknown_choices(experiment, key, {self.task: self.metric})
        yield from unscored_runs(experiment, key, runs, [self.task], self.step)


class Average(RunValue):
    """Mean score on the multiple-choice tasks of a language, or on named tasks of any kind."""

    better: ClassVar[Better | None] = "higher"
    #: What the mean is multiplied by when it is shown: 100 for a mean of fractions.
    unit: ClassVar[float] = 1

    #: All multiple-choice tasks of the language.
    language: TaskLanguage | None = None
    #: These tasks.
    named: list[Id] | None = Field(default=None, min_length=1)
    #: Checkpoint at which they are scored.
    step: Step = "last"
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )

    @model_validator(mode="after")
    def _one_choice(self) -> Average:
        return exactly_one(self, ("language", "named"))

    def header(self) -> str:
        of = language_label(self.language) if self.language else ", ".join(self.named or ())
        return f"Average ({of})" if self.step == "last" else f"Average ({of}) at {self.step}"

    def tasks(self, experiment: Experiment) -> list[str]:
        if self.language is not None:
            return choices_in(experiment, self.language)
        return list(self.named or ())

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the unweighted mean and its standard error, items being independent.

        Without a value if a score is missing: a mean over fewer tasks could not be compared.
        """
        if not run.evaluate:
            return text(MISSING)
        cells = [
            TaskScore(task=task, metric=metric, step=self.step).of_training(results, run)
            for task, metric in self._metrics(results.experiment).items()
        ]
        scores = []
        for cell in cells:
            factor = cell.scale / self.unit
            value, error = cell.value, cell.stderr
            scores.append((value and value * factor, error and error * factor))
        mean = mean_score(scores)
        cell = Cell(published=self._published(results, run), scale=self.unit)
        if mean is not None:
            (cell.value, cell.stderr), cell.provenance = mean, cells[0].provenance
        return cell

    def _published(self, results: Results, run: Run) -> float | None:
        """Return what the paper prints of a language's average."""
        at = run.select([self.step])
        if self.language is None or not at:
            return None
        printed = results.printed(run, at[0], average_task(self.language), AVERAGE)
        return printed and 100 * printed / self.unit

    def _metrics(self, experiment: Experiment) -> dict[str, str | None]:
        generated = experiment.evaluation.generation.tasks
        return {
            task: metric_of(experiment, task, self.metrics) if task in generated else None
            for task in self.tasks(experiment)
        }

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        named = self.tasks(experiment)
        yield from unknown_task_ids(experiment, f"{key}.named", named)
        yield from unknown_choices(experiment, key, self.metrics)
        yield from unscored_runs(experiment, key, runs, named, self.step)


class HelperSimilarity(RunValue):
    """Mean cosine of relative representations to those of the group's helper, as a fraction."""

    better: ClassVar[Better | None] = "higher"

    #: Checkpoint at which it is measured.
    step: Step

    def header(self) -> str:
        return f"@{self.step}"

    def of_training(self, results: Results, run: Run) -> Cell:
        (step,) = run.select([self.step]) or (None,)
        if step is None:
            return Cell(scale=100)
        cell = Cell(published=results.printed(run, step, "", HELPER_SIMILARITY), scale=100)
        for row in results.similarities:
            if (row["kind"], row["run"], row["step"]) == ("helper", run.id, step):
                cell.value, cell.provenance = row["similarity"], row["provenance"]
        return cell

    def needs(self, layout: Layout, runs: Sequence[str]) -> list[str]:
        groups = dict.fromkeys(run.group for name in runs for run in layout.replicates(name))
        return [manifest(layout.paths.similarity(group)) for group in groups]

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        from revocab.experiment.lineage import group_of  # stands on the schema, which needs kinds

        groups = dict.fromkeys(group_of(experiment, run) for run in runs)
        return no_new_rows(experiment, key, *filter(None, groups))


def metric_of(experiment: Experiment, task: str, chosen: Metrics) -> str:
    """Return the metric of a generative task: the chosen one, its score, or the first that its kind
    shows.
    """
    entry = experiment.evaluation.generation.tasks[task]
    return chosen.get(task) or entry.score or find_kind(entry.kind).columns()[0]


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
    kind = find_kind(experiment.evaluation.generation.tasks[task].kind)
    known = [metric.name for metric in kind.metrics]
    known += [metric.name for metric in COMET_METRICS.values()] if kind.comet_source else []
    return unknowns(key, metrics, known, "metric of its kind")
