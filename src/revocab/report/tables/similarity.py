"""Table 7: similarity to the helper at the beginning and end of training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from revocab.closed import Id
from revocab.evaluation.over_seeds import deviation
from revocab.report import notes
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import method_label
from revocab.report.prerequisites import manifest
from revocab.report.references import no_new_rows, unknown_groups
from revocab.report.results import Record, Results
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, mark_best, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment


class SimilarityTable(KindOptions):
    """Similarity to the helper at the beginning and end of training."""

    kind: Literal["similarity"]
    groups: list[Id]


def build(results: Results, identifier: str, options: SimilarityTable) -> Table:
    """Return a row per name of a run, two columns (beginning and end) per group."""
    values = {
        (row["group"], row["run"], row["step"]): row
        for row in results.shown_similarities
        if row["kind"] == "helper"
    }
    by_name: dict[str, dict[str, Run]] = {}
    for group in options.groups:
        target = results.experiment.runs[group].target
        for run in results.group(group):
            if run.learns_rows_of(target):
                by_name.setdefault(run.name, {})[group] = run
    rows = []
    for runs in by_name.values():
        cells: list[Cell] = []
        for group in options.groups:
            found = runs.get(group)
            cells += cells_of(results, found, values) if found else [text(MISSING), text(MISSING)]
        rows.append(Row([text(method_label(next(iter(runs.values())))), *cells]))
    mark_best(rows)
    header, over = ["Model"], [""]
    for group in options.groups:
        steps = sorted({run.steps[-1] for run in results.group(group) if run.trains})
        header += ["@0", f"@{steps[0]}" if len(steps) == 1 else "@last"]
        over += [results.experiment.runs[group].label] * 2
    return Table(
        identifier,
        options.kind,
        options.title,
        header,
        rows,
        [
            measured_note(results, options.groups),
            *shared_notes(results, options.groups),
            "Best in bold, second underlined.",
            *notes.seeds(results, *options.groups),
            *notes.published(results),
            *notes.synthetic(results),
        ],
        over=over,
    )


def cells_of(results: Results, run: Run, values: dict[tuple[str, str, int], Record]) -> list[Cell]:
    """Return a run's similarity to its helper before and after training."""
    cells = []
    for step in (run.steps[0], run.steps[-1]):
        found = values.get((run.group, run.id, step))
        cells.append(
            Cell(
                found["similarity"] if found else None,
                published=results.paper.similarity(*results.published_place(run, step)),
                scale=100,
                provenance=found["provenance"] if found else None,
                deviation=deviation(found.get("by_seed", ())) if found else None,
            )
        )
    return cells


def measured_note(results: Results, groups: list[str]) -> str:
    """Return how similarity was measured, and to which helper."""
    setting = results.experiment.similarity
    helpers = sorted({results.experiment.runs[group].helper or "none" for group in groups})
    kind = "dot products with" if setting.relative == "dot" else "cosines to"
    return (
        f"Mean cosine × 100 between relative representations of the input embeddings ({kind} "
        f"{setting.anchors} word-start and {setting.anchors} continuation anchors). "
        f"Helper: {', '.join(helpers)}. Runs that keep the source vocabulary have no such value."
    )


def shared_notes(results: Results, groups: list[str]) -> list[str]:
    """Return a note for every group whose helper has another tokenizer than the target."""
    found = {group: results.json("similarity", group, "manifest.json") or {} for group in groups}
    return [
        f"{results.experiment.runs[group].label}: {one['helper']} has another tokenizer; only"
        f" the {one['helper_tokens_compared']:,} of the target's {one['tokens_compared']:,}"
        " tokens that it shares are compared, anchors included."
        for group, one in found.items()
        if "helper_tokens_compared" in one
    ]


def problems(experiment: Experiment, key: str, options: SimilarityTable) -> Iterator[str]:
    """Yield a problem for every group that is not there, or has no rows to compare."""
    yield from unknown_groups(experiment, key, *options.groups)
    yield from no_new_rows(experiment, key, *options.groups)


def gaps(results: Results, options: SimilarityTable) -> Iterator[str]:
    """Yield a line for every run with a new vocabulary and a helper that has no similarity."""
    have = {(row["run"], row["step"]) for row in results.similarities if row["kind"] == "helper"}
    for run in results.runs:
        given = results.experiment.runs[run.group]
        shown = run.group in options.groups and run.evaluate and given.helper
        if shown and run.learns_rows_of(given.target):
            for step in (0, run.steps[-1]):
                if (run.id, step) not in have:
                    yield f"similarity: {run.id} has none at step {step}; measure it"


def needs(layout: Layout, options: SimilarityTable) -> list[str]:
    """Return the similarities of its groups."""
    return [manifest(layout.paths.similarity(group)) for group in options.groups]


TABLE = TableKind(options=SimilarityTable, build=build, problems=problems, needs=needs, gaps=gaps)
