"""All scores of an experiment in one long table, the published value beside each.

Units: ``acc`` and ``acc_norm`` and similarities are fractions, generation metrics are 0 to 100,
losses are nats per token and bits per byte. ``paper_value`` is in the unit of ``value``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from revocab.errors import RevocabError, refuse
from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.metric import UNKNOWN
from revocab.evaluation.multiple_choice.families import choice_metrics, metrics_of_families
from revocab.io import atomic, number, read_parquet, write_csv
from revocab.output import check_files
from revocab.report.annotations import Experiment, Results, Run
from revocab.report.references import group_tasks, task_languages

#: A multiple-choice or a generative task of an experiment.
AnyTask = TypeVar("AnyTask")

COLUMNS = (
    "experiment", "run", "source", "method", "step", "task", "language", "metric", "value",
    "stderr", "shots", "task_version", "paper_value", "provenance", "low", "high", "items", "limit",
    "harness_version", "config_hash", "data_revision",
)  # fmt: skip
#: Columns in which a score of multiple choice says what it was made with.
VERSIONS = ("task_version", "harness_version", "config_hash", "data_revision")
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
    """The long table of scores, and which metric stands for each family in it."""

    def __init__(self, rows: list[Record], metrics: dict[str, str]):
        self.rows = rows
        self.metrics = metrics
        self._by_key = {(r["run"], r["step"], r["task"], r["metric"]): r for r in rows}
        self._reported = {(row["task"], row["metric"]) for row in rows}

    @classmethod
    def read(cls, path: Path) -> Scores:
        table = read_parquet(path, COLUMNS)
        stored = (table.schema.metadata or {}).get(b"revocab", b"{}")
        return cls(table.to_pylist(), json.loads(stored).get("metric_of_family", {}))

    def get(self, run: str, step: int, task: str, metric: str) -> Record | None:
        return self._by_key.get((run, step, task, metric))

    def choice(self, run: str, step: int, task: str, family: str) -> Record | None:
        """Return a multiple-choice row in its family's metric, or in one that its task reports."""
        metrics = choice_metrics(family, self.metrics)
        rows = (self.get(run, step, task, metric) for metric in metrics)
        return next(filter(None, rows), None)

    def shown_metric(self, task: str, family: str) -> str:
        known = choice_metrics(family, self.metrics)
        return next((name for name in known if (task, name) in self._reported), known[0])


def other_items(experiment: Experiment, rows: Sequence[Record]) -> dict[str, tuple[int, int]]:
    """Return the tasks that are scored on another number of items than expected, with both numbers.

    Scores of the first items of a task tell nothing. Raises :class:`RevocabError` for tasks whose
    number is a must.
    """
    evaluation = experiment.evaluation
    asked: dict[str, Any] = {**evaluation.multiple_choice.tasks, **evaluation.generation.tasks}
    scored: dict[str, set[int]] = {}
    for row in rows:
        if row["items"] and not row["limit"]:
            scored.setdefault(row["task"], set()).add(row["items"])
    others, problems = {}, []
    for task, expected in ((task, entry.items) for task, entry in asked.items() if entry.items):
        # A row that is asked in several ways has further items; one of its metrics counts rows.
        found = scored.get(task, {expected.number})
        if expected.number not in found:
            others[task] = max(found), expected.number
            if expected.strict:
                problems.append(
                    f"task {task!r}: {max(found):,} items are scored, expected {expected.number:,};"
                    " pin the version of the data that has them, or drop 'strict' of its 'items'"
                )
    refuse(problems)
    return others


def mean_score(
    scores: Sequence[tuple[float | None, float | None]],
) -> tuple[float, float | None] | None:
    """Return the unweighted mean of scores and its standard error (items independent).

    ``scores`` are values with their standard errors. None if there is no score, or if one is
    missing: an average over fewer tasks cannot be compared.
    """
    values = [value for value, _ in scores if value is not None]
    if not values or len(values) < len(scores):
        return None
    errors = [error for _, error in scores if error is not None]
    error = math.sqrt(math.fsum(error**2 for error in errors)) / len(scores)
    return math.fsum(values) / len(values), error if len(errors) == len(scores) else None


def score_row(results: Results, run: Run, **values: Any) -> Record:
    row = {
        "experiment": results.name,
        "run": run.id,
        "source": run.source,
        "method": run.method,
        **dict.fromkeys(COLUMNS[COLUMNS.index("stderr") :]),
        **values,
    }
    row["paper_value"] = results.printed(run, row["step"], row["task"], row["metric"])
    return {column: row[column] for column in COLUMNS}


def measured(row: dict[str, str]) -> Record:
    return {
        "step": int(row["step"]),
        "task": row["task"],
        "metric": row["metric"],
        **{name: number(row.get(name)) for name in ("value", "stderr", "low", "high")},
        **{name: int(row[name]) if row.get(name) else None for name in ("items", "limit")},
    }


def with_tasks(
    results: Results, run: Run, rows: list[Record], tasks: dict[str, AnyTask], advice: str
) -> Iterator[tuple[Record, AnyTask]]:
    """Yield the rows of a run's file, each with its task in the experiment.

    Those of another group that shows the same model are left out. Raises :class:`RevocabError`
    where a task is not in the experiment.
    """
    own = group_tasks(results.experiment, run.group)
    for row in rows:
        if row["task"] not in tasks:
            raise RevocabError(
                f"{results.root / row['provenance']}: task {row['task']!r} is not in the "
                f"experiment (its tasks: {', '.join(tasks)}); {advice}"
            )
        if row["task"] in own:
            yield row, tasks[row["task"]]


def multiple_choice_rows(results: Results, run: Run) -> Iterator[Record]:
    tasks = results.experiment.evaluation.multiple_choice.tasks
    path = f"runs/{run.scored_id}/multiple_choice.csv"
    rows = [{**row, "provenance": path} for row in results.csv(path)]
    for row, task in with_tasks(results, run, rows, tasks, "score the run again"):
        own = {"language": task.language, "shots": int(row["shots"]), "provenance": path}
        versions = {name: row.get(name) for name in VERSIONS}
        yield score_row(results, run, **measured(row), **own, **versions)


def generation_rows(results: Results, run: Run) -> Iterator[Record]:
    """Yield every metric of every generative task of a run; one that was not computed is empty."""
    tasks, rows = results.experiment.evaluation.generation.tasks, results.generation(run)
    for row, task in with_tasks(results, run, rows, tasks, "generate again"):
        values = {**measured(row), "limit": task.limit, "provenance": row["provenance"]}
        yield score_row(results, run, **values, language=task.direction[-1], shots=task.shots)


def heldout_rows(results: Results, run: Run) -> Iterator[Record]:
    rows, path = results.heldout(run)
    for row in rows:
        where = {"step": row["step"], "task": f"heldout_{row['corpus']}", "provenance": path}
        for metric in ("loss", "bits_per_byte"):
            score = {"language": row["language"], "metric": metric, "value": row[metric]}
            yield score_row(results, run, **where, **score)


def similarity_rows(results: Results, run: Run) -> Iterator[Record]:
    for row in results.similarities:
        if row["run"] != run.id:
            continue
        where = {"step": row["step"], "language": "", "provenance": row["provenance"]}
        task, metric = f"similarity_{row['other']}", f"similarity_{row['kind']}"
        yield score_row(results, run, **where, task=task, metric=metric, value=row["similarity"])


def average_rows(
    results: Results, run: Run, rows: list[Record], metrics: Mapping[str, str]
) -> Iterator[Record]:
    """Yield the mean over all multiple-choice tasks of each language, where all are scored."""
    scores = Scores(rows, dict(metrics))
    tasks = results.experiment.evaluation.multiple_choice.tasks
    for language in sorted({task.language for task in tasks.values()}):
        columns = results.choice_tasks(language)
        for step in sorted({row["step"] for row in rows}):
            rows_of = [scores.choice(run.id, step, t, results.family(t)) for t in columns]
            scored = [row for row in rows_of if row is not None]
            mean = mean_score([(row["value"], row["stderr"]) for row in scored])
            if mean is None or len(scored) < len(rows_of):
                continue
            where = {"step": step, "task": average_task(language), "language": language}
            score = {"metric": AVERAGE, "value": mean[0], "stderr": mean[1]}
            shared = {name: scored[0][name] for name in ("shots", "limit", "provenance")}
            yield score_row(results, run, **where, **score, **shared)


def collect(results: Results, metrics: Mapping[str, str] | None = None) -> list[Record]:
    """Return every score of every run, runs in the experiment's order.

    ``metrics`` overrides the metrics of ``evaluation/multiple_choice/families.yaml`` for the
    averages. Published values of other items than those scored here are left out.
    """
    rows: list[Record] = []
    for run in results.runs:
        if run.evaluate:
            choices = list(multiple_choice_rows(results, run))
            rows += choices
            rows += average_rows(results, run, choices, metrics or {})
            rows += generation_rows(results, run)
        rows += heldout_rows(results, run)
        rows += similarity_rows(results, run)
    languages = task_languages(results.experiment)
    others = other_items(results.experiment, rows)
    means = {average_task(language) for task in others for language in languages[task]}
    for row in rows:
        if row["task"] in {*others, *means}:
            row["paper_value"] = None
    return rows


def write_scores(rows: list[Record], metrics: Mapping[str, str] | None, out: str | Path) -> None:
    """Write the long table as Parquet and, beside it, as CSV.

    The metric of each family is stored in the Parquet schema, so that tables and figures cannot
    choose another.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    integers = {"step", "shots", "items", "limit"}
    reals = {"value", "stderr", "paper_value", "low", "high"}
    chosen = {"metric_of_family": metrics_of_families(metrics)}
    types = {**dict.fromkeys(integers, pa.int64()), **dict.fromkeys(reals, pa.float64())}
    schema = pa.schema(
        [(name, types.get(name, pa.string())) for name in COLUMNS],
        metadata={"revocab": json.dumps(chosen, sort_keys=True)},
    )
    out = Path(out)
    write_csv(out.with_suffix(".csv"), COLUMNS, rows)
    with atomic(out) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)


def collect_scores(
    root: str | Path,
    out: str | Path,
    experiment: str | Path | None = None,
    metrics: Mapping[str, str] | None = None,
) -> None:
    from revocab.report.results.folder import Results  # which holds the scores written here

    results = Results(root, experiment)
    check_files(out, Path(out).with_suffix(".csv"), inputs=[results.experiment_file])
    rows = collect(results, metrics)
    write_scores(rows, metrics, out)
