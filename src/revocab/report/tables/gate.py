"""What tuning or adaptation may break: instructions checked by rule, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import GroupId, RunStep, Step
from revocab.evaluation.over_seeds import SIGNIFICANT, holm, level_of, most_exchanges
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import Place, TableOptions, limited_tasks, manifest
from revocab.report.names import method_label, metric_label
from revocab.report.pivot import blocks
from revocab.report.references import unknowns, wrong_steps
from revocab.report.results import Results
from revocab.report.results.folder import outputs_file
from revocab.report.runs import RunIndex, group_tasks
from revocab.report.table_parts.table import Cell, Row, Table, text
from revocab.report.values import TaskScore

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items, PairedComparison

    #: A run at a step.
    System = tuple[Run, int]

#: The kind of generation task whose outputs are shown, and what its chance level is of.
INSTRUCTIONS = "instructions"
FOLLOWED, CHANCE = "followed", "followed_by_chance"


class GateTable(TableOptions):
    """What runs of a group do with instructions, beside what a model did before."""

    kind: Literal["gate"]
    group: GroupId
    #: Checkpoints that are compared.
    steps: list[Step] = Field(default=["last"])
    before: RunStep | None = Field(
        default=None, description="the run that others are compared with; default: the group's base"
    )

    def build(self, results: Results) -> Table:
        before = self.compared_with(results)
        shares_by_run = {
            (run.id, step): (method_label(run), [*self.shares(results, before, (run, step))])
            for _, pairs in blocks(results, self.group, self.steps)
            for run, step in pairs
            if (run.id, step) != (before[0].id, before[1])
        }
        changes = iter(compared([share for _, of in shares_by_run.values() for share in of]))
        rows: list[Row] = []
        for (_, step), (run_label, of) in shares_by_run.items():
            rows.append(Row(section=f"{run_label}, step {step}"))
            rows += [self.row(share, *next(changes)) for share in of]
        header = ["Share", "Task", "Before", "After", "Change", "Chance", "Verdict"]
        return Table(header, rows)

    def compared_with(self, index: RunIndex) -> System:
        if self.before is None:
            return index.base(self.group), 0
        return index.run(self.before.run), self.before_steps(index)[0]

    def before_steps(self, index: RunIndex) -> list[int]:
        return index.run(self.before.run).select([self.before.step]) if self.before else []

    def shares(self, results: Results, before: System, after: System) -> Iterator[Share]:
        from revocab.evaluation.generation.kind import find_kind
        from revocab.report.results.significance import paired_generation_items  # imports numpy

        first, second = paired_generation_items(results, before, after)
        tasks = self.tasks(results.experiment)
        metrics = [each.name for each in find_kind(INSTRUCTIONS).metrics if each.name != CHANCE]
        for task, metric in product(tasks, metrics):
            key = (task, metric)
            if (first or second) and key not in {*first, *second}:
                continue  # nothing of the task asks for it
            chance = second.get((task, CHANCE)) if metric == FOLLOWED else None
            # Of replicates, outputs are shown to stand in the first's file.
            files = [
                outputs_file(results.replicates(run)[0], step, task)
                for run, step in (before, after)
            ]
            yield Share(task, metric, first.get(key), second.get(key), chance, *files)

    def row(self, share: Share, change: PairedComparison | None, p_holm: float | None) -> Row:
        cells = [share_cell(share.before, share.old), share_cell(share.after, share.new)]
        cells += [change_cell(change, p_holm), share_cell(share.chance, share.new)]
        cells.append(text(verdict(change, p_holm)))
        return Row([text(metric_label(share.metric)), text(share.task), *cells])

    def tasks(self, experiment: Experiment) -> list[str]:
        tasks, shown = experiment.evaluation.generation.tasks, group_tasks(experiment, self.group)
        return [name for name in tasks if tasks[name].kind == INSTRUCTIONS and name in shown]

    def places(self, index: RunIndex) -> Iterator[Place]:
        systems = [
            (run, step) for _, pairs in blocks(index, self.group, self.steps) for run, step in pairs
        ]
        for run, step in [self.compared_with(index), *systems]:
            for task in self.tasks(index.experiment):
                yield Place(TaskScore(task=task, metric=FOLLOWED, step=step), run)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from wrong_steps(experiment, f"{key}.steps", self.group, self.steps)
        if not self.tasks(experiment):
            yield (
                f"{key}: group {self.group!r} has no generation task of kind {INSTRUCTIONS!r}; add "
                "one under evaluation.generation.tasks"
            )
        if self.before and self.before.run not in experiment.index.ids:
            known = experiment.index.ids
            yield from unknowns(f"{key}.before.run", [self.before.run], known, "run")
        elif self.before and not self.before_steps(experiment.index):
            run = experiment.index.run(self.before.run)
            yield (
                f"{key}.before.step: {self.before.step!r} is not a checkpoint of run {run.id!r} "
                f"(at: {', '.join(map(str, run.steps))}); choose one of these"
            )
        else:
            yield from super().problems(experiment, key)

    def limited(self, results: Results) -> str | None:
        """Return how many questions were asked, of whatever task, where not all were."""
        return limited_tasks(results, results.experiment.evaluation.generation.tasks)

    def needs(self, layout: Layout) -> list[str]:
        before = layout.replicates(self.before.run) if self.before else []
        scored = dict.fromkeys(run.scored_id for run in [*layout.evaluated(self.group), *before])
        return [manifest(layout.paths.generation(run)) for run in scored]


@dataclass(frozen=True)
class Share:
    """A share of answers before and after, and by chance, with the files of outputs."""

    task: str
    metric: str
    before: Items | None
    after: Items | None
    chance: Items | None
    old: str
    new: str


def share_cell(items: Items | None, provenance: str) -> Cell:
    from revocab.evaluation.resampling import score_interval

    if items is None:  # not asked: no gap
        return text("")
    interval = score_interval(items, whole=100)
    limits = None if interval is None else (interval.low, interval.high)
    return Cell(items.value(), provenance=provenance, interval=limits)


def compared(shares: Sequence[Share]) -> list[tuple[PairedComparison | None, float | None]]:
    """Return the changes with intervals that hold at once, and p-values adjusted for all (Holm)."""
    from revocab.evaluation.resampling import RESAMPLES, compare

    both = [
        (share.after, share.before)
        if share.after and share.before and len(share.after.weights_N) > 1
        and share.after.counts_NK.shape == share.before.counts_NK.shape
        else None
        for share in shares
    ]  # fmt: skip
    count = len([pair for pair in both if pair])
    resamples = most_exchanges(RESAMPLES, count)
    changes = [
        pair and compare(*pair, resamples, comparisons=count, level=level_of(count))
        for pair in both
    ]
    adjusted = iter(holm([change.p_value for change in changes if change]))
    return [(change, next(adjusted) if change else None) for change in changes]


def change_cell(change: PairedComparison | None, p_holm: float | None) -> Cell:
    if change is None:
        return text("")
    return Cell(change.difference + 0.0, interval=(change.low, change.high), p_value=p_holm)


def verdict(change: PairedComparison | None, p_holm: float | None) -> str:
    if change is None or p_holm is None:
        return "not comparable"
    if p_holm < SIGNIFICANT and change.high < 0:
        return "worse"
    return "better" if p_holm < SIGNIFICANT and change.low > 0 else "no change shown"


TABLE = GateTable
