"""Scores by language where a column may stand for another model in every language.

So one row compares a multilingual model with one that was adapted to the row's language alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, unknown
from revocab.languages import language_label
from revocab.report import notes
from revocab.report.asked import of_runs, task_languages
from revocab.report.kind import TableKind
from revocab.report.references import unknown_runs, unscored_runs
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_problems, unmeasured_steps
from revocab.report.table_parts.empty_cells import empty_cells
from revocab.report.table_parts.table import Cell, Row, Table, mark_cells, text
from revocab.report.values.language_scores import LanguageScores, average_cells
from revocab.report.values.task_means import unknown_choices

if TYPE_CHECKING:
    from revocab.config.schema import Experiment

#: The heading above averages, and what those are called.
ALL, AVERAGE = "All", "Average of {}"


class LanguageBlock(Closed):
    """Languages below one heading, or below none."""

    label: OneLine | None = None
    languages: list[Id] = Field(min_length=1)


class ModelsByLanguageTable(LanguageScores):
    """Languages by columns that name a run for each language."""

    kind: Literal["models_by_language"]
    blocks: list[LanguageBlock] = Field(min_length=1)
    columns: dict[OneLine, Annotated[dict[Id, Id], Field(min_length=1)]] = Field(
        min_length=1, description="a run for each language; a language without one has a dash"
    )
    base: OneLine | None = Field(
        default=None, description="column that changes are from, and that is not ranked"
    )
    averages: list[Annotated[int, Field(ge=1)]] = Field(
        default_factory=list, description="rows with means of the first N languages"
    )
    metric: OneLine | None = Field(default=None, description="metric of all its translations")

    @model_validator(mode="after")
    def _names_fit(self) -> ModelsByLanguageTable:
        if self.base is not None and self.base not in self.columns:
            raise ValueError(unknown("base", self.base, self.columns, "column"))
        if self.change is not None and self.base is None:
            raise ValueError("change needs base, the column that changes are from; name it")
        if self.metric is not None and not (self.into or self.out_of):
            raise ValueError("metric is that of translations; give into or out_of, or leave it out")
        repeated = sorted({one for one in self.languages if self.languages.count(one) > 1})
        if repeated:
            raise ValueError(f"blocks: {', '.join(repeated)}: name each language once")
        if self.averages and max(self.averages) > len(self.languages):
            raise ValueError(
                f"averages: {max(self.averages)} languages; blocks have {len(self.languages)}"
            )
        return self

    @property
    def languages(self) -> list[str]:
        """Return the languages of all blocks, in order."""
        return [language for block in self.blocks for language in block.languages]

    @property
    def row_labels(self) -> list[str]:
        """Return the first cell of every row."""
        averages = [AVERAGE.format(number) for number in self.averages]
        return [*map(language_label, self.languages), *averages]

    def change_header(self, column: str) -> str:
        """Return the name of the column with a column's changes."""
        return f"{column} change (%)" if self.change == "percent" else f"{column} change"

    def of_language(self, language: str) -> list[str]:
        """Return the runs of a language, each once."""
        return list(
            dict.fromkeys(one[language] for one in self.columns.values() if language in one)
        )

    def chosen(self, experiment: Experiment) -> ModelsByLanguageTable:
        """Return the options with ``metric`` as that of every translation."""
        if self.metric is None:
            return self
        tasks = [task for one in self.languages for task in self.tasks(experiment, one)]
        return self.model_copy(
            update={"metrics": {**dict.fromkeys(tasks, self.metric), **self.metrics}}
        )


def build(results: Results, identifier: str, options: ModelsByLanguageTable) -> Table:
    """Return a row per language, below the heading of its block, and the averages."""
    options = options.chosen(results.experiment)
    values: list[list[Cell]] = []
    rows: list[Row] = []
    for block in options.blocks:
        if block.label is not None:
            rows.append(Row(section=block.label))
        for language in block.languages:
            cells = [
                options.value_cell(results, results.run(one[language]), language)
                if language in one
                else options.value_cell(results, None, language)
                for one in options.columns.values()
            ]
            ranked = zip(options.columns, cells, strict=True)
            mark_cells(
                [cell for name, cell in ranked if name != options.base],
                lowest=bool(options.heldout),
            )
            values.append(cells)
            rows.append(Row([text(language_label(language)), *with_changes(cells, options)]))
    if options.averages:
        rows.append(Row(section=ALL))
    for number in options.averages:
        means = average_cells(values[:number])
        rows.append(Row([text(AVERAGE.format(number)), *with_changes(means, options)]))
    return Table(
        identifier, options.kind, options.title, header(options), rows, said(results, options)
    )


def with_changes(cells: Sequence[Cell], options: ModelsByLanguageTable) -> list[Cell]:
    """Return the cells, each but the base's followed by its change where changes are shown."""
    named = dict(zip(options.columns, cells, strict=True))
    found = []
    for name, cell in named.items():
        found.append(cell)
        if options.change and options.base is not None and name != options.base:
            found.append(options.change_cell(cell, named[options.base]))
    return found


def header(options: ModelsByLanguageTable) -> list[str]:
    """Return the names of the columns."""
    found = ["Language"]
    for name in options.columns:
        found.append(name)
        if options.change and name != options.base:
            found.append(options.change_header(name))
    return found


def said(results: Results, options: ModelsByLanguageTable) -> list[str]:
    """Return the notes under the table."""
    lines = options.said(results, options.languages, base=options.base)
    ranked = "Best of a row in bold, second underlined"
    if options.base is not None:
        ranked += f"; {options.base} is not ranked"
    runs = [results.run(run) for column in options.columns.values() for run in column.values()]
    shown = [run.id for run in runs]
    counts = ", ".join(
        f"{name} {len({results.run(run).scored_id for run in column.values()})}"
        for name, column in options.columns.items()
    )
    return [
        *lines,
        f"{ranked}.",
        f"Models: {counts}.",
        *notes.seeds_of(results, shown),
        *notes.synthetic(results),
    ]


def problems(experiment: Experiment, key: str, options: ModelsByLanguageTable) -> Iterator[str]:
    """Yield a problem for runs, languages, tasks and steps that are not there."""
    known = {*options.languages, *(one.language for one in experiment.corpora.values())}
    known |= {language for used in task_languages(experiment).values() for language in used}
    for name, column in options.columns.items():
        where = f"{key}.columns.{name}"
        yield from unknown_runs(experiment, where, dict.fromkeys(column.values()))
        for language in column:
            if language not in known:  # columns may serve several tables
                yield unknown(where, language, known, "language of blocks, corpora or tasks")
    if options.heldout:
        yield from heldout_problems(experiment, key, options.languages, None)
        runs = [run for language in options.languages for run in options.of_language(language)]
        yield from unmeasured_steps(experiment, f"{key}.step", dict.fromkeys(runs), [options.step])
        return
    for language in options.languages:
        tasks = options.tasks(experiment, language)
        if not tasks:
            yield f"{key}.blocks: language {language!r} has no {options.wanted}; add one"
        elif runs := options.of_language(language):
            yield from unscored_runs(experiment, key, runs, tasks, options.step)
    yield from unknown_choices(experiment, key, options.chosen(experiment).metrics)


def scores(experiment: Experiment, options: ModelsByLanguageTable) -> Iterator[tuple[str, str]]:
    """Yield the tasks of each language for the groups of its runs."""
    for language in options.languages:
        yield from of_runs(
            experiment, options.of_language(language), options.tasks(experiment, language)
        )


def limited(results: Results, options: ModelsByLanguageTable) -> str | None:
    """Return how scores are limited, where not all items were used."""
    return notes.limited_tasks(results, [task for _, task in scores(results.experiment, options)])


TABLE = TableKind(
    options=ModelsByLanguageTable,
    build=build,
    problems=problems,
    scores=scores,
    limited=limited,
    check=empty_cells,
)
