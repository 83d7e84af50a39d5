"""Differences between pairs of a group's runs, those that are more than chance marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import Id, Step, unknown
from revocab.evaluation.over_seeds import FEWEST_SEEDS, is_real
from revocab.report import notes
from revocab.report.asked import choices_in, of_group
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import method_label, metric_label
from revocab.report.references import (
    no_generated_text,
    other_languages,
    unknown_groups,
    wrong_steps,
)
from revocab.report.results import Results
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.table_parts.table import Cell, Row, Table, text
from revocab.report.tables.generation import task_label, task_metrics
from revocab.report.tables.multiple_choice import column_labels

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

#: Below this adjusted p-value a difference is called significant.
LEVEL = 0.05


class SignificanceTable(KindOptions):
    """Differences between runs of one group, with intervals and p-values.

    In a language: its multiple-choice tasks and their average; without: the generative tasks.
    """

    kind: Literal["significance"]
    group: Id
    language: Id | None = None
    step: Step = "last"
    against: Id | None = Field(default=None, description="one run of the group; default: all pairs")


def columns_of(
    results: Results, group: str, language: str | None
) -> list[tuple[str, str | None, str, float]]:
    """Return (task, metric, header, scale) of each column; no metric: whichever the task has.

    A metric that the experiment leaves out has no column here: there are no items to compare.
    """
    if language is None:
        return [
            (task, metric, f"{task_label(results, task)} {metric_label(metric)}", 1)
            for task, metric in task_metrics(results, group, results.comet_metrics)
        ]
    tasks = results.choice_tasks(language)
    labels = column_labels(tasks, [results.family(task) for task in tasks])
    columns = [(task, None, label, 100) for task, label in zip(tasks, labels, strict=True)]
    return [*columns, (average_task(language), AVERAGE, "AVG", 100)]


def build(results: Results, identifier: str, options: SignificanceTable) -> Table:
    """Return a row per pair of runs, a column per task and metric."""
    path = f"significance/{options.group}/significance.csv"
    compared = [row for row in results.csv(path) if row["step"] == str(options.step)]
    runs = {run.id: run for run in results.group(options.group)}
    columns = columns_of(results, options.group, options.language)
    found = {(r["run"], r["other"], r["task"], r["metric"]): (r, 1) for r in compared}
    found |= {(r["other"], r["run"], r["task"], r["metric"]): (r, -1) for r in compared}
    pairs = list(dict.fromkeys((row["run"], row["other"]) for row in compared))
    if options.against:
        against = f"{options.group}-{options.against}"
        pairs = [(one, against) for one in runs if one != against]
    rows = []
    for first, second in pairs:
        cells = []
        for task, metric, _, scale in columns:
            shown = metric or results.scores.shown_metric(task, results.family(task))
            row, sign = found.get((first, second, task, shown)) or (None, 1)
            cells.append(difference_cell(row, sign, scale, path))
        label = f"{method_label(runs[first])} − {method_label(runs[second])}"
        rows.append(Row([text(label), *cells]))
    sizes = sorted({int(row["resamples"]) for row in compared})
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Difference", *[header for _, _, header, _ in columns]],
        rows,
        [
            "Points of the first run minus the second's on the same items, at checkpoint "
            f"{options.step} (a base model: as it is). Bold: p < {LEVEL} in a paired permutation "
            "test, adjusted for the pairs of a column (Holm). The CSV has the 95 % interval of a "
            "paired bootstrap and the adjusted p."
            + (f" Resamples: {', '.join(map(str, sizes))}." if sizes else ""),
            chance_note(compared),
            *notes.synthetic(results),
        ],
    )


def chance_note(compared: Sequence[dict[str, str]]) -> str:
    """Return which chance the comparisons know of."""
    counts = sorted({int(row["seeds"]) for row in compared if row.get("seeds")})
    if not counts:
        return "Chance in the choice of items only: one training run per method."
    listed = " or ".join(map(str, counts))
    return (
        f"Runs with seeds are compared by their means over {listed} seeds; their differences are "
        f"bold only where there are at least {FEWEST_SEEDS} seeds and 0 lies outside both 95 % "
        "intervals, that of the bootstrap over items and that of Student's t over the differences "
        "seed by seed. All others: chance in the choice of items only."
    )


def is_marked(row: dict[str, str]) -> bool:
    """Return whether a difference is more than chance, in items and, where there are any, seeds."""
    if not row.get("seeds"):
        return float(row["p_holm"]) < LEVEL
    if not row["seed_low"]:
        return False  # one seed
    low, high, seed_low, seed_high = (
        float(row[name]) for name in ("low", "high", "seed_low", "seed_high")
    )
    return is_real((low, high), (seed_low, seed_high), int(row["seeds"]))


def difference_cell(row: dict[str, str] | None, sign: int, scale: float, provenance: str) -> Cell:
    """Return a signed difference with its interval and adjusted p-value."""
    if row is None:
        return Cell(scale=scale)
    low, high = sorted(sign * float(row[name]) for name in ("low", "high"))
    seeds = [sign * float(row[name]) for name in ("seed_low", "seed_high") if row.get(name)]
    return Cell(
        sign * float(row["difference"]) + 0.0,
        scale=scale,
        mark="best" if is_marked(row) else None,
        provenance=provenance,
        interval=(low, high),
        p_value=float(row["p_holm"]),
        seed_interval=(min(seeds), max(seeds)) if seeds else None,
        seeds=int(row["seeds"]) if seeds else None,
    )


def problems(experiment: Experiment, key: str, options: SignificanceTable) -> Iterator[str]:
    """Yield a problem for a group, step, run or language that is not there."""
    yield from unknown_groups(experiment, key, options.group)
    yield from wrong_steps(experiment, f"{key}.step", options.group, [options.step])
    group = experiment.runs.get(options.group)
    if group is None:
        return
    from revocab.config.lineage import shown_names  # stands on the schema, which needs kinds

    silent = {one.replicate_of or name for name, one in group.methods.items() if not one.evaluate}
    names = ["base", *[name for name in shown_names(group) if name not in silent]]
    if options.against and options.against not in names:
        yield unknown(f"{key}.against", options.against, names, "scored run of the group")
    languages = {task.language for task in experiment.evaluation.multiple_choice.tasks.values()}
    if options.language and options.language not in languages:
        yield unknown(f"{key}.language", options.language, languages, "language with tasks")
    if options.language:
        yield from other_languages(experiment, key, options.group, options.language)
    else:
        yield from no_generated_text(experiment, key, options.group)


def scores(experiment: Experiment, options: SignificanceTable) -> Iterator[tuple[str, str]]:
    """Yield the tasks that are compared."""
    if options.language is None:
        return of_group(options.group, experiment.evaluation.generation.tasks)
    return of_group(options.group, choices_in(experiment, options.language))


def limited(results: Results, options: SignificanceTable) -> str | None:
    """Return how many items were scored or generated from, where not all were."""
    return notes.limited_items(results) if options.language else notes.limited_queries(results)


def needs(layout: Layout, options: SignificanceTable) -> list[str]:
    """Return the comparisons that it shows."""
    return [layout.paths.significance(options.group)]


TABLE = TableKind(
    options=SignificanceTable,
    build=build,
    problems=problems,
    limited=limited,
    scores=scores,
    needs=needs,
    compared=lambda options: [(options.group, options.step)],
)
