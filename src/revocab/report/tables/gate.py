"""What tuning or adaptation may break: instructions checked by rule, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import GroupId, RunStep, Step
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.over_seeds import SIGNIFICANT, holm, level_of, most_exchanges
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import Place, TableOptions, limited_tasks, manifest
from revocab.report.names import method_label, metric_label
from revocab.report.pivot import blocks, with_headings
from revocab.report.references import unknowns, wrong_steps
from revocab.report.results import Results
from revocab.report.results.folder import outputs_file
from revocab.report.runs import RunIndex, group_tasks
from revocab.report.table import Cell, Table, text
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
        shares = [
            share
            for system in self.systems(results)
            for share in self.shares(results, self.compared_with(results), system)
        ]
        rows = []
        for share, change in zip(shares, compared(shares), strict=True):
            cells = [
                text(share.task),
                share_cell(share.before, share.old),
                share_cell(share.after, share.new),
                text("")
                if change is None
                else Cell(
                    change.difference + 0.0,
                    interval=(change.low, change.high),
                    p_value=change.p_value,
                ),
                share_cell(share.chance, share.new),
                text(verdict(change)),
            ]
            rows.append((share.block, metric_label(share.metric), cells))
        header = ["Share", "Task", "Before", "After", "Change", "Chance", "Verdict"]
        return Table(header, with_headings(rows))

    def compared_with(self, index: RunIndex) -> System:
        if self.before is None:
            return index.base(self.group), 0
        return index.run(self.before.run), self.before_steps(index)[0]

    def before_steps(self, index: RunIndex) -> list[int]:
        return index.run(self.before.run).select([self.before.step]) if self.before else []

    def systems(self, index: RunIndex) -> Iterator[System]:
        run, step = self.compared_with(index)
        for _, pairs in blocks(index, self.group, self.steps):
            yield from ((r, at) for r, at in pairs if (r.id, at) != (run.id, step))

    def shares(self, results: Results, before: System, after: System) -> Iterator[Share]:
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
            block = f"{method_label(after[0])}, step {after[1]}"
            yield Share(block, task, metric, first.get(key), second.get(key), chance, *files)

    def tasks(self, experiment: Experiment) -> list[str]:
        tasks, shown = experiment.evaluation.generation.tasks, group_tasks(experiment, self.group)
        return [name for name in tasks if tasks[name].kind == INSTRUCTIONS and name in shown]

    def places(self, index: RunIndex) -> Iterator[Place]:
        for run, step in [self.compared_with(index), *self.systems(index)]:
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

    block: str
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


def compared(shares: Sequence[Share]) -> list[PairedComparison | None]:
    """Return the changes with intervals that hold at once, and p-values adjusted for all (Holm)."""
    from revocab.evaluation.resampling import RESAMPLES, compare

    pairs = {
        place: (share.after, share.before)
        for place, share in enumerate(shares)
        if share.after and share.before and len(share.after.weights_N) > 1
        and share.after.counts_NK.shape == share.before.counts_NK.shape
    }  # fmt: skip
    resamples, level = most_exchanges(RESAMPLES, len(pairs)), level_of(len(pairs))
    changes = {
        place: change
        for place, pair in pairs.items()
        if (change := compare(*pair, resamples, comparisons=len(pairs), level=level))
    }
    adjusted = holm([change.p_value for change in changes.values()])
    for (place, change), p_holm in zip(changes.items(), adjusted, strict=True):
        changes[place] = replace(change, p_value=p_holm)
    return [changes.get(place) for place in range(len(shares))]


def verdict(change: PairedComparison | None) -> str:
    if change is None:
        return "not comparable"
    if change.p_value < SIGNIFICANT and change.high < 0:
        return "worse"
    return "better" if change.p_value < SIGNIFICANT and change.low > 0 else "no change shown"


TABLE = GateTable
