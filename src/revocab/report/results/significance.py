"""Runs of one group compared item by item: every task, every pair, one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.evaluation import resampling
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.metrics import choice_metrics
from revocab.evaluation.options import ComparisonJob
from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    NORMAL_95,
    deviation,
    holm,
    p_of_both,
    paired_interval,
)
from revocab.evaluation.resampling import items_of
from revocab.io import write_csv
from revocab.output import check_files
from revocab.report.annotations import Run
from revocab.report.results.folder import Results, outputs_file
from revocab.report.results.scores import AVERAGE, Record, average_task

COLUMNS = (
    "group", "step", "task", "language", "metric", "run", "other", "difference", "low", "high",
    "p_value", "p_holm", "items", "resamples", "seed",
)  # fmt: skip
#: Further columns where runs have replicates: a pair's number of seeds, the interval over them,
#: and the p-value over items and seeds (none of fewer than :data:`FEWEST_SEEDS`).
SEED_COLUMNS = ("seeds", "seed_low", "seed_high", "p_both")
#: Items of a run at a checkpoint by task and metric.
ItemsOf = dict[tuple[str, str], resampling.Items]
#: Where a run's items of multiple-choice tasks and of COMET stand.
CHOICE_ITEMS = "multiple_choice_items.jsonl.gz"
COMET_ITEMS = "generation/comet_items.jsonl.gz"


@dataclass(frozen=True)
class System:
    """What is compared at one checkpoint: a run, or the mean of its replicates."""

    run: Run
    replicates: Sequence[tuple[Run, ItemsOf]]

    @property
    def seeded(self) -> bool:
        return self.replicates[0][0].replicate_of is not None


def seed_columns(
    values: Sequence[Sequence[float]], comparison: Mapping[str, float]
) -> dict[str, Any]:
    """Return :data:`SEED_COLUMNS` of two systems' values by seed and their comparison by items."""
    seeds, interval = len(values[0]) if values else 0, paired_interval(*values) if values else None
    columns: dict[str, Any] = {**dict.fromkeys(SEED_COLUMNS), "seeds": seeds}
    if interval is None:
        return columns
    columns |= {"seed_low": interval.low, "seed_high": interval.high}
    if seeds >= FEWEST_SEEDS:
        spread = deviation([ours - theirs for ours, theirs in zip(*values, strict=True)])
        difference, end = comparison["difference"], "low" if interval.difference > 0 else "high"
        item_error = abs(difference - comparison[end]) / NORMAL_95
        both = p_of_both(interval.difference, item_error, spread or 0.0, seeds)
        columns["p_both"] = max(comparison["p_value"], both)
    return columns


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


def choice_items(results: Results, run: Run, step: int) -> ItemsOf:
    """Return the items of every multiple-choice task in its family's metric, and the averages."""
    rows = results.jsonl("runs", run.scored_id, CHOICE_ITEMS)
    stored = {(row["task"], row["metric"]): items_of(row) for row in rows if row["step"] == step}
    tasks = results.experiment.evaluation.multiple_choice.tasks
    by_task: ItemsOf = {}
    for task in tasks:
        metrics = choice_metrics(results.family(task))
        if metric := next((name for name in metrics if (task, name) in stored), None):
            by_task[task, metric] = stored[task, metric]
    for language in sorted({task.language for task in tasks.values()}):
        names = results.choice_tasks(language)
        of_language = [items for (task, _), items in by_task.items() if task in names]
        if of_language and len(of_language) == len(names):
            by_task[average_task(language), AVERAGE] = resampling.mean_of_tasks(of_language)
    return by_task


def generation_items(results: Results, run: Run, step: int) -> ItemsOf:
    found: ItemsOf = {}
    for task, entry in results.experiment.evaluation.generation.tasks.items():
        if rows := [*results.jsonl(outputs_file(run, step, task))]:
            items = find_kind(entry.kind).items(rows, entry.direction)
            found |= {(task, metric): of_metric for metric, of_metric in items.items()}
    for row in results.jsonl("runs", run.scored_id, COMET_ITEMS):
        if row["step"] == step and row["metric"] in results.comet_metrics:
            found[row["task"], row["metric"]] = resampling.mean_items(row["values"])
    return found


def compare_group(
    results: Results, group: str, step: str | int, resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Return a row per task, metric and pair of a group's systems at one step. P-values are
    adjusted for the pairs of one task and metric (Holm). Raises :class:`RevocabError` where two
    systems were scored on different items.
    """
    compared = []
    for run in results.group(group):
        for at in run.select([step]):
            replicates = results.replicates(run)
            items = [
                choice_items(results, r, at) | generation_items(results, r, at) for r in replicates
            ]
            compared.append(System(run, [*zip(replicates, items, strict=True)]))
    evaluation = results.experiment.evaluation
    languages = {task: entry.language for task, entry in evaluation.multiple_choice.tasks.items()}
    languages |= {task: entry.direction[-1] for task, entry in evaluation.generation.tasks.items()}
    rows: list[dict[str, Any]] = []
    keys = (key for system in compared for _, items in system.replicates for key in items)
    for key in dict.fromkeys(keys):
        task, metric = key
        having = [
            system for system in compared if all(key in items for _, items in system.replicates)
        ]
        language = languages.get(task, task.removeprefix(average_task("")))
        where = {"group": group, "step": step, "task": task, "language": language, "metric": metric}
        block = [
            {**where, **found, "resamples": resamples, "seed": seed}
            for pair in combinations(having, 2)
            if (found := comparison(*pair, key, resamples, seed, comb(len(having), 2)))
        ]
        rows += adjusted(block)
    return rows


def comparison(
    first: System, second: System, key: tuple[str, str], resamples: int, seed: int, number: int
) -> dict[str, Any] | None:
    """Return one of a ``number`` of comparisons, on one task and metric; None for one item or no
    seed. Of replicates, means over seeds are compared on the same resampled items; a system trained
    with a single seed says nothing about other seeds.
    """
    # Equal seeds are paired; one without replicates is compared with each of the other's.
    by_seed = first.seeded and second.seeded
    pairs = [
        (ours[key], theirs[key])
        for (run, ours), (other, theirs) in product(first.replicates, second.replicates)
        if not by_seed or run.seed == other.seed
    ]
    if not pairs:
        return None
    try:
        ours, theirs = map(resampling.mean_of_seeds, zip(*pairs, strict=True))
        compared = resampling.compare(ours, theirs, resamples, seed, number)
    except ValueError as error:
        raise RevocabError(
            f"{first.run.id} and {second.run.id} were scored on different items of {key[0]} "
            f"({error}); score both again"
        ) from None
    if compared is None:
        return None
    items = len(pairs[0][0].weights_N)
    found = {"run": first.run.id, "other": second.run.id, "items": items, **vars(compared)}
    if not (first.seeded or second.seeded):
        return {**found, **dict.fromkeys(SEED_COLUMNS)}
    if any(system.run.trains and not system.seeded for system in (first, second)):
        pairs = pairs[:1]
    values = [[items.value() for items in side] for side in zip(*pairs, strict=True)]
    return {**found, **seed_columns(values, found)}


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
