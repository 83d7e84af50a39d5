"""Scores by language where a column may stand for another model in every language.

So one row compares a multilingual model with one that was adapted to the row's language alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, ShownRunId, unknown
from revocab.languages import language_label
from revocab.limits import Count
from revocab.report.annotations import Experiment
from revocab.report.references import of_runs, task_languages, unknowns, unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.by_language import Head, LanguageRow, Languages, LanguageTable
from revocab.report.values.losses import unmeasured_steps, without_heldout_text
from revocab.report.values.task_scores import unknown_choices

#: What averages are called.
AVERAGE = "Average of {}"


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
        best = "Best of a row in bold, second underlined"
        if self.base is not None:
            best += f"; {self.base} is not ranked"
        counts = ", ".join(
            f"{name} {len({results.run(run).scored_id for run in column.values()})}"
            for name, column in self.columns.items()
        )
        ranking = [f"{best}.", f"Models: {counts}."]
        return Languages(heads, blocks, "All", averages, self.base, ranking)

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


TABLE = ModelsByLanguageTable
