"""Tables 3, 4, 10 and 11: accuracies of one group in one language, and their mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import Id, Step
from revocab.evaluation.multiple_choice.families import family_label
from revocab.report import notes
from revocab.report.asked import choices_in, of_group
from revocab.report.kind import KindOptions, TableKind
from revocab.report.references import (
    no_choices,
    other_languages,
    unknown_groups,
    unscored_steps,
    wrong_steps,
)
from revocab.report.results import Results
from revocab.report.results.replicates import mean_by_seed
from revocab.report.results.scores import mean_score
from revocab.report.table_parts.score_rows import score_cell, score_rows
from revocab.report.table_parts.table import Cell, Table

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment
    from revocab.report.published.paper_values import Published

#: How far the printed mean may be from that of its rounded row.
CLOSE = 1e-4


class MultipleChoiceTable(KindOptions):
    """Scores of one group in one language at chosen steps; families in ``columns`` order."""

    kind: Literal["multiple_choice"]
    group: Id
    language: Id
    steps: list[Step] = Field(default=["first", "last"])
    columns: list[Id] | None = None


def build(results: Results, identifier: str, options: MultipleChoiceTable) -> Table:
    """Return a table of accuracies: one column per family, and their mean."""
    tasks = results.choice_tasks(options.language, options.columns)
    families = [results.family(task) for task in tasks]

    def cells(run: Run, step: int) -> list[Cell]:
        found = [
            results.scores.choice(run.id, step, task, family)
            for task, family in zip(tasks, families, strict=True)
        ]
        place = results.published_place(run, step)

        def published(family: str) -> Published | None:
            return results.paper.multiple_choice(*place, family, options.language)

        row = [
            score_cell(one, published(family), 100)
            for one, family in zip(found, families, strict=True)
        ]
        mean = mean_score(found)
        average = None
        if mean and found[0]:
            average = {**found[0], "value": mean[0], "stderr": None, "low": None}
            average["by_seed"] = mean_by_seed(found)
        return [*row, score_cell(average, published("avg"), 100)]

    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *column_labels(tasks, families), "AVG"],
        score_rows(results, options.group, options.steps, cells),
        [
            *notes.multiple_choice(results, tasks),
            notes.MARKS,
            *notes.seeds(results, options.group),
            *notes.published(results),
            *notes.synthetic(results),
        ],
    )


def column_labels(tasks: list[str], families: list[str]) -> list[str]:
    """Return a header per task: its family's, or its own id where a family has several tasks."""
    return [
        family_label(family) if families.count(family) == 1 else task
        for task, family in zip(tasks, families, strict=True)
    ]


def problems(experiment: Experiment, key: str, options: MultipleChoiceTable) -> Iterator[str]:
    """Yield a problem for a group that is not there, and for steps without a checkpoint."""
    yield from unknown_groups(experiment, key, options.group)
    yield from wrong_steps(experiment, f"{key}.steps", options.group, options.steps)
    yield from unscored_steps(
        experiment, f"{key}.steps", options.group, options.steps, "multiple_choice"
    )
    yield from no_choices(experiment, key, options.language, options.columns)
    yield from other_languages(experiment, key, options.group, options.language)


def scores(experiment: Experiment, options: MultipleChoiceTable) -> Iterator[tuple[str, str]]:
    """Yield its columns' tasks."""
    tasks = choices_in(experiment, options.language, options.columns)
    return of_group(options.group, tasks)


def limited(results: Results, options: MultipleChoiceTable) -> str | None:
    """Return how many items were scored, where not all were."""
    return notes.limited_items(results)


def check(path: Path, table: Table, rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield a line for every average that is not the mean of its row."""
    for row in rows:
        values = [row[name] for name in table.header[1:-1]]
        if row["AVG"] == "" or "" in values:
            continue  # reported as a gap
        mean = sum(map(float, values)) / len(values)
        if abs(mean - float(row["AVG"])) > CLOSE:
            yield f"{path}: {row['Model']}: AVG {row['AVG']} is not the mean of its row, {mean:.6f}"


TABLE = TableKind(
    options=MultipleChoiceTable,
    build=build,
    problems=problems,
    limited=limited,
    scores=scores,
    check=check,
)
