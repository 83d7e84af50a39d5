"""Scores or losses by language, and their changes against a base: of runs of several groups, or of
another model in every language.

The second compares in one row a multilingual model with one that was adapted to the row's language.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, GroupId, Id, OneLine, ShownRunId, Step, unknown
from revocab.evaluation.metric import COMET_METRICS
from revocab.languages import language_label
from revocab.limits import Count
from revocab.report.annotations import Experiment, Run
from revocab.report.kind import TableOptions
from revocab.report.names import method_label
from revocab.report.references import (
    choices_in,
    of_group,
    of_runs,
    task_languages,
    unknowns,
    unscored_runs,
)  # fmt: skip
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, mark_cells, text
from revocab.report.table_parts.value_table import value_row
from revocab.report.values.losses import HeldoutLoss, unmeasured_steps, without_heldout_text
from revocab.report.values.run_value import RunValue
from revocab.report.values.task_scores import Average, unknown_choices

#: Kind of the generative tasks that translate.
TRANSLATION = "translation"
BASE = "base"
#: What averages are called.
AVERAGE = "Average of {}"


@dataclass(frozen=True)
class Head:
    """A column with a value: its header, that of the column with its change, if it has one, and
    the header above both.
    """

    name: str
    change: str | None = None
    over: str = ""


@dataclass(frozen=True)
class LanguageRow:
    """A language's run in every column (None: no such run), which of them can be the best, and the
    run that changes are from.
    """

    language: str
    runs: Sequence[Run | None]
    ranked: Sequence[bool]
    base: Run | None


class LanguageTable(TableOptions):
    """What stands for a language, of models that a kind names.

    Of family, into, out_of and heldout, what is given; else the mean of all multiple-choice tasks.
    """

    #: Whether means stand below a heading where no other rows do.
    means_apart: ClassVar[bool] = False

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
    change: Literal["difference", "percent"] | None = Field(
        default=None, description="columns with the change against the base model; default: no such"
    )

    @model_validator(mode="after")
    def _one_score(self) -> LanguageTable:
        names = ("family", "into", "out_of", "heldout")
        chosen = [name for name in names if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise ValueError(f"{' and '.join(chosen)} are given; give one of {', '.join(names)}")
        if self.metric is not None and not (self.into or self.out_of):
            raise ValueError("metric is that of translations; give into or out_of, or leave it out")
        return self

    @property
    @abstractmethod
    def languages(self) -> list[str]:
        """Return the languages that have a row, in its order."""

    @property
    @abstractmethod
    def means(self) -> dict[str, int]:
        """Return the labels of rows of means, and over how many of the first languages each is."""

    @abstractmethod
    def heads(self, results: Results) -> list[Head]:
        """Return the columns."""

    @abstractmethod
    def rows_in_blocks(self, results: Results) -> Iterable[tuple[str | None, list[LanguageRow]]]:
        """Yield rows, each block below a heading or below none."""

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

    def may_be_empty(self, results: Results) -> bool:
        """Return whether all of it is of a metric whose model the experiment does not name."""
        metrics = set(self.metrics_shown(results.experiment).values())
        unmeasured = {metric.name for metric in COMET_METRICS.values()} - {*results.comet_metrics}
        return bool(metrics) and not metrics - unmeasured

    def without_tasks(self, experiment: Experiment, key: str, language: str) -> Iterator[str]:
        if self.tasks(experiment, language):
            return
        if self.into or self.out_of:
            way = f"into {self.into!r}" if self.into else f"out of {self.out_of!r}"
            wanted = f"translation {way}{' with taught_by' if self.taught else ''}"
        else:
            wanted = "multiple-choice task" + (f" of family {self.family!r}" if self.family else "")
        yield f"{key}: language {language!r} has no {wanted}; add one"

    def wrong_metric(self, experiment: Experiment, key: str) -> Iterator[str]:
        return unknown_choices(experiment, key, self.metrics_shown(experiment))

    def value(self, experiment: Experiment, language: str) -> RunValue:
        if self.heldout:
            return HeldoutLoss(language=language, step=self.step)
        tasks, metrics = self.tasks(experiment, language), self.metrics_shown(experiment)
        return Average(named=tasks, step=self.step, metrics=metrics)

    def build(self, results: Results) -> Table:
        """Return a row per language, and means over languages; the best of a row is marked."""
        heads, blocks = self.heads(results), [*self.rows_in_blocks(results)]
        values: list[list[Cell]] = []
        rows: list[Row] = []
        for heading, languages in blocks:
            rows += [] if heading is None else [Row(section=heading)]
            for row in languages:
                value = self.value(results.experiment, row.language)
                places = [(value, run) for run in (*row.runs, row.base)]
                name, *cells, base = value_row(results, language_label(row.language), places).cells
                ranked = [cell for cell, best in zip(cells, row.ranked, strict=True) if best]
                mark_cells(ranked, "lower" if self.heldout else "higher")
                values.append([*cells, base])
                rows.append(Row([name, *self._with_changes(heads, cells, base)]))
        if self.means and (self.means_apart or any(heading for heading, _ in blocks)):
            rows.append(Row(section="All"))
        for label, count in self.means.items():
            *means, base = average_cells(values[:count])
            rows.append(Row([text(label), *self._with_changes(heads, means, base)]))
        columns = [(name, head.over) for head in heads for name in (head.name, head.change) if name]
        over = ["", *(over for _, over in columns)]
        header = ["Language", *(name for name, _ in columns)]
        return Table(header, rows, over=over if any(over) else None)

    def _with_changes(self, heads: Sequence[Head], cells: Sequence[Cell], base: Cell) -> list[Cell]:
        """Return the cells, each followed by its change from the base's value, in its unit or in
        per cent of it, where its column has one.
        """
        shown = []
        for head, cell in zip(heads, cells, strict=True):
            shown.append(cell)
            if head.change is None:
                continue
            undefined = self.change == "percent" and base.value == 0
            if cell.text is not None or undefined:
                shown.append(text(MISSING))
                continue
            change = Cell(published_mark=cell.published_mark, provenance=cell.provenance)
            if cell.value is not None and base.value is not None:
                change.value = cell.value - base.value
                if self.change == "percent":
                    change.value = 100 * change.value / base.value
                else:
                    change.digits = cell.digits
            shown.append(change)
        return shown


def average_cells(rows: Sequence[Sequence[Cell]]) -> list[Cell]:
    means = []
    for column in zip(*rows, strict=True):
        values = [cell.value for cell in column if cell.value is not None]
        mark = max(cell.published_mark for cell in column)
        if any(cell.text is not None for cell in column):
            means.append(text(MISSING))
        elif len(values) < len(column):
            means.append(Cell(published_mark=mark))
        else:
            means.append(replace(mean_cell(column), published_mark=mark))
    return means


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of values with its error, items being independent and seeds the same."""
    errors = [cell.stderr for cell in cells if cell.stderr is not None]
    spreads = [cell.deviation for cell in cells if cell.deviation is not None]
    return Cell(
        fmean(cell.value or 0.0 for cell in cells),
        math.hypot(*errors) / len(cells) if len(errors) == len(cells) else None,
        digits=cells[0].digits,
        deviation=fmean(spreads) if len(spreads) == len(cells) else None,
        seeds=min((cell.seeds for cell in cells if cell.seeds), default=None),
    )


class LanguagesTable(LanguageTable):
    """Languages by runs of the same names in several groups."""

    kind: Literal["languages"]
    #: Languages that are shown of each group; a group has one tokenizer and so its languages.
    groups: dict[GroupId, Annotated[list[Id], Field(min_length=1)]] = Field(min_length=1)
    columns: list[Id] | None = Field(
        default=None, min_length=1, description="names of runs; default: all that are scored"
    )

    @property
    def languages(self) -> list[str]:
        return [language for languages in self.groups.values() for language in languages]

    @property
    def means(self) -> dict[str, int]:
        return {"Average": len(self.languages)} if len(self.languages) > 1 else {}

    def names(self, results: Results) -> list[str]:
        scored = [run.name for group in self.groups for run in results.group(group)]
        return self.columns or list(dict.fromkeys(scored))

    def heads(self, results: Results) -> list[Head]:
        """Return the columns; with changes, a run's name stands above its value and its change."""
        every = [run for group in self.groups for run in results.group(group, evaluated=False)]
        labels = {run.name: method_label(run) for run in reversed(every)}
        if not self.change:
            return [Head(labels[name]) for name in self.names(results)]
        what = "loss" if self.heldout else "score"
        change = "change (%)" if self.change == "percent" else "change"
        return [
            Head(what, None if name == BASE else change, labels[name])
            for name in self.names(results)
        ]

    def rows_in_blocks(self, results: Results) -> Iterator[tuple[str | None, list[LanguageRow]]]:
        for group, languages in self.groups.items():
            runs = {run.name: run for run in results.group(group, evaluated=not self.heldout)}
            shown = [runs.get(name) for name in self.names(results)]
            made = [run is not None and run.made for run in shown]
            base, label = results.base(group), results.experiment.runs[group].label
            rows = [LanguageRow(language, shown, made, base) for language in languages]
            yield (label if len(self.groups) > 1 else None), rows

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        from revocab.experiment.lineage import run_id, shown_names  # stands on the schema

        groups = {name: experiment.runs[name] for name in self.groups if name in experiment.runs}
        known = {BASE}
        for entry in groups.values():
            known |= {*entry.references, *shown_names(entry)}
        if groups:
            columns = self.columns or ()
            yield from unknowns(f"{key}.columns", columns, known, "run of its groups")
        for group, languages in self.groups.items():
            where = f"{key}.groups.{group}"
            if len(set(languages)) < len(languages):
                yield f"{where}: {languages} repeats a language; name each once"
            if self.heldout:
                yield from without_heldout_text(experiment, where, languages)
            else:
                for language in languages:
                    yield from self.without_tasks(experiment, where, language)
        yield from self.wrong_metric(experiment, key)
        for group, entry in groups.items():
            made = shown_names(entry)
            names = [name for name in self.columns or made if name in made]
            runs = [run_id(group, name) for name in (BASE, *names)]
            if self.heldout:
                yield from unmeasured_steps(experiment, f"{key}.step", runs, [self.step])
            else:
                tasks = self._tasks_of(experiment, group)
                yield from unscored_runs(experiment, key, runs, tasks, self.step)

    def _tasks_of(self, experiment: Experiment, group: str) -> list[str]:
        return [
            task for language in self.groups[group] for task in self.tasks(experiment, language)
        ]

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for group in self.groups:
            yield from of_group(group, self._tasks_of(experiment, group))


class LanguageBlock(Closed):
    """Languages below one heading, or below none."""

    #: Heading of its rows.
    label: OneLine | None = None
    #: A row each.
    languages: list[Id] = Field(min_length=1)


class ModelsByLanguageTable(LanguageTable):
    """Languages by columns that name a run for each language."""

    means_apart: ClassVar[bool] = True

    kind: Literal["models_by_language"]
    blocks: list[LanguageBlock] = Field(min_length=1)
    columns: dict[OneLine, Annotated[dict[Id, ShownRunId], Field(min_length=1)]] = Field(
        min_length=1, description="a run for each language; a language without one has a dash"
    )
    base: OneLine | None = Field(
        default=None, description="column that changes are from, and that is not ranked"
    )
    averages: list[Count] = Field(
        default_factory=list, description="rows with means of the first N languages"
    )

    @model_validator(mode="after")
    def _names_fit(self) -> ModelsByLanguageTable:
        if self.base is not None and self.base not in self.columns:
            raise ValueError(unknown("base", self.base, self.columns, "column"))
        if self.change is not None and self.base is None:
            raise ValueError("change needs base, the column that changes are from; name it")
        repeated = sorted(
            {language for language in self.languages if self.languages.count(language) > 1}
        )
        if repeated:
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
    def means(self) -> dict[str, int]:
        return {AVERAGE.format(number): number for number in self.averages}

    @property
    def row_labels(self) -> list[str]:
        return [*map(language_label, self.languages), *self.means]

    def change_header(self, column: str) -> str:
        return f"{column} change (%)" if self.change == "percent" else f"{column} change"

    def heads(self, results: Results) -> list[Head]:
        return [
            Head(name, self.change_header(name) if self.change and name != self.base else None)
            for name in self.columns
        ]

    def rows_in_blocks(self, results: Results) -> Iterator[tuple[str | None, list[LanguageRow]]]:
        ranked = [name != self.base for name in self.columns]
        for block in self.blocks:
            rows = []
            for language in block.languages:
                runs = {
                    name: results.run(column[language]) if language in column else None
                    for name, column in self.columns.items()
                }
                base = None if self.base is None else runs[self.base]
                rows.append(LanguageRow(language, list(runs.values()), ranked, base))
            yield block.label, rows

    def runs_of(self, language: str) -> list[str]:
        runs = [column[language] for column in self.columns.values() if language in column]
        return list(dict.fromkeys(runs))

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        known = {*self.languages, *(corpus.language for corpus in experiment.corpora.values())}
        known |= {language for used in task_languages(experiment).values() for language in used}
        for name, column in self.columns.items():
            # Columns may serve several tables.
            about = "language of blocks, corpora or tasks"
            yield from unknowns(f"{key}.columns.{name}", column, known, about)
        if self.heldout:
            yield from without_heldout_text(experiment, key, self.languages)
            every = dict.fromkeys(
                run for language in self.languages for run in self.runs_of(language)
            )
            yield from unmeasured_steps(experiment, f"{key}.step", every, [self.step])
            return
        for language in self.languages:
            yield from self.without_tasks(experiment, f"{key}.blocks", language)
            tasks, runs = self.tasks(experiment, language), self.runs_of(language)
            if tasks and runs:
                yield from unscored_runs(experiment, key, runs, tasks, self.step)
        yield from self.wrong_metric(experiment, key)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for language in self.languages:
            tasks = self.tasks(experiment, language)
            yield from of_runs(experiment, self.runs_of(language), tasks)


TABLE = (LanguagesTable, ModelsByLanguageTable)
