"""Tables 8 and 9: the prompt of one query, shown with one of its shots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from revocab.closed import Id
from revocab.io import read_jsonl
from revocab.report import notes
from revocab.report.kind import KindOptions, TableKind
from revocab.report.references import unknown_tasks
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment


class PromptsTable(KindOptions):
    """The prompts in use."""

    kind: Literal["prompts"]
    tasks: list[Id]


def build(results: Results, identifier: str, options: PromptsTable) -> Table:
    """Return the first query of every task, with one shot, and its reference."""
    from revocab.evaluation.generation.prompts import render

    rows = []
    for task in options.tasks:
        path = f"prompts/{task}.jsonl"
        setting = results.experiment.evaluation.generation.tasks[task]
        row = next(iter(read_jsonl(results.root / path)), None) if results.has(path) else None
        direction = "-".join(language.upper() for language in setting.direction)
        rows.append(
            Row(
                [
                    text(task),
                    text(direction),
                    text(str(setting.shots)),
                    text(render(row, min(1, len(row["shots"]))) if row else MISSING, path),
                    text(row["references"][0] if row else MISSING, path),
                ]
            )
        )
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Task", "Languages", "Shots", "Prompt (one shot shown)", "Reference"],
        rows,
        [
            "The first query of each task; evaluation uses the number of shots given, separated by "
            "blank lines. Shots are drawn per query with a fixed seed, equal for every checkpoint.",
            *notes.synthetic(results),
        ],
        texts=True,
        latex_columns=r"lllp{0.45\textwidth}p{0.2\textwidth}",
    )


def problems(experiment: Experiment, key: str, options: PromptsTable) -> Iterator[str]:
    """Yield a problem for every task that is not there."""
    return unknown_tasks(experiment, key, options.tasks)


def needs(layout: Layout, options: PromptsTable) -> list[str]:
    """Return the prompts of its tasks."""
    return [layout.paths.prompts(task) for task in options.tasks]


TABLE = TableKind(options=PromptsTable, build=build, problems=problems, needs=needs)
