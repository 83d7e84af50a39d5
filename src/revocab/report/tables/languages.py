"""Scores or losses by language and run, over several groups, and their change against the base."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from revocab.closed import GroupId, Id
from revocab.report.annotations import Experiment
from revocab.report.names import method_label
from revocab.report.references import of_group, unknowns, unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.by_language import Head, LanguageRow, Languages, LanguageTable
from revocab.report.values.losses import unmeasured_steps, without_heldout_text
from revocab.report.values.task_scores import unknown_choices

BASE = "base"


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
        return Languages(
            heads,
            blocks,
            "All" if several else None,
            {"Average": count} if count > 1 else {},
            "the base model of the group",
            ["Best of a row in bold, second underlined; unadapted models are not ranked."],
        )

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


TABLE = LanguagesTable
