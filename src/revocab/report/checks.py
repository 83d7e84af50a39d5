"""Checks on finished results: every score there that a table or figure shows, and in range."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.metrics import COMET, UNKNOWN
from revocab.io import write_json
from revocab.output import check_files
from revocab.report.references import shown_scores
from revocab.report.results import Results

CLOSE = 1e-6


def check_artefacts(
    root: str | Path,
    out: str | Path,
    experiment: str | Path | None = None,
    changed: Callable[[Results], Iterable[str]] | None = None,
) -> None:
    """Check a results folder and write what was checked to ``out``. ``changed`` tells problems of
    what the results were made from. Raises :class:`RevocabError` listing every problem; ``out`` is
    written only without any.
    """
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    problems = [*check_results(results), *(changed(results) if changed else ())]
    if problems:
        raise RevocabError(dict.fromkeys(problems))
    tables, figures = len(results.experiment.tables), len(results.experiment.figures)
    counts = {"experiment": results.name, "tables": tables, "figures": figures}
    counts |= {"runs": len(results.runs), "scores": len(results.scores.rows), "problems": 0}
    write_json(out, counts)


def check_results(results: Results) -> Iterator[str]:
    """Yield every problem, in the order in which a user would fix them."""
    evaluation, needed = results.experiment.evaluation, shown_scores(results.experiment)
    scored = {(row["run"], row["step"], row["task"]) for row in results.scores.rows}
    for run in filter(lambda run: run.evaluate, results.runs):
        for section in (evaluation.multiple_choice, evaluation.generation):
            for step in run.select(section.steps):
                for task in section.tasks:
                    if task in needed.get(run.group, ()) and (run.id, step, task) not in scored:
                        lack = f"{run.id} has no score of {task} at step {step}"
                        yield f"scores.parquet: {lack}; score it"
    for run in filter(lambda run: run.made, results.runs):
        rows, provenance = results.heldout(run)
        if missing := sorted(set(run.steps) - {row["step"] for row in rows}):
            yield f"{provenance}: no held-out loss at steps {missing}; measure it"
    for row in results.scores.rows:
        where = f"scores.parquet, {row['run']} step {row['step']} {row['task']} {row['metric']}"
        yield from (f"{where}: {problem}" for problem in wrong_values(row, results))


def wrong_values(row: dict[str, Any], results: Results) -> Iterator[str]:
    value, stderr, file = row["value"], row["stderr"], row["provenance"]
    if value is None or math.isnan(value):
        if row["metric"] != COMET or COMET in results.comet_metrics:
            yield f"no value (see {file})"
        return
    metric = metrics().get(row["metric"], UNKNOWN)
    if math.isinf(value):
        yield f"{value} is not finite (see {file})"
    elif not metric.low - CLOSE <= value <= metric.high + CLOSE:
        yield f"{value} is not in {metric.low} to {metric.high} (see {file})"
    if stderr is not None and not 0 <= stderr <= metric.high:
        yield f"standard error {stderr} (see {file})"
    if not results.has(file):
        yield f"its file {file} is not in {results.root}"
