"""Runs of one group compared item by item: every task, every pair, one checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from revocab.errors import RevocabError
from revocab.evaluation.families import main_metric
from revocab.evaluation.resampling import (
    Items,
    bootstrap_scores,
    compare,
    holm,
    mean_items,
    mean_of_tasks,
)
from revocab.evaluation.task_scores import task_items
from revocab.io import read_jsonl, write_csv
from revocab.output import check_files
from revocab.report.results import Results
from revocab.report.scores import AVERAGE, average_task

if TYPE_CHECKING:
    from revocab.config.expand import Run

COLUMNS = (
    "group", "step", "task", "language", "metric", "run", "other", "difference", "low", "high",
    "p_value", "p_holm", "items", "resamples", "seed",
)  # fmt: skip
#: Where a run's items of multiple-choice tasks and of COMET stand.
CHOICE_ITEMS = "multiple_choice_items.jsonl.gz"
COMET_ITEMS = "generation/comet_items.jsonl.gz"


@dataclass
class System:
    """One run at one checkpoint, with its items by (task, metric)."""

    run: Run
    step: int
    items: dict[tuple[str, str], Items] = field(default_factory=dict)
    scores: dict[tuple[str, str], np.ndarray | None] = field(default_factory=dict)


def systems(results: Results, group: str, step: str | int) -> list[System]:
    """Return a group's base model and its scored runs at a step, in the experiment's order."""
    found = [System(run, one) for run in results.group(group) for one in run.select([step])]
    for system in found:
        system.items = {**choice_items(results, system), **generation_items(results, system)}
    return found


def stored_items(results: Results, system: System, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an item file that belong to a system's step; none without the file."""
    path = results.root / "runs" / system.run.scored_id / name
    if path.is_file():
        yield from (row for row in read_jsonl(path) if row["step"] == system.step)


def choice_items(results: Results, system: System) -> dict[tuple[str, str], Items]:
    """Return the items of every multiple-choice task in its family's metric, and the averages."""
    stored = {
        (row["task"], row["metric"]): mean_items(row["values"], row["parts"], row["by_part"])
        for row in stored_items(results, system, CHOICE_ITEMS)
    }
    tasks = results.experiment.evaluation.multiple_choice.tasks
    found: dict[tuple[str, str], Items] = {}
    for task in tasks:
        wanted = main_metric(results.family(task), results.scores.metrics)
        for metric in (wanted, "acc", "pct_stereotype"):
            if (task, metric) in stored:
                found[task, metric] = stored[task, metric]
                break
    for language in sorted({task.language for task in tasks.values()}):
        names = results.choice_tasks(language)
        of_language = [items for (task, _), items in found.items() if task in names]
        if of_language and len(of_language) == len(names):
            found[average_task(language), AVERAGE] = mean_of_tasks(of_language)
    return found


def generation_items(results: Results, system: System) -> dict[tuple[str, str], Items]:
    """Return the items of every generative task and metric, COMET's included."""
    found: dict[tuple[str, str], Items] = {}
    for task, entry in results.experiment.evaluation.generation.tasks.items():
        folder = results.root / "runs" / system.run.scored_id / "generation"
        path = folder / f"step-{system.step:06d}" / f"{task}.jsonl"
        if path.is_file():
            rows = list(read_jsonl(path))
            for metric, items in task_items(entry.kind, entry.direction, rows).items():
                found[task, metric] = items
    for row in stored_items(results, system, COMET_ITEMS):
        if row["metric"] not in results.comet_metrics:
            continue
        found[row["task"], row["metric"]] = mean_items(row["values"])
    return found


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
    for system in compared:
        system.scores = {
            key: bootstrap_scores(items, resamples, seed) for key, items in system.items.items()
        }
    rows: list[dict[str, Any]] = []
    keys = list(dict.fromkeys(key for system in compared for key in system.items))
    for key in keys:
        having = [system for system in compared if key in system.items]
        block: list[dict[str, Any]] = []
        for first, second in combinations(having, 2):
            found = pair(key, first, second, resamples, seed)
            if found is not None:
                block.append(
                    {
                        "group": group,
                        "step": step,
                        "task": key[0],
                        "language": language_of(results, key[0]),
                        "metric": key[1],
                        "run": first.run.id,
                        "other": second.run.id,
                        **found,
                        "items": len(first.items[key].weights_N),
                        "resamples": resamples,
                        "seed": seed,
                    }
                )
        adjusted = holm([row["p_value"] for row in block])
        rows += [{**row, "p_holm": p} for row, p in zip(block, adjusted, strict=True)]
    return rows


def pair(
    key: tuple[str, str], first: System, second: System, resamples: int, seed: int
) -> dict[str, float] | None:
    """Return the comparison of two systems on one task and metric, or None for one item."""
    ours, theirs = first.scores[key], second.scores[key]
    try:
        found = compare(
            first.items[key],
            second.items[key],
            resamples,
            seed,
            None if ours is None or theirs is None else (ours, theirs),
        )
    except ValueError as error:
        raise RevocabError(
            f"{first.run.id} and {second.run.id} were scored on different items of {key[0]} "
            f"({error}); score both again"
        ) from None
    return vars(found) if found else None


def compare_runs(
    root: str | Path,
    group: str,
    steps: Sequence[str | int],
    out: str | Path,
    *,
    resamples: int,
    seed: int,
    experiment: str | Path | None = None,
) -> None:
    """Write the comparisons of a group at every step to ``out``."""
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    rows = [row for step in steps for row in compare_group(results, group, step, resamples, seed)]
    if not rows:
        named = ", ".join(map(str, steps))
        raise RevocabError(f"{results.root}: group {group!r} has no two scored runs at {named}")
    write_csv(Path(out), COLUMNS, rows)
