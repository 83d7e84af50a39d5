"""What tuning or adaptation may break: instructions checked by rule, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import Id, RunStep, Step
from revocab.report import notes
from revocab.report.asked import group_tasks, of_group
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import method_label, metric_label
from revocab.report.prerequisites import manifest
from revocab.report.references import (
    unknown_groups,
    unknown_runs,
    unscored_steps,
    wrong_steps,
)
from revocab.report.results import Results
from revocab.report.table_parts.score_rows import blocks
from revocab.report.table_parts.table import Cell, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.evaluation.resampling import Items, PairedComparison

#: The kind of generation task whose outputs are shown, and what its chance level is of.
INSTRUCTIONS = "instructions"
FOLLOWED, CHANCE = "followed", "followed_by_chance"


class GateTable(KindOptions):
    """What runs of a group do with instructions, beside what a model did before."""

    kind: Literal["gate"]
    group: Id
    steps: list[Step] = Field(default=["last"])
    before: RunStep | None = Field(
        default=None, description="the run that others are compared with; default: the group's base"
    )
    tolerance: float = Field(
        default=0.0, ge=0, le=100, description="points by which a share may fall and still be kept"
    )


def build(results: Results, identifier: str, options: GateTable) -> Table:
    """Return a block of rows for each run and step, a row per task and share."""
    before = system_before(results, options)
    rows: list[Row] = []
    for _, pairs in blocks(results, options.group, options.steps):
        for run, step in pairs:
            if (run.id, step) != (before[0].id, before[1]):
                rows += run_rows(results, options, before, (run, step))
    label = f"{method_label(before[0])}, step {before[1]}"
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Share", "Task", "Before", "After", "Change", "Chance", "Verdict"],
        rows,
        [
            f"Per cent of answers. Before: {label}. Change: after minus before on the same "
            "questions, in points. Worse: the 95 % interval of the change (paired bootstrap) lies "
            f"below {0 - options.tolerance:g}; better: above 0. Chance: what the right answers to "
            "the other questions would get. The CSV has the intervals: Wilson's for shares.",
            *notes.captions(results),
            *notes.asking(results),
            *notes.synthetic(results),
        ],
    )


def system_before(results: Results, options: GateTable) -> tuple[Run, int]:
    """Return the run and step that others are compared with."""
    if options.before is None:
        return results.base(options.group), 0
    run = results.run(options.before.run)
    return run, run.select([options.before.step])[0]


def run_rows(
    results: Results, options: GateTable, before: tuple[Run, int], after: tuple[Run, int]
) -> list[Row]:
    """Return the rows of one run at a step, under a heading."""
    from revocab.report.results.significance import paired_generation_items  # imports numpy

    first, second = paired_generation_items(results, before, after)
    run, step = after
    rows = [Row(section=f"{method_label(run)}, step {step}")]
    tasks = instruction_tasks(results.experiment, options.group)
    for task, metric in ((task, metric) for task in tasks for metric in shares()):
        key = (task, metric)
        if (first or second) and key not in {*first, *second}:
            continue  # nothing of the task asks for it
        chance = second.get((task, CHANCE)) if metric == FOLLOWED else None
        cells = [share_cell(one.get(key), place(results, of, task)) for one, of in (
            (first, before), (second, after)
        )]  # fmt: skip
        change = comparison(second.get(key), first.get(key))
        rows.append(
            Row(
                [
                    text(metric_label(metric)),
                    text(task),
                    *cells,
                    change_cell(change),
                    share_cell(chance, place(results, after, task)),
                    text(verdict(change, options.tolerance)),
                ]
            )
        )
    return rows


def shares() -> list[str]:
    """Return the metrics of instructions that are shown, in their order."""
    from revocab.evaluation.generation.kind import find_kind

    return [one.name for one in find_kind(INSTRUCTIONS).metrics if one.name != CHANCE]


def place(results: Results, of: tuple[Run, int], task: str) -> str:
    """Return the file of a run's outputs on a task, of replicates the first's."""
    run = results.replicates(of[0])[0]
    return f"runs/{run.scored_id}/generation/step-{of[1]:06d}/{task}.jsonl"


def share_cell(items: Items | None, provenance: str) -> Cell:
    """Return a percentage with its interval: Wilson's where every item is right or wrong."""
    from revocab.evaluation.resampling import bootstrap, wilson

    if items is None:  # not asked: no gap
        return text("")
    interval = wilson(items, whole=100) or bootstrap(items)
    found = None if interval is None else (interval.low, interval.high)
    return Cell(items.value(), provenance=provenance, interval=found)


def comparison(after: Items | None, before: Items | None) -> PairedComparison | None:
    """Return how two runs differ on the same questions, where both were asked them."""
    from revocab.evaluation.resampling import compare

    if after is None or before is None or after.counts_NK.shape != before.counts_NK.shape:
        return None
    return compare(after, before)


def change_cell(change: PairedComparison | None) -> Cell:
    """Return a difference with its interval and p-value."""
    if change is None:
        return text("")
    return Cell(change.difference + 0.0, interval=(change.low, change.high), p_value=change.p_value)


def verdict(change: PairedComparison | None, tolerance: float) -> str:
    """Return what a change amounts to."""
    if change is None:
        return "not comparable"
    if change.high < -tolerance:
        return "worse"
    return "better" if change.low > 0 else "no change shown"


def instruction_tasks(experiment: Experiment, group: str) -> list[str]:
    """Return a group's tasks of instructions, in the experiment's order."""
    given, shown = experiment.evaluation.generation.tasks, group_tasks(experiment, group)
    return [task for task, one in given.items() if one.kind == INSTRUCTIONS and task in shown]


def problems(experiment: Experiment, key: str, options: GateTable) -> Iterator[str]:
    """Yield a problem for what is not there: group, run, steps, tasks."""
    yield from unknown_groups(experiment, key, options.group)
    yield from wrong_steps(experiment, f"{key}.steps", options.group, options.steps)
    yield from unscored_steps(
        experiment, f"{key}.steps", options.group, options.steps, "generation"
    )
    if options.group in experiment.runs and not instruction_tasks(experiment, options.group):
        yield (
            f"{key}: group {options.group!r} has no generation task of kind {INSTRUCTIONS!r}; add "
            "one under evaluation.generation.tasks"
        )
    if options.before is not None:
        yield from before_problems(experiment, f"{key}.before", options.before)


def before_problems(experiment: Experiment, key: str, before: RunStep) -> Iterator[str]:
    """Yield a problem for a run that is not there, or a step at which it does not generate."""
    from revocab.config.lineage import run_ids, run_steps, selected

    yield from unknown_runs(experiment, key, [before.run])
    if before.run not in run_ids(experiment):
        return
    known = run_steps(experiment, before.run)
    chosen = selected(*known, [before.step])
    scored = selected(*known, experiment.evaluation.generation.steps)
    if not chosen or not {*chosen} <= {*scored}:
        yield (
            f"{key}.step: run {before.run!r} has no outputs at {before.step!r} (at: "
            f"{', '.join(map(str, scored))}); choose one of these, or add it to "
            "evaluation.generation.steps"
        )


def scores(experiment: Experiment, options: GateTable) -> Iterator[tuple[str, str]]:
    """Yield the tasks of instructions, for the group and for that of the run before."""
    from revocab.config.lineage import group_of  # stands on the schema, which needs kinds

    tasks = instruction_tasks(experiment, options.group)
    yield from of_group(options.group, tasks)
    other = group_of(experiment, options.before.run) if options.before else None
    if other is not None and other != options.group:
        yield from of_group(other, tasks)


def needs(layout: Layout, options: GateTable) -> list[str]:
    """Return the manifests of the text that is compared."""
    before = layout.replicates(options.before.run) if options.before else []
    scored = dict.fromkeys(run.scored_id for run in [*layout.evaluated(options.group), *before])
    return [manifest(layout.paths.generation(run)) for run in scored]


def limited(results: Results, options: GateTable) -> str | None:
    """Return how many questions were asked, where not all were."""
    return notes.limited_queries(results)


TABLE = TableKind(
    options=GateTable,
    build=build,
    problems=problems,
    limited=limited,
    scores=scores,
    needs=needs,
)
