"""Checks on finished results: every file there, every number in range, nothing left out."""

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
from revocab.report.kind import DATA_ENDING, FIGURE_ENDINGS, TABLE_ENDINGS
from revocab.report.make_tables import made_tables
from revocab.report.references import shown_scores
from revocab.report.results import Results
from revocab.report.results.scores import COLUMNS
from revocab.report.values import Average, TaskScore

CLOSE = 1e-6


def check_artefacts(
    root: str | Path,
    out: str | Path,
    experiment: str | Path | None = None,
    changed: Callable[[Results], Iterable[str]] | None = None,
) -> None:
    """Check a results folder and write what was checked to ``out``.

    ``changed`` tells problems of what the results were made from. Raises :class:`RevocabError`
    listing every problem; ``out`` is written only without any.
    """
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    problems = check_results(results)
    problems += changed(results) if changed else []
    if problems:
        raise RevocabError(dict.fromkeys(problems))
    counts = {
        "experiment": results.name,
        "tables": len(results.experiment.tables),
        "figures": len(results.experiment.figures),
        "runs": len(results.runs),
        "scores": len(results.scores.rows),
        "problems": 0,
    }
    write_json(out, counts)


def check_results(results: Results) -> list[str]:
    """Return every problem found, in the order in which a user would fix them."""
    checks = file_problems, coverage_problems, value_problems, average_problems, table_problems
    return schema_problems(results) or [
        problem for check in checks for problem in check(results)
    ]


def schema_problems(results: Results) -> list[str]:
    """Return what is wrong with the columns of ``scores.parquet``; it hides all other problems."""
    path = results.root / "scores.parquet"
    if not path.is_file():
        return [f"{path}: missing; run revocab collect_scores"]
    import pyarrow.parquet as pq

    names = tuple(pq.read_schema(path).names)
    if names != COLUMNS:
        return [f"{path}: columns are {', '.join(names)}; expected {', '.join(COLUMNS)}"]
    empty = results.runs and not results.scores.rows
    return [f"{path}: no rows; score a run first"] if empty else []


def file_problems(results: Results) -> Iterator[str]:
    for folder, names, endings in (
        ("tables", results.experiment.tables, (*TABLE_ENDINGS, DATA_ENDING)),
        ("figures", results.experiment.figures, FIGURE_ENDINGS),
    ):
        for path in (results.root / folder / f"{n}.{end}" for n in names for end in endings):
            if not path.is_file():
                yield f"{path}: missing; run revocab make_{folder}"
            elif path.stat().st_size == 0:
                yield f"{path}: empty; make it again"


def coverage_problems(results: Results) -> Iterator[str]:
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


def value_problems(results: Results) -> Iterator[str]:
    for row in results.scores.rows:
        where = f"scores.parquet, {row['run']} step {row['step']} {row['task']} {row['metric']}"
        for problem in wrong_values(row, results):
            yield f"{where}: {problem}"


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


def average_problems(results: Results) -> Iterator[str]:
    setting = results.experiment.evaluation.multiple_choice
    needed = shown_scores(results.experiment)
    for language in sorted({task.language for task in setting.tasks.values()}):
        tasks = results.choice_tasks(language)
        for run in results.runs:
            if not run.evaluate or not needed.get(run.group, set()).issuperset(tasks):
                continue
            for step in run.select(setting.steps):
                stored = TaskScore.average(language, step).of_training(results, run).value
                mean = Average(named=tasks, step=step).of_training(results, run).value
                where = f"scores.parquet: {run.id} step {step}:"
                if stored is None or mean is None:
                    yield f"{where} no {language} average"
                elif abs(mean / 100 - stored) > CLOSE:
                    is_not = f"is not the mean of its tasks, {mean / 100}"
                    yield f"{where} {language} average {stored} {is_not}"


def table_problems(results: Results) -> Iterator[str]:
    for identifier, table in made_tables(results).items():
        path = results.root / "tables" / f"{identifier}.csv"
        if not path.is_file():
            continue
        if path.read_text(encoding="utf-8") != table.as_csv():
            yield f"{path}: not what {identifier}.{DATA_ENDING} beside it holds; make it again"
        options = results.experiment.tables[identifier]
        for row in () if options.may_be_empty(results) else table.data_rows():
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell.text is None and cell.value is None:
                    yield f"{path}: {row.cells[0].text}: no {column}"
        yield from options.gaps(results)


