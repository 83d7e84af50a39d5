"""Scores or losses by language, and their changes against a base, of a model for every language.

A row compares a multilingual model with one that was adapted to the row's language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, ShownRunId, Step, unknown
from revocab.languages import language_label
from revocab.limits import Count
from revocab.report.annotations import Experiment
from revocab.report.kind import Place
from revocab.report.pivot import Pivot, PivotRow, PivotTable, with_headings
from revocab.report.references import unknowns, without_heldout_text
from revocab.report.results import Results
from revocab.report.runs import RunIndex, choices_in, task_languages
from revocab.report.table import MISSING, Cell, Table, average_cells, text
from revocab.report.values import Average, HeldoutLoss, RunValue

#: Kind of the generative tasks that translate.
TRANSLATION = "translation"
#: What averages are called.
AVERAGE = "Average of {}"


class LanguageBlock(Closed):
    """Languages below one heading, or below none."""

    #: Heading of its rows.
    label: OneLine | None = None
    #: A row each.
    languages: list[Id] = Field(min_length=1)


class ModelsByLanguageTable(PivotTable):
    """Languages by columns that name a run for each language. Of family, into, out_of and heldout,
    what is given; else the mean of all multiple-choice tasks.
    """

    kind: Literal["models_by_language"]
    #: Checkpoint that is shown.
    step: Step = "last"
    family: Id | None = Field(default=None, description="family of multiple-choice tasks")
    into: Id | None = Field(default=None, description="translation into this language")
    out_of: Id | None = Field(default=None, description="translation out of this language")
    taught: bool = Field(
        default=False, description="translations asked as their corpora teach; default: the others"
    )
    heldout: Literal[True] | None = Field(default=None, description="held-out bits per byte")
    metric: OneLine | None = Field(default=None, description="metric of all its translations")
    blocks: list[LanguageBlock] = Field(min_length=1)
    columns: dict[OneLine, Annotated[dict[Id, ShownRunId], Field(min_length=1)]] = Field(
        min_length=1, description="a run for each language; a language without one has a dash"
    )
    base: OneLine | None = Field(
        default=None, description="column that changes are from, and that is not ranked"
    )
    change: Literal["difference", "percent"] | None = Field(
        default=None, description="columns with the change against the base; default: no such"
    )
    averages: list[Count] = Field(
        default_factory=list, description="rows with means of the first N languages"
    )

    @model_validator(mode="after")
    def _options_fit(self) -> ModelsByLanguageTable:
        names = ("family", "into", "out_of", "heldout")
        chosen = [name for name in names if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are given; give one of {', '.join(names)}")
        if self.metric is not None and not (self.into or self.out_of):
            raise ValueError("metric is that of translations; give into or out_of, or leave it out")
        if self.base is not None and self.base not in self.columns:
            raise ValueError(unknown("base", self.base, self.columns, "column"))
        if self.change is not None and self.base is None:
            raise ValueError("change needs base, the column that changes are from; name it")
        if repeated := sorted({la for la in self.languages if self.languages.count(la) > 1}):
            raise ValueError(f"blocks: {', '.join(repeated)}: name each language once")
        if self.averages and max(self.averages) > len(self.languages):
            raise ValueError(
                f"averages: {max(self.averages)} languages; blocks have {len(self.languages)}"
            )
        return self

    @property
    def languages(self) -> list[str]:
        return [language for block in self.blocks for language in block.languages]

    @property
    def row_labels(self) -> list[str]:
        return [*map(language_label, self.languages), *map(AVERAGE.format, self.averages)]

    def change_header(self, column: str) -> str:
        return f"{column} change (%)" if self.change == "percent" else f"{column} change"

    def tasks(self, experiment: Experiment, language: str) -> list[str]:
        if self.heldout:
            return []
        if self.into is None and self.out_of is None:
            return choices_in(experiment, language, [self.family] if self.family else None)
        pair = [language, self.into] if self.into else [self.out_of, language]
        return [
            name
            for name, task in experiment.evaluation.generation.tasks.items()
            if task.kind == TRANSLATION
            and list(task.direction) == pair
            and (task.taught_by is not None) == self.taught
        ]

    def metrics_shown(self, experiment: Experiment) -> dict[str, str]:
        """Return the metrics of tasks that do not have the first of their kind."""
        tasks = [task for language in self.languages for task in self.tasks(experiment, language)]
        return dict.fromkeys(tasks, self.metric) if self.metric else {}

    def value(self, experiment: Experiment, language: str) -> RunValue | None:
        """Return what is shown of a language; None where it has no task."""
        if self.heldout:
            return HeldoutLoss(language=language, step=self.step)
        tasks = self.tasks(experiment, language)
        metrics = dict.fromkeys(tasks, self.metric) if self.metric else {}
        return Average(named=tasks, step=self.step, metrics=metrics) if tasks else None

    def pivot(self, index: RunIndex) -> Pivot:
        """Return a row per language, in which all columns but the base are ranked."""
        rows = []
        for block in self.blocks:
            for language in block.languages:
                value = self.value(index.experiment, language)
                places: list[Place | None] = []
                for name, runs in self.columns.items():
                    if value is None or language not in runs:
                        places.append(None)
                        continue
                    contest = None if name == self.base else language
                    places.append(Place(value, index.run(runs[language]), contest))
                rows.append(PivotRow(language_label(language), places, block.label))
        return Pivot(["Language", *self.columns], rows)

    def build(self, results: Results) -> Table:
        """Return a row per language, means over languages, and the changes of both."""
        pivot = self.pivot(results)
        values = pivot.cells(results)
        labels = [(row.block, row.label) for row in pivot.rows]
        for count in self.averages:
            labels.append(("All", AVERAGE.format(count)))
            values.append(average_cells(values[:count]))
        changed = [name for name in self.columns if self.change and name != self.base]
        header = ["Language"]
        for name in self.columns:
            header += [name, self.change_header(name)] if name in changed else [name]
        rows = []
        for label, row in zip(labels, values, strict=True):
            cells: list[Cell] = []
            by_name = dict(zip(self.columns, row, strict=True))
            for name, cell in by_name.items():
                cells.append(cell)
                if name in changed:
                    cells.append(self.change_cell(cell, by_name[self.base or name]))
            rows.append((*label, cells))
        return Table(header, with_headings(rows))

    def change_cell(self, cell: Cell, base: Cell) -> Cell:
        """Return the change from the base's value, in its unit or in per cent of it."""
        percent = self.change == "percent"
        if cell.text is not None or (percent and base.value == 0):
            return text(MISSING)
        change = Cell(published_mark=cell.published_mark, provenance=cell.provenance)
        if cell.value is not None and base.value is not None:
            change.value = cell.value - base.value
            if percent:
                change.value = 100 * change.value / base.value
            else:
                change.digits = cell.digits
        return change

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        known = {*self.languages, *(corpus.language for corpus in experiment.corpora.values())}
        known |= {language for used in task_languages(experiment).values() for language in used}
        for name, runs in self.columns.items():
            # Columns may serve several tables.
            about = "language of blocks, corpora or tasks"
            yield from unknowns(f"{key}.columns.{name}", runs, known, about)
        if self.heldout:
            yield from without_heldout_text(experiment, key, self.languages)
        for language in self.languages:
            if self.value(experiment, language) is None:
                way = "translation" if self.into or self.out_of else "multiple-choice task"
                yield f"{key}.blocks: language {language!r} has no {way} of this table; add one"
        yield from super().problems(experiment, key)


TABLE = ModelsByLanguageTable
