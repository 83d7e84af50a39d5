"""Runs of one group compared item by item: every task, every pair, one checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from revocab.errors import RevocabError
from revocab.evaluation import resampling
from revocab.evaluation.generation.task_scores import task_items
from revocab.evaluation.measures import items_of
from revocab.evaluation.multiple_choice.families import choice_metrics
from revocab.evaluation.options import ComparisonJob
from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    NORMAL_95,
    deviation,
    holm,
    p_of_both,
    paired_interval,
)
from revocab.io import read_jsonl, write_csv
from revocab.output import check_files
from revocab.report.annotations import Run
from revocab.report.results.folder import Results
from revocab.report.results.scores import AVERAGE, Record, average_task

COLUMNS = (
    "group", "step", "task", "language", "metric", "run", "other", "difference", "low", "high",
    "p_value", "p_holm", "items", "resamples", "seed",
)  # fmt: skip
#: Further columns where runs have replicates: a pair's number of seeds, the interval over them,
#: and the p-value over items and seeds (none of fewer than :data:`FEWEST_SEEDS`).
SEED_COLUMNS = ("seeds", "seed_low", "seed_high", "p_both")
Key = tuple[str, str]
#: Where a run's items of multiple-choice tasks and of COMET stand.
CHOICE_ITEMS = "multiple_choice_items.jsonl.gz"
COMET_ITEMS = "generation/comet_items.jsonl.gz"


@dataclass
class Replicate:
    """A run at one checkpoint, with its items by (task, metric) and their resampled scores."""

    run: Run
    step: int
    items: dict[Key, resampling.Items] = field(default_factory=dict)
    scores: dict[Key, np.ndarray | None] = field(default_factory=dict)


@dataclass
class System:
    """What is compared at one checkpoint: a run, or the mean of its replicates."""

    run: Run
    replicates: list[Replicate]

    @property
    def seeded(self) -> bool:
        return self.replicates[0].run.replicate_of is not None

    def has(self, key: Key) -> bool:
        return all(key in replicate.items for replicate in self.replicates)


def systems(results: Results, group: str, step: str | int) -> list[System]:
    """Return a group's base model and its scored runs at a step, in the experiment's order."""
    complete = [
        System(run, [Replicate(replicate, at) for replicate in results.replicates(run)])
        for run in results.group(group)
        for at in run.select([step])
    ]
    for system in complete:
        for replicate in system.replicates:
            replicate.items = {
                **choice_items(results, replicate),
                **generation_items(results, replicate),
            }
    return complete


def pairs_of(first: System, second: System) -> list[tuple[Replicate, Replicate]]:
    """Return which replicates of two systems are compared with each other.

    Those of equal seeds; one without replicates is compared with each of the other's.
    """
    if first.seeded and second.seeded:
        by_seed = {replicate.run.seed: replicate for replicate in second.replicates}
        shared = [replicate for replicate in first.replicates if replicate.run.seed in by_seed]
        return [(replicate, by_seed[replicate.run.seed]) for replicate in shared]
    return list(product(first.replicates, second.replicates))


def over_seeds(
    key: Key, first: System, second: System, comparison: Mapping[str, float]
) -> dict[str, Any]:
    """Return the number of seeds of a comparison, its interval over them and its p-value over both
    seeds and items, at least that of the items alone.

    A system trained with a single seed says nothing about other seeds.
    """
    if not (first.seeded or second.seeded):
        return dict.fromkeys(SEED_COLUMNS)
    pairs = pairs_of(first, second)
    if any(replicate.run.trains and not replicate.seeded for replicate in (first, second)):
        pairs = pairs[:1]
    values = [[replicate.items[key].value() for replicate in of] for of in zip(*pairs, strict=True)]
    return seed_columns(values, comparison)


def seed_columns(
    values: Sequence[Sequence[float]], comparison: Mapping[str, float]
) -> dict[str, Any]:
    """Return :data:`SEED_COLUMNS` of two systems' values by seed and their comparison by items."""
    seeds, interval = len(values[0]) if values else 0, paired_interval(*values) if values else None
    found: dict[str, Any] = {**dict.fromkeys(SEED_COLUMNS), "seeds": seeds}
    if interval is None:
        return found
    found |= {"seed_low": interval.low, "seed_high": interval.high}
    if seeds >= FEWEST_SEEDS:
        spread = deviation([ours - theirs for ours, theirs in zip(*values, strict=True)])
        difference, end = comparison["difference"], "low" if interval.difference > 0 else "high"
        item_error = abs(difference - comparison[end]) / NORMAL_95
        both = p_of_both(interval.difference, item_error, spread or 0.0, seeds)
        found["p_both"] = max(comparison["p_value"], both)
    return found


def adjusted(rows: Sequence[Record]) -> list[Record]:
    """Return comparisons with ``p_holm``, their p-values adjusted for their number (Holm): over
    items, and over items and seeds where runs have any. None where seeds are too few: no evidence.
    """
    p_values = [row.get("p_both") if row.get("seeds") else row["p_value"] for row in rows]
    known = iter(holm([float(p) for p in p_values if p not in (None, "")]))
    return [
        {**row, "p_holm": None if p in (None, "") else next(known)}
        for row, p in zip(rows, p_values, strict=True)
    ]


def stored_items(results: Results, system: Replicate, name: str) -> Iterator[dict[str, Any]]:
    path = results.root / "runs" / system.run.scored_id / name
    if path.is_file():
        yield from (row for row in read_jsonl(path) if row["step"] == system.step)


def choice_items(results: Results, system: Replicate) -> dict[tuple[str, str], resampling.Items]:
    """Return the items of every multiple-choice task in its family's metric, and the averages."""
    stored = {
        (row["task"], row["metric"]): items_of(row)
        for row in stored_items(results, system, CHOICE_ITEMS)
    }
    tasks = results.experiment.evaluation.multiple_choice.tasks
    found: dict[tuple[str, str], resampling.Items] = {}
    for task in tasks:
        for metric in choice_metrics(results.family(task), results.scores.metrics):
            if (task, metric) in stored:
                found[task, metric] = stored[task, metric]
                break
    for language in sorted({task.language for task in tasks.values()}):
        names = results.choice_tasks(language)
        of_language = [items for (task, _), items in found.items() if task in names]
        if of_language and len(of_language) == len(names):
            found[average_task(language), AVERAGE] = resampling.mean_of_tasks(of_language)
    return found


def generation_items(
    results: Results, system: Replicate
) -> dict[tuple[str, str], resampling.Items]:
    items_of: dict[tuple[str, str], resampling.Items] = {}
    for task, entry in results.experiment.evaluation.generation.tasks.items():
        folder = results.root / "runs" / system.run.scored_id / "generation"
        path = folder / f"step-{system.step:06d}" / f"{task}.jsonl"
        if path.is_file():
            rows = list(read_jsonl(path))
            for metric, items in task_items(entry.kind, entry.direction, rows).items():
                items_of[task, metric] = items
    for row in stored_items(results, system, COMET_ITEMS):
        if row["metric"] not in results.comet_metrics:
            continue
        items_of[row["task"], row["metric"]] = resampling.mean_items(row["values"])
    return items_of


def paired_generation_items(
    results: Results, *sides: tuple[Run, int]
) -> tuple[dict[Key, resampling.Items], dict[Key, resampling.Items]]:
    """Return the items of every generative task and metric of two runs at a step, to be compared.

    Of replicates they are means over the seeds that are paired.
    """
    first, second = (
        System(run, [Replicate(replicate, step) for replicate in results.replicates(run)])
        for run, step in sides
    )
    for replicate in (*first.replicates, *second.replicates):
        replicate.items = generation_items(results, replicate)
    items_of: list[dict[Key, resampling.Items]] = [{}, {}]
    for items, side in zip(items_of, zip(*pairs_of(first, second), strict=True), strict=False):
        for key in side[0].items:
            if all(key in replicate.items for replicate in side):
                items[key] = resampling.mean_of_seeds([replicate.items[key] for replicate in side])
    return items_of[0], items_of[1]


def language_of(results: Results, task: str) -> str:
    """Return the language that a task is in; that of the output for a generative one."""
    evaluation = results.experiment.evaluation
    if task in evaluation.multiple_choice.tasks:
        return evaluation.multiple_choice.tasks[task].language
    if task in evaluation.generation.tasks:
        return evaluation.generation.tasks[task].direction[-1]
    return task.removeprefix(f"{AVERAGE}_")


def compare_group(
    results: Results, group: str, step: str | int, resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Return a row per task, metric and pair of a group's systems at one step.

    P-values are adjusted for the pairs of one task and metric (Holm). Raises
    :class:`RevocabError` where two systems were scored on different items.
    """
    compared = systems(results, group, step)
    every = [replicate for system in compared for replicate in system.replicates]
    for replicate in every:
        replicate.scores = {
            key: resampling.bootstrap_scores(items, resamples, seed)
            for key, items in replicate.items.items()
        }
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys(key for replicate in every for key in replicate.items):
        having = [system for system in compared if system.has(key)]
        block: list[dict[str, Any]] = []
        pairs = comb(len(having), 2)
        for first, second in combinations(having, 2):
            comparison = pair(key, first, second, resamples, seed, pairs)
            if comparison is None:
                continue
            where = {"group": group, "step": step, "task": key[0], "metric": key[1]}
            where["language"] = language_of(results, key[0])
            who = {"run": first.run.id, "other": second.run.id}
            items = len(first.replicates[0].items[key].weights_N)
            drawn = {"items": items, "resamples": resamples, "seed": seed}
            seeds = over_seeds(key, first, second, comparison)
            block.append({**where, **who, **comparison, **drawn, **seeds})
        rows += adjusted(block)
    return rows


def pair(
    key: Key, first: System, second: System, resamples: int, seed: int, pairs: int
) -> dict[str, float] | None:
    """Return the comparison of two systems on one task and metric, None for one item or no seed.

    Of replicates, means over seeds are compared on the same resampled items. ``pairs``: how many
    the p-value will be adjusted for.
    """
    sides = list(zip(*pairs_of(first, second), strict=True))
    if not sides:
        return None
    try:
        ours, theirs = (
            resampling.mean_of_seeds([replicate.items[key] for replicate in side]) for side in sides
        )
        comparison = resampling.compare(
            ours, theirs, resamples, seed, resampled(key, *sides), pairs
        )
    except ValueError as error:
        raise RevocabError(
            f"{first.run.id} and {second.run.id} were scored on different items of {key[0]} "
            f"({error}); score both again"
        ) from None
    return vars(comparison) if comparison else None


def resampled(key: Key, *sides: Sequence[Replicate]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the mean resampled scores of both sides of a comparison; None for one item."""
    means = []
    for side in sides:
        scores_SR = [scores for replicate in side if (scores := replicate.scores[key]) is not None]
        if len(scores_SR) < len(side):
            return None
        means.append(scores_SR[0] if len(side) == 1 else np.mean(scores_SR, axis=0))
    return means[0], means[1]


def compare_runs(
    root: str | Path, job: ComparisonJob, out: str | Path, experiment: str | Path | None = None
) -> None:
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    rows = [
        row
        for step in job.steps
        for row in compare_group(results, job.group, step, job.resamples, job.seed)
    ]
    if not rows:
        named = ", ".join(map(str, job.steps))
        raise RevocabError(f"{results.root}: group {job.group!r} has no two scored runs at {named}")
    seeded = any(row["seeds"] is not None for row in rows)
    columns = (*COLUMNS, *SEED_COLUMNS) if seeded else COLUMNS
    write_csv(Path(out), columns, [{name: row[name] for name in columns} for row in rows])
