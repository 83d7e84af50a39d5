"""Scores or losses by language and run, over several groups, and their change against the base."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from revocab.closed import Id, unknown
from revocab.languages import language_label
from revocab.report import notes
from revocab.report.asked import of_group
from revocab.report.kind import TableKind
from revocab.report.names import method_label
from revocab.report.references import unknown_groups, unscored_runs
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_problems, unmeasured_steps
from revocab.report.table_parts.empty_cells import empty_cells
from revocab.report.table_parts.table import Cell, Row, Table, mark_cells, text
from revocab.report.values.language_scores import LanguageScores, average_cells
from revocab.report.values.task_means import unknown_choices

if TYPE_CHECKING:
    from revocab.config.schema import Experiment

BASE = "base"


class LanguagesTable(LanguageScores):
    """Languages by runs of the same names in several groups."""

    kind: Literal["languages"]
    #: Languages that are shown of each group; a group has one tokenizer and so its languages.
    groups: dict[Id, Annotated[list[Id], Field(min_length=1)]] = Field(min_length=1)
    columns: list[Id] | None = Field(
        default=None, min_length=1, description="names of runs; default: all that are scored"
    )


def run_names(results: Results, options: LanguagesTable) -> list[str]:
    """Return the names of the runs that are columns."""
    if options.columns is not None:
        return list(options.columns)
    runs = [run for group in options.groups for run in results.group(group)]
    return list(dict.fromkeys(run.name for run in runs))


def build(results: Results, identifier: str, options: LanguagesTable) -> Table:
    """Return a row per language of every group, and their means; the best of a row is marked."""
    names = run_names(results, options)
    values: list[list[Cell]] = []
    rows: list[Row] = []
    for group, languages in options.groups.items():
        runs = {run.name: run for run in results.group(group, evaluated=not options.heldout)}
        if len(options.groups) > 1:
            rows.append(Row(section=results.experiment.runs[group].label))
        for language in languages:
            cells = [options.value_cell(results, runs.get(name), language) for name in names]
            base = options.value_cell(results, results.base(group), language)
            made = [name in runs and runs[name].made for name in names]
            mark_cells(
                [cell for cell, one in zip(cells, made, strict=True) if one],
                lowest=bool(options.heldout),
            )
            values.append([*cells, base])
            label = text(language_label(language))
            rows.append(Row([label, *with_changes(cells, base, names, options)]))
    if len(values) > 1:
        *means, base = average_cells(values)
        if len(options.groups) > 1:
            rows.append(Row(section="All"))
        rows.append(Row([text("Average"), *with_changes(means, base, names, options)]))
    over, header = headers(results, names, options)
    return Table(
        identifier, options.kind, options.title, header, rows, said(results, options), over=over
    )


def with_changes(
    cells: list[Cell], base: Cell, names: list[str], options: LanguagesTable
) -> list[Cell]:
    """Return the cells, each but the base's followed by its change where changes are shown."""
    found = []
    for name, cell in zip(names, cells, strict=True):
        found.append(cell)
        if options.change and name != BASE:
            found.append(options.change_cell(cell, base))
    return found


def headers(
    results: Results, names: list[str], options: LanguagesTable
) -> tuple[list[str] | None, list[str]]:
    """Return the upper headers, None where there are none, and the headers."""
    runs = [run for group in options.groups for run in results.group(group, evaluated=False)]
    labels = {run.name: method_label(run) for run in reversed(runs)}
    if not options.change:
        return None, ["Language", *[labels[name] for name in names]]
    shown = "change (%)" if options.change == "percent" else "change"
    what = "loss" if options.heldout else "score"
    over, header = [""], ["Language"]
    for name in names:
        parts = [what] if name == BASE else [what, shown]
        over += [labels[name]] * len(parts)
        header += parts
    return over, header


def said(results: Results, options: LanguagesTable) -> list[str]:
    """Return the notes under the table."""
    languages = list(dict.fromkeys(one for part in options.groups.values() for one in part))
    lines = options.said(results, languages, base="the base model of the group")
    shown = [one.id for group in options.groups for one in results.group(group, evaluated=False)]
    best = "Best of a row in bold, second underlined; models that are shown as they are, are not"
    return [*lines, f"{best} ranked.", *notes.seeds_of(results, shown), *notes.synthetic(results)]


def problems(experiment: Experiment, key: str, options: LanguagesTable) -> Iterator[str]:
    """Yield a problem for groups, runs, languages and tasks that are not there."""
    from revocab.config.lineage import shown_names  # stands on the schema, which needs kinds

    yield from unknown_groups(experiment, key, *options.groups)
    groups = {one: experiment.runs[one] for one in options.groups if one in experiment.runs}
    known = {BASE, *(n for one in groups.values() for n in (*one.references, *shown_names(one)))}
    for name in options.columns or ():
        if groups and name not in known:
            yield unknown(f"{key}.columns", name, known, "run of its groups")
    for group, languages in options.groups.items():
        where = f"{key}.groups.{group}"
        if len(set(languages)) < len(languages):
            yield f"{where}: {languages} repeats a language; name each once"
        if options.heldout:
            yield from heldout_problems(experiment, where, languages, None)
            continue
        for language in languages:
            if not options.tasks(experiment, language):
                yield f"{where}: language {language!r} has no {options.wanted}; add one"
    yield from unknown_choices(experiment, key, options.metrics)
    yield from wrong_columns(experiment, key, options)


def wrong_columns(experiment: Experiment, key: str, options: LanguagesTable) -> Iterator[str]:
    """Yield a problem for runs without scores or losses at the step."""
    from revocab.config.lineage import (
        run_id,
        shown_names,
    )  # stands on the schema, which needs kinds

    for group, languages in options.groups.items():
        given = experiment.runs.get(group)
        if given is None:
            continue
        known = shown_names(given)
        names = [name for name in options.columns or known if name in known]
        runs = [run_id(group, name) for name in (BASE, *names)]
        if options.heldout:
            yield from unmeasured_steps(experiment, f"{key}.step", runs, [options.step])
            continue
        tasks = [task for one in languages for task in options.tasks(experiment, one)]
        yield from unscored_runs(experiment, key, runs, tasks, options.step)


def scores(experiment: Experiment, options: LanguagesTable) -> Iterator[tuple[str, str]]:
    """Yield the tasks of every group's languages."""
    for group, languages in options.groups.items():
        yield from of_group(
            group, [task for one in languages for task in options.tasks(experiment, one)]
        )


def limited(results: Results, options: LanguagesTable) -> str | None:
    """Return how scores are limited, where not all items were used."""
    shown = [task for _, task in scores(results.experiment, options)]
    return notes.limited_tasks(results, shown)


TABLE = TableKind(
    options=LanguagesTable,
    build=build,
    problems=problems,
    scores=scores,
    limited=limited,
    check=empty_cells,
)
