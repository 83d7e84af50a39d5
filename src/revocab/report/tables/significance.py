"""Differences between pairs of a group's runs, those that are more than chance marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from revocab.closed import GroupId, Id, Step, TaskLanguage, unknown
from revocab.evaluation.over_seeds import SIGNIFICANT
from revocab.report.annotations import Experiment, Layout
from revocab.report.kind import Place, TableOptions
from revocab.report.references import wrong_steps
from revocab.report.results import Record, Results
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.runs import RunIndex, choices_in, group_tasks, method_label, metric_label
from revocab.report.table import MISSING, Cell, Row, Table, text
from revocab.report.tables.groups import column_labels, task_metrics
from revocab.report.values import TaskScore


class SignificanceTable(TableOptions):
    """Differences between runs of one group, with intervals and p-values. In a language: its
    multiple-choice tasks and their average; without: the generative tasks.
    """

    kind: Literal["significance"]
    group: GroupId
    #: Language of the tasks.
    language: TaskLanguage | None = None
    #: Checkpoint that is compared.
    step: Step = "last"
    against: Id | None = Field(default=None, description="one run of the group; default: all pairs")

    def build(self, results: Results) -> Table:
        path = f"significance/{self.group}/significance.csv"
        compared = [row for row in results.csv(path) if row["step"] == str(self.step)]
        runs = {run.id: run for run in results.group(self.group)}
        columns, scale = self.columns(results), 1 if self.language is None else 100
        pairs = list(dict.fromkeys((row["run"], row["other"]) for row in compared))
        if self.against:
            against = f"{self.group}-{self.against}"
            compared = adjusted_to(compared, against)
            pairs = [(run, against) for run in runs if run != against]
        differences = {
            (row["run"], row["other"], row["task"], row["metric"]): row for row in compared
        }
        rows = []
        for first, second in pairs:
            cells = [text(f"{method_label(runs[first])} − {method_label(runs[second])}")]
            for task, metric, _ in columns:
                ours = differences.get((first, second, task, metric))
                found = ours or differences.get((second, first, task, metric))
                if found is None and compared:  # of a single item, or of no seed in common
                    cells.append(text(MISSING))
                else:
                    cells.append(difference_cell(found, 1 if ours else -1, scale, path))
            rows.append(Row(cells))
        return Table(["Difference", *[header for _, _, header in columns]], rows)

    def columns(self, results: Results) -> list[tuple[str, str, str]]:
        """Return task, metric and header of each column. A metric that the experiment leaves out
        has no column: there are no items to compare.
        """
        if self.language is None:
            return [
                (task, metric, f"{label} {metric_label(metric)}")
                for task, label, metrics in task_metrics(results, self.group)
                for metric in metrics
                if task in self.texts(results.experiment)
            ]
        tasks = results.choice_tasks(self.language)
        columns = [
            (task, results.scores.shown_metric(task, results.family(task)), label)
            for task, label in column_labels(results, tasks).items()
        ]
        return [*columns, (average_task(self.language), AVERAGE, "AVG")]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from wrong_steps(experiment, f"{key}.step", self.group, [self.step])
        names = [run.name for run in experiment.index.group(self.group) if run.base or run.made]
        if self.against and self.against not in names:
            yield unknown(f"{key}.against", self.against, names, "scored run of the group")
        yield from super().problems(experiment, key)

    @staticmethod
    def texts(experiment: Experiment) -> list[str]:
        """Return the generative tasks but those that only models taught to are asked."""
        tasks = experiment.evaluation.generation.tasks
        return [name for name, task in tasks.items() if task.taught_by is None]

    def places(self, index: RunIndex) -> Iterator[Place]:
        experiment = index.experiment
        if self.language is None:
            own = group_tasks(experiment, self.group)
            tasks = [task for task in self.texts(experiment) if task in own]
        else:
            tasks = choices_in(experiment, self.language)
        for run in index.group(self.group):
            for task in tasks if run.select([self.step]) else ():
                yield Place(TaskScore(task=task, step=self.step), run)

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.significance(self.group)]

    def compared(self) -> list[tuple[str, Step]]:
        return [(self.group, self.step)]


def adjusted_to(compared: Sequence[Record], against: str) -> list[Record]:
    """Return the comparisons with one run, adjusted for those of a task and metric alone."""
    from revocab.report.results.significance import adjusted  # imports numpy

    columns: dict[tuple[str, str], list[Record]] = {}
    for row in compared:
        if against in (row["run"], row["other"]):
            columns.setdefault((row["task"], row["metric"]), []).append(row)
    return [row for column in columns.values() for row in adjusted(column)]


def is_marked(row: Record) -> bool:
    """Return whether a difference is more than chance among all that it is adjusted for."""
    return row["p_holm"] not in (None, "") and float(row["p_holm"]) < SIGNIFICANT


def difference_cell(row: Record | None, sign: int, scale: float, provenance: str) -> Cell:
    if row is None:
        return Cell(scale=scale)
    low, high = sorted(sign * float(row[name]) for name in ("low", "high"))
    seeds = [sign * float(row[name]) for name in ("seed_low", "seed_high") if row.get(name)]
    cell = Cell(sign * float(row["difference"]) + 0.0, scale=scale, provenance=provenance)
    cell.interval = (low, high)
    cell.mark = "best" if is_marked(row) else None
    cell.p_value = float(row["p_holm"]) if row["p_holm"] not in (None, "") else None
    if seeds:
        cell.seed_interval, cell.seeds = (min(seeds), max(seeds)), int(row["seeds"])
    return cell


TABLE = SignificanceTable
