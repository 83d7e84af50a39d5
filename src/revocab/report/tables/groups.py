"""Numbers of the runs of a group at chosen steps: scores, generated text, similarity, adoption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from revocab.closed import GenerationTaskId, GroupId, OneLine, TaskLanguage
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.metrics import COMET, family_label
from revocab.evaluation.options import UNTRAINED_AND_TRAINED
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import Place, TableOptions
from revocab.report.pivot import Column, GroupTable, Pivot, PivotRow, PivotTable
from revocab.report.results import Results
from revocab.report.runs import RunIndex, group_tasks, method_label, metric_label
from revocab.report.table import Cell, Row, Table, text
from revocab.report.values import Average, HelperSimilarity, TaskScore

#: What has a share of new tokens, as its columns are headed; and the shares. No text cuts words
#: finer than needed by itself.
WRITTEN = {"greedy": "Greedy", "sampled": "Sampled"}
WITH_TEXT = {"reference": "Text", **WRITTEN}
SHARES = {
    "tokens": ("New, % of tokens", WITH_TEXT),
    "characters": ("In new tokens, % of characters", WITH_TEXT),
    "words_in_pieces": ("In needless pieces, % of words", WRITTEN),
}


class AverageAccuracy(Average):
    """The mean of a row's accuracies, as fractions."""

    unit: ClassVar[float] = 100

    def of_training(self, results: Results, run: Run) -> Cell:
        return replace(super().of_training(results, run), stderr=None)


class MultipleChoiceTable(GroupTable):
    """Scores of one group in one language at chosen steps."""

    kind: Literal["multiple_choice"]
    language: TaskLanguage

    def columns_of(self, index: RunIndex) -> list[Column]:
        labels = column_labels(index, index.choice_tasks(self.language))
        scores = [Column(label, TaskScore(task=task)) for task, label in labels.items()]
        return [*scores, Column("AVG", AverageAccuracy(language=self.language))]


def column_labels(index: RunIndex, tasks: Sequence[str]) -> dict[str, str]:
    """Return a header by task: its family's, or its own id where a family has several tasks."""
    families = [index.family(task) for task in tasks]
    return {
        task: family_label(family) if families.count(family) == 1 else task
        for task, family in zip(tasks, families, strict=True)
    }


class GenerationTable(GroupTable):
    """Generation metrics of one group at chosen steps."""

    kind: Literal["generation"]
    metrics: dict[GenerationTaskId, list[OneLine]] = Field(
        default_factory=dict, description="metrics of a task, instead of those that its kind shows"
    )

    def columns_of(self, index: RunIndex) -> list[Column]:
        """Return every generation task's metrics; COMET's has a column if empty, too."""
        columns = []
        for task, label, metrics in task_metrics(index, self.group, [COMET]):
            key = f"metrics.{task}" if task in self.metrics else ""
            for metric in self.metrics.get(task) or metrics:
                score = TaskScore(task=task, metric=metric)
                columns.append(Column(metric_label(metric), score, label, key))
        return columns


def task_metrics(
    index: RunIndex, group: str, comet: Iterable[str] = ()
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each generative task of a group, by kind, with its label and metrics, ``comet`` and
    the experiment's own where they apply. The score that a task names stands first.
    """
    tasks = index.experiment.evaluation.generation.tasks
    named = group_tasks(index.experiment, group)
    measured = dict.fromkeys([*comet, *index.comet_metrics])
    for name, kind in generation_kinds().items():
        for task in sorted(task for task in tasks.keys() & named if tasks[task].kind == name):
            metrics = dict.fromkeys(filter(None, [tasks[task].score, *kind.columns(measured)]))
            yield task, kind.header(task, tasks[task].direction), list(metrics)


class SimilarityTable(PivotTable):
    """Similarity to the helper at the beginning and end of training."""

    kind: Literal["similarity"]
    #: Columns, two each.
    groups: list[GroupId]

    def pivot(self, index: RunIndex) -> Pivot:
        groups = index.experiment.runs
        by_name: dict[str, dict[str, Run]] = {}
        header, over = ["Model"], []
        for group in self.groups:
            runs = index.group(group)
            for run in runs:
                if run.learns_rows_of(groups[group].target):
                    by_name.setdefault(run.name, {})[group] = run
            steps = sorted({run.steps[-1] for run in runs if run.trains})
            header += ["@0", f"@{steps[0]}" if len(steps) == 1 else "@last"]
            over += [groups[group].label] * 2
        rows = []
        for named in by_name.values():
            places: list[Place | None] = []
            for group in self.groups:
                for step in (0, "last"):
                    value, has = HelperSimilarity(step=step), group in named
                    places.append(Place(value, named[group], (group, step)) if has else None)
            rows.append(PivotRow(method_label(next(iter(named.values()))), places))
        return Pivot(header, rows, over)


class AdoptionTable(TableOptions):
    """Whether models write their new tokens (``evaluation.adoption``), untrained and trained,
    beside the share of these in the text itself.
    """

    kind: Literal["adoption"]
    group: GroupId

    def adapted(self, runs: Iterable[Run]) -> list[Run]:
        """Return the scored runs with another vocabulary than the model that they began from."""
        scored = (run for run in runs if run.group == self.group and run.evaluate)
        return [run for run in scored if not run.keeps_vocabulary]

    def build(self, results: Results) -> Table:
        """Return a row per run and checkpoint."""
        rows = []
        for run in self.adapted(results.runs):
            where = f"adoption/{run.id}.json"
            steps = (results.json(where) or {}).get("steps", {})
            for step in run.select(UNTRAINED_AND_TRAINED):
                measured = steps.get(str(step), {})
                pairs = [(share, side) for share, (_, sides) in SHARES.items() for side in sides]
                shares = [measured.get(side, {}).get(share) or {} for share, side in pairs]
                shares.append({"share": measured.get("empty_rows", {}).get("largest")})
                cells = [text(method_label(run)), text(str(step))]
                for share in shares:
                    ends = (share["low"], share["high"]) if "low" in share else None
                    cell = Cell(share.get("share"), share.get("stderr"), interval=ends)
                    cells.append(replace(cell, scale=100, digits=1, provenance=where))
                rows.append(Row(cells))
        header, over = ["Model", "Step"], ["", ""]
        for label, sides in SHARES.values():
            header += sides.values()
            over += [label] * len(sides)
        return Table([*header, "Empty rows win %"], rows, over=[*over, ""])

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if experiment.evaluation.adoption is None:
            yield f"{key}: needs evaluation.adoption, received none; name its corpus there"
        if not self.adapted(experiment.expanded.values()):
            yield f"{key}.group: no scored run of {self.group!r} has new tokens; name another group"

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.adoption(run.id) for run in self.adapted(layout.runs.values())]


TABLE = (MultipleChoiceTable, GenerationTable, SimilarityTable, AdoptionTable)
