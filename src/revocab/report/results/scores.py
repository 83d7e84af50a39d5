"""All scores of an experiment in one long table, the published value beside each; and checks of
them: every score there that a table or figure shows, and in range.

Units: ``acc`` and ``acc_norm`` and similarities are fractions, generation metrics are 0 to 100,
losses are nats per token and bits per byte. ``paper_value`` is in the unit of ``value``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.metrics import COMET, UNKNOWN, choice_metrics
from revocab.io import atomic, number, read_parquet, write_csv, write_json
from revocab.output import check_files
from revocab.report.annotations import Experiment, Results, Run
from revocab.report.references import shown_scores
from revocab.report.runs import group_tasks

COLUMNS = (
    "experiment", "run", "source", "method", "step", "task", "language", "metric", "value",
    "stderr", "shots", "task_version", "paper_value", "provenance", "low", "high", "items", "limit",
    "harness_version", "config_hash", "data_revision",
)  # fmt: skip
INTEGERS = ("step", "shots", "items", "limit")
REALS = ("value", "stderr", "paper_value", "low", "high")
#: Columns in which a score of multiple choice says what it was made with.
VERSIONS = ("task_version", "harness_version", "config_hash", "data_revision")
#: How far beyond its bounds a score may lie by rounding.
CLOSE = 1e-6
#: One measurement: a row of a file of results, by column.
Record = dict[str, Any]
#: ``task`` of the mean over all multiple-choice tasks of a language; its metric is ``average``.
AVERAGE = "average"
#: The metric of similarity to a helper, of whatever task.
HELPER_SIMILARITY = "similarity_helper"


def average_task(language: str) -> str:
    return f"{AVERAGE}_{language}"


def shown_scale(metric: str) -> float:
    """Return what a score is multiplied by where it is shown: a fraction, by 100."""
    return 100 if metrics().get(metric, UNKNOWN).high == 1 else 1


class Scores:
    """The long table of scores."""

    def __init__(self, rows: list[Record]):
        self.rows = rows
        self._by_key = {(r["run"], r["step"], r["task"], r["metric"]): r for r in rows}
        self._reported = {(row["task"], row["metric"]) for row in rows}

    @classmethod
    def read(cls, path: Path) -> Scores:
        return cls(read_parquet(path, COLUMNS).to_pylist())

    def get(self, run: str, step: int, task: str, metric: str) -> Record | None:
        return self._by_key.get((run, step, task, metric))

    def choice(self, run: str, step: int, task: str, family: str) -> Record | None:
        """Return a multiple-choice row in its family's metric, or in one that its task reports."""
        rows = (self.get(run, step, task, metric) for metric in choice_metrics(family))
        return next(filter(None, rows), None)

    def shown_metric(self, task: str, family: str) -> str:
        known = choice_metrics(family)
        return next((name for name in known if (task, name) in self._reported), known[0])


def other_items(experiment: Experiment, rows: Sequence[Record]) -> dict[str, tuple[int, int]]:
    """Return the tasks that are scored on another number of items than expected, with both numbers.
    Scores of the first items of a task tell nothing. Raises :class:`RevocabError` for tasks whose
    number is a must.
    """
    evaluation = experiment.evaluation
    scored: dict[str, set[int]] = {}
    for row in rows:
        if row["items"] and not row["limit"]:
            scored.setdefault(row["task"], set()).add(row["items"])
    others, problems = {}, []
    tasks: dict[str, Any] = {**evaluation.multiple_choice.tasks, **evaluation.generation.tasks}
    for task, entry in tasks.items():
        # A row that is asked in several ways has further items; one of its metrics counts rows.
        counts, expected = scored.get(task), entry.items
        if counts is None or expected is None or expected.number in counts:
            continue
        others[task] = max(counts), expected.number
        if expected.strict:
            problems.append(
                f"task {task!r}: {max(counts):,} items are scored, expected {expected.number:,};"
                " pin the version of the data that has them, or drop 'strict' of its 'items'"
            )
    refuse(problems)
    return others


def mean_score(
    scores: Sequence[tuple[float | None, float | None]],
) -> tuple[float, float | None] | None:
    """Return the unweighted mean of scores and its standard error (items independent). ``scores``
    are values with their standard errors. None if there is no score, or if one is missing: an
    average over fewer tasks cannot be compared.
    """
    values = [value for value, _ in scores if value is not None]
    squares = [error**2 for _, error in scores if error is not None]
    if not values or len(values) < len(scores):
        return None
    known = len(squares) == len(scores)
    return fmean(values), math.sqrt(math.fsum(squares)) / len(scores) if known else None


def task_rows(
    results: Results, run: Run, section: Literal["multiple_choice", "generation"]
) -> Iterator[Record]:
    """Yield a run's scores of a section's tasks: every metric, one that was not computed empty.
    Raises :class:`RevocabError` where a task is not in the experiment.
    """
    generated, path = section == "generation", f"runs/{run.scored_id}/multiple_choice.csv"
    rows = results.csv(path) if not generated else results.generation(run)
    tasks = getattr(results.experiment.evaluation, section).tasks
    own = group_tasks(results.experiment, run.group)
    for row in rows:
        where, name = row.get("provenance", path), row["task"]
        if name not in tasks:
            raise RevocabError(
                f"{results.root / where}: task {name!r} is not in the experiment (its tasks: "
                f"{', '.join(tasks)}); {'generate' if generated else 'score the run'} again"
            )
        if name not in own:  # of another group that shows the same model
            continue
        task, score = tasks[name], {"step": int(row["step"]), "task": name, "metric": row["metric"]}
        score |= {key: int(row[key]) if row.get(key) else None for key in ("items", "limit")}
        score |= {key: number(row.get(key)) for key in ("value", "stderr", "low", "high")}
        if generated:
            score |= {"language": task.direction[-1], "shots": task.shots, "limit": task.limit}
        else:
            score |= {"language": task.language, "shots": int(row["shots"])}
            score |= {key: row.get(key) for key in VERSIONS}
        yield {**score, "provenance": where}


def other_rows(results: Results, run: Run) -> Iterator[Record]:
    """Yield a run's held-out losses, and its similarity to the helper and to others."""
    losses, path = results.heldout(run)
    for row in losses:
        where = {"step": row["step"], "language": row["language"], "provenance": path}
        for metric in ("loss", "bits_per_byte"):
            score = {"metric": metric, "value": row[metric]}
            yield {**where, "task": f"heldout_{row['corpus']}", **score}
    for row in results.similarities:
        if row["run"] == run.id:
            score = {"task": f"similarity_{row['other']}", "metric": f"similarity_{row['kind']}"}
            where = {"step": row["step"], "language": "", "provenance": row["provenance"]}
            yield {**where, **score, "value": row["similarity"]}


def collect(results: Results) -> list[Record]:
    """Return every score of every run, runs in the experiment's order. Published values of other
    items than those scored here are left out.
    """
    rows: list[Record] = []
    for run in results.runs:
        scores: list[Record] = []
        if run.evaluate:
            scores += task_rows(results, run, "multiple_choice")
            scores += task_rows(results, run, "generation")
        whose: Record = {**dict.fromkeys(COLUMNS), "experiment": results.name}
        whose |= {"run": run.id, "source": run.source, "method": run.method}
        for row in (*scores, *other_rows(results, run)):
            paper = results.printed(run, row["step"], row["task"], row["metric"])
            rows.append({**whose, "paper_value": paper, **row})
    others = other_items(results.experiment, rows)
    for row in rows:
        if row["task"] in others:
            row["paper_value"] = None
    return rows


def collect_scores(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write the long table as Parquet and, beside it, as CSV."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from revocab.report.results.folder import Results  # which holds the scores written here

    results, out = Results(root, experiment), Path(out)
    check_files(out, out.with_suffix(".csv"), inputs=[results.experiment_file])
    rows = collect(results)
    types = {**dict.fromkeys(INTEGERS, pa.int64()), **dict.fromkeys(REALS, pa.float64())}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    write_csv(out.with_suffix(".csv"), COLUMNS, rows)
    with atomic(out) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)


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
    from revocab.report.results.folder import Results  # which holds the scores checked here

    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    problems = [*check_results(results), *(changed(results) if changed else ())]
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
