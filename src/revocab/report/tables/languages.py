"""Scores or losses by language: of runs of several groups, or of another model in every language.

The second compares in one row a multilingual model with one that was adapted to the row's language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, GroupId, Id, OneLine, ShownRunId, unknown
from revocab.languages import language_label
from revocab.limits import Count
from revocab.report.annotations import Experiment
from revocab.report.names import method_label
from revocab.report.references import of_group, of_runs, task_languages, unknowns, unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.by_language import Head, LanguageRow, Languages, LanguageTable
from revocab.report.values.losses import unmeasured_steps, without_heldout_text
from revocab.report.values.task_scores import unknown_choices

BASE = "base"
#: What averages are called.
AVERAGE = "Average of {}"


class LanguagesTable(LanguageTable):
    """Languages by runs of the same names in several groups."""

    kind: Literal["languages"]
    #: Languages that are shown of each group; a group has one tokenizer and so its languages.
    groups: dict[GroupId, Annotated[list[Id], Field(min_length=1)]] = Field(min_length=1)
    columns: list[Id] | None = Field(
        default=None, min_length=1, description="names of runs; default: all that are scored"
    )

    def laid_out(self, results: Results) -> Languages:
        """Return the table; with changes, a run's name stands above its value and its change."""
        scored = [run.name for group in self.groups for run in results.group(group)]
        names = self.columns or list(dict.fromkeys(scored))
        every = [run for group in self.groups for run in results.group(group, evaluated=False)]
        labels = {run.name: method_label(run) for run in reversed(every)}
        heads = [Head(labels[name]) for name in names]
        if self.change:
            what = "loss" if self.heldout else "score"
            change = "change (%)" if self.change == "percent" else "change"
            heads = [Head(what, None if name == BASE else change, labels[name]) for name in names]
        several = len(self.groups) > 1
        blocks: list[tuple[str | None, list[LanguageRow]]] = []
        for group, languages in self.groups.items():
            runs = {run.name: run for run in results.group(group, evaluated=not self.heldout)}
            shown = [runs.get(name) for name in names]
            made = [run is not None and run.made for run in shown]
            base, label = results.base(group), results.experiment.runs[group].label
            rows = [LanguageRow(language, shown, made, base) for language in languages]
            blocks.append((label if several else None, rows))
        count = sum(map(len, self.groups.values()))
        averages = {"Average": count} if count > 1 else {}
        return Languages(heads, blocks, "All" if several else None, averages)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        from revocab.config.lineage import run_id, shown_names  # stands on the schema

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
        yield from unknown_choices(experiment, key, self.metrics)
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
    metric: OneLine | None = Field(default=None, description="metric of all its translations")

    @model_validator(mode="after")
    def _names_fit(self) -> ModelsByLanguageTable:
        if self.base is not None and self.base not in self.columns:
            raise ValueError(unknown("base", self.base, self.columns, "column"))
        if self.change is not None and self.base is None:
            raise ValueError("change needs base, the column that changes are from; name it")
        if self.metric is not None and not (self.into or self.out_of):
            raise ValueError("metric is that of translations; give into or out_of, or leave it out")
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
    def row_labels(self) -> list[str]:
        averages = [AVERAGE.format(number) for number in self.averages]
        return [*map(language_label, self.languages), *averages]

    def change_header(self, column: str) -> str:
        return f"{column} change (%)" if self.change == "percent" else f"{column} change"

    def metrics_shown(self, experiment: Experiment) -> dict[str, str]:
        if self.metric is None:
            return self.metrics
        tasks = [task for language in self.languages for task in self.tasks(experiment, language)]
        return {**dict.fromkeys(tasks, self.metric), **self.metrics}

    def laid_out(self, results: Results) -> Languages:
        heads = [
            Head(name, self.change_header(name) if self.change and name != self.base else None)
            for name in self.columns
        ]
        ranked = [name != self.base for name in self.columns]
        blocks = []
        for block in self.blocks:
            rows = []
            for language in block.languages:
                runs = {
                    name: results.run(column[language]) if language in column else None
                    for name, column in self.columns.items()
                }
                base = None if self.base is None else runs[self.base]
                rows.append(LanguageRow(language, list(runs.values()), ranked, base))
            blocks.append((block.label, rows))
        averages = {AVERAGE.format(number): number for number in self.averages}
        return Languages(heads, blocks, "All", averages)

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
        yield from unknown_choices(experiment, key, self.metrics_shown(experiment))

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for language in self.languages:
            tasks = self.tasks(experiment, language)
            yield from of_runs(experiment, self.runs_of(language), tasks)


TABLE = (LanguagesTable, ModelsByLanguageTable)
