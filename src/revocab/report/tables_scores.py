"""Tables of runs at chosen steps: multiple choice (Tables 3, 4, 10, 11) and generation (5, 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from revocab.config.expand import Run
from revocab.report import notes
from revocab.report.layout import Cell, Line, Table, mark_best, text
from revocab.report.names import METRICS, family_label, method_label
from revocab.report.paper_values import Published
from revocab.report.results import Results
from revocab.report.scores import mean_score

#: From a run and a step to the cells right of its label.
CellsOf = Callable[[Run, int], list[Cell]]


def blocks(results: Results, group: str, wanted: list[Any]) -> Iterator[tuple[str, list[tuple]]]:
    """Yield a heading and (run, step) pairs for every wanted step of a group's evaluated runs."""
    trained = [run for run in results.group(group) if run.trains]
    for step in dict.fromkeys(wanted):
        pairs = [(run, one) for run in trained for one in run.select([step])]
        steps = sorted({one for _, one in pairs})
        if len(steps) == 1:
            yield f"{steps[0]} training steps", pairs
        elif steps:
            listed = ", ".join(map(str, steps))
            yield f"{str(step).capitalize()} checkpoint ({listed} steps)", pairs


def score_lines(results: Results, group: str, wanted: list[Any], cells: CellsOf) -> list[Line]:
    """Return the base row and one block per step, best and second marked within each block."""
    base = results.base(group)
    lines = [Line([text(method_label(base)), *cells(base, 0)])]
    shown: set[str] = set()
    for heading, pairs in blocks(results, group, wanted):
        if heading in shown:  # "first" and "last" of a run with one checkpoint
            continue
        shown.add(heading)
        block = [Line([text(method_label(run)), *cells(run, step)]) for run, step in pairs]
        mark_best(block)
        lines += [Line(section=heading), *block]
    return lines


def multiple_choice_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return a table of accuracies: one column per family, and their mean."""
    tasks = results.choice_tasks(entry["language"], entry.get("columns"))
    families = [results.family(task) for task in tasks]
    header = [
        family_label(family) if families.count(family) == 1 else task
        for task, family in zip(tasks, families, strict=True)
    ]

    def cells(run: Run, step: int) -> list[Cell]:
        found = [
            results.scores.choice(run.id, step, task, family)
            for task, family in zip(tasks, families, strict=True)
        ]
        model = results.model_label(run)

        def published(family: str) -> Published | None:
            return results.paper.multiple_choice(model, step, run.name, family, entry["language"])

        row = [
            score_cell(one, published(family), 100)
            for one, family in zip(found, families, strict=True)
        ]
        mean = mean_score(found)
        average = {**found[0], "value": mean[0], "stderr": None, "low": None} if mean else None
        return [*row, score_cell(average, published("avg"), 100)]

    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Model", *header, "AVG"],
        score_lines(results, entry["group"], entry["steps"], cells),
        [
            *notes.multiple_choice(results, tasks),
            notes.MARKS,
            *notes.published(results),
            *notes.synthetic(results),
        ],
    )


def score_cell(row: dict[str, Any] | None, published: Published | None, scale: float = 1) -> Cell:
    """Return the cell of a score row (None: not there yet)."""
    if row is None:
        return Cell(published=published, scale=scale)
    low, high = row.get("low"), row.get("high")
    return Cell(
        row["value"],
        row["stderr"],
        published,
        scale=scale,
        provenance=row["provenance"],
        interval=None if low is None or high is None else (low, high),
    )


def generation_columns(results: Results) -> list[tuple[str, str]]:
    """Return (task, metric) of every column: translation tasks first."""
    tasks = results.experiment["evaluation"]["generation"]["tasks"]
    translation = sorted(t for t, entry in tasks.items() if entry["kind"] == "translation")
    answering = sorted(t for t, entry in tasks.items() if entry["kind"] == "question_answering")
    copying = sorted(t for t, entry in tasks.items() if entry["kind"] == "copying")
    scored = results.experiment["evaluation"]["generation"]
    metrics = ["comet22", *(["xcomet"] if scored.get("xcomet_model") else []), "chrf++", "bleu"]
    columns = [(task, metric) for task in translation for metric in metrics]
    columns += [(task, "rougeL") for task in answering]
    return columns + [(task, metric) for task in copying for metric in ("copy_ratio", "copied")]


def generation_task_label(results: Results, task: str) -> str:
    """Return a generative task as a header, such as ``flores EN-IT``."""
    entry = results.experiment["evaluation"]["generation"]["tasks"][task]
    if entry["kind"] != "translation":
        return task
    direction = "-".join(language.upper() for language in entry["direction"])
    name = task.removesuffix("_" + "_".join(entry["direction"]))
    return f"{name} {direction}"


def generation_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return a table of translation and question-answering metrics."""
    columns = generation_columns(results)

    def cells(run: Run, step: int) -> list[Cell]:
        model = results.model_label(run)
        return [
            score_cell(
                results.scores.get(run.id, step, task, metric),
                results.paper.generation(model, step, run.name, task, metric),
            )
            for task, metric in columns
        ]

    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Model", *[METRICS[metric] for _, metric in columns]],
        score_lines(results, entry["group"], entry["steps"], cells),
        [
            *notes.generation(results),
            notes.MARKS,
            *notes.published(results),
            *notes.synthetic(results),
        ],
        over=["", *[generation_task_label(results, task) for task, _ in columns]],
    )
