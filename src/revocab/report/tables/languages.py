"""Scores or losses by language and run, over several groups, and their change against the base."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from revocab.closed import Id, unknown
from revocab.report.asked import of_group
from revocab.report.names import method_label
from revocab.report.references import unknown_groups, unscored_runs
from revocab.report.table_parts.by_language import Head, LanguageRow, LanguageTable
from revocab.report.values.heldout_options import heldout_problems, unmeasured_steps
from revocab.report.values.task_scores import unknown_choices

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment
    from revocab.report.results import Results
    from revocab.report.table_parts.table import Table

BASE = "base"


class LanguagesTable(LanguageTable):
    """Languages by runs of the same names in several groups."""

    kind: Literal["languages"]
    #: Languages that are shown of each group; a group has one tokenizer and so its languages.
    groups: dict[Id, Annotated[list[Id], Field(min_length=1)]] = Field(min_length=1)
    columns: list[Id] | None = Field(
        default=None, min_length=1, description="names of runs; default: all that are scored"
    )

    def names(self, results: Results) -> list[str]:
        runs = [run for group in self.groups for run in results.group(group)]
        return list(self.columns or dict.fromkeys(run.name for run in runs))

    def heads(self, results: Results) -> list[Head]:
        runs = [run for group in self.groups for run in results.group(group, evaluated=False)]
        labels = {run.name: method_label(run) for run in reversed(runs)}
        change = "change (%)" if self.change == "percent" else "change"
        return [
            Head(labels[name], change if self.change and name != BASE else None)
            for name in self.names(results)
        ]

    def blocks_shown(self, results: Results) -> list[tuple[str | None, list[LanguageRow]]]:
        blocks: list[tuple[str | None, list[LanguageRow]]] = []
        for group, languages in self.groups.items():
            runs = {run.name: run for run in results.group(group, evaluated=not self.heldout)}
            shown = [runs.get(name) for name in self.names(results)]
            heading = results.experiment.runs[group].label if len(self.groups) > 1 else None
            base = results.base(group)
            blocks.append((heading, [LanguageRow(one, shown, base) for one in languages]))
        return blocks

    def is_ranked(self, column: str, run: Run | None) -> bool:
        return run is not None and run.made

    def averages_shown(self, languages: int) -> tuple[str | None, dict[str, int]]:
        heading = "All" if len(self.groups) > 1 else None
        return heading, {"Average": languages} if languages > 1 else {}

    def build(self, results: Results) -> Table:
        """Return the table; with changes, a run's name stands above its value and its change."""
        table = super().build(results)
        if self.change:
            what = "loss" if self.heldout else "score"
            table.over, table.header = [""], ["Language"]
            for head in self.heads(results):
                parts = [what] if head.change is None else [what, head.change]
                table.over += [head.name] * len(parts)
                table.header += parts
        return table

    def base_said(self) -> str:
        return "the base model of the group"

    def ranking_said(self, results: Results) -> list[str]:
        best = "Best of a row in bold, second underlined; models that are shown as they are, are"
        return [f"{best} not ranked."]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        from revocab.config.lineage import run_id, shown_names  # stands on the schema

        yield from unknown_groups(experiment, key, *self.groups)
        groups = {name: experiment.runs[name] for name in self.groups if name in experiment.runs}
        known = {BASE}
        for given in groups.values():
            known |= {*given.references, *shown_names(given)}
        for name in self.columns or ():
            if groups and name not in known:
                yield unknown(f"{key}.columns", name, known, "run of its groups")
        for group, languages in self.groups.items():
            where = f"{key}.groups.{group}"
            if len(set(languages)) < len(languages):
                yield f"{where}: {languages} repeats a language; name each once"
            if self.heldout:
                yield from heldout_problems(experiment, where, languages, None)
            else:
                for language in languages:
                    yield from self.without_tasks(experiment, where, language)
        yield from unknown_choices(experiment, key, self.metrics)
        for group, given in groups.items():
            made = shown_names(given)
            names = [name for name in self.columns or made if name in made]
            runs = [run_id(group, name) for name in (BASE, *names)]
            if self.heldout:
                yield from unmeasured_steps(experiment, f"{key}.step", runs, [self.step])
            else:
                tasks = [task for _, task in self._of_group(experiment, group)]
                yield from unscored_runs(experiment, key, runs, tasks, self.step)

    def _of_group(self, experiment: Experiment, group: str) -> Iterator[tuple[str, str]]:
        tasks = [task for one in self.groups[group] for task in self.tasks(experiment, one)]
        return of_group(group, tasks)

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        for group in self.groups:
            yield from self._of_group(experiment, group)


TABLE = LanguagesTable
