"""What tables and figures show, and so what is scored, timed and compared."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from revocab.config.expand import Run
from revocab.config.paths import MANIFEST
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.multiple_choice.blind import BASELINES
from revocab.plan.artefacts import Artefacts
from revocab.report.kind import (
    DATA_ENDING,
    FIGURE_ENDINGS,
    TABLE_ENDINGS,
    KindOptions,
)
from revocab.report.references import asked_scores
from revocab.rule import Artefact
from revocab.training.outputs.loss_tables import MEASURED


class Shown(Artefacts):
    """Which scores and files an experiment's tables and figures need."""

    @cached_property
    def _asked(self) -> dict[str, set[str]]:
        return asked_scores(self.experiment)

    def asked(self, run: Run, tasks: Iterable[str]) -> list[str]:
        groups = {other.group for other in self.runs.values() if other.scored_id == run.id}
        shown = set().union(*(self._asked.get(group, ()) for group in groups))
        return [task for task in tasks if task in shown]

    def choice_tasks(self, run: Run) -> list[str]:
        return self.asked(run, self.experiment.evaluation.multiple_choice.tasks)

    def generation_tasks(self, run: Run) -> list[str]:
        return self.asked(run, self.experiment.evaluation.generation.tasks)

    def prompts(self, run: Run) -> dict[str, Artefact]:
        return {
            task: Artefact.file(self.paths.prompts(task), f"build_prompts--{task}")
            for task in self.generation_tasks(run)
        }

    def comet_models(self, run: Run) -> dict[str, str]:
        """Return the COMET models by metric; none if they score no task of the run."""
        generation = self.experiment.evaluation.generation
        tasks = [generation.tasks[task] for task in self.generation_tasks(run)]
        applies = any(find_kind(task.kind).comet_source for task in tasks)
        return generation.comet_models if applies else {}

    def scored_files(self, run: Run, ending: str = ".csv") -> list[str]:
        files = {
            f"multiple_choice{ending}": self.choice_tasks(run),
            f"generation/{MANIFEST}": self.generation_tasks(run),
            f"generation/comet{ending}": self.comet_models(run),
        }
        return [f"{self.paths.run(run.id)}/{file}" for file, asked in files.items() if asked]

    @property
    def scored(self) -> list[str]:
        similarities = {
            f"{self.paths.similarity(group)}/{MANIFEST}" for group in self.experiment.runs
        }
        shown = dict.fromkeys([*self.read_by_tables, *self.read_by_figures])
        files = [file for file in shown if file in similarities]
        for run in self.runs.values():
            files += self.checkpoint(run, run.steps[-1]).files
        files += [f"{self.paths.run(run.id)}/{MEASURED}" for run in self.measured]
        files += [file for run in self.evaluated() for file in self.scored_files(run)]
        return list(dict.fromkeys(files))  # groups may share a base model

    @cached_property
    def measured(self) -> list[Run]:
        """Return the runs whose held-out loss no training measures.

        A base model's stands where a run that keeps its vocabulary began, or where its own
        pretraining ended.
        """
        if not self.experiment.evaluation.heldout:
            return []
        begun = {
            run.group
            for run in self.runs.values()
            if run.trains and run.keeps_vocabulary and not run.start
        }
        models = self.experiment.models
        return [
            run
            for run in self.runs.values()
            if not run.trains
            and run.scored_id == run.id
            and not (run.base and (run.group in begun or models[run.source].pretrain))
            and self.heldout_length(run)
        ]

    @property
    def timed(self) -> list[str]:
        runs = list(self.runs.values())
        tables = self.experiment.tables.values()
        shown = [run for table in tables for run in table.timed(runs)]
        return list(dict.fromkeys(run.scored_id for run in shown))

    @property
    def published(self) -> list[str]:
        """Return the files of published values, none where the experiment names no folder."""
        folder = self.experiment.paper_values
        return sorted(map(str, Path(folder).glob("*.csv"))) if folder else []

    @property
    def tables(self) -> list[str]:
        folder, names = f"{self.paths.results}/tables", self.experiment.tables
        endings = (*TABLE_ENDINGS, DATA_ENDING)
        return [f"{folder}/{name}.{ending}" for name in names for ending in endings]

    @property
    def figures(self) -> list[str]:
        folder, names = f"{self.paths.results}/figures", self.experiment.figures
        return [f"{folder}/{name}.{ending}" for name in names for ending in FIGURE_ENDINGS]

    @property
    def read_by_tables(self) -> list[str]:
        return self._needed(self.experiment.tables.values())

    @property
    def read_by_figures(self) -> list[str]:
        return self._needed(self.experiment.figures.values())

    def _needed(self, shown: Iterable[KindOptions]) -> list[str]:
        files = [file for options in shown for file in options.needs(self)]
        return list(dict.fromkeys(files))

    def is_shown(self, folder: str) -> bool:
        file = f"{folder}/{MANIFEST}"
        return file in self.read_by_tables or file in self.read_by_figures

    @property
    def baselines(self) -> list[str]:
        """Return how blind baselines score on items made here: the world's, and probes in use."""
        tasks = self.experiment.evaluation.multiple_choice.tasks
        scored = {task for run in self.evaluated() for task in self.choice_tasks(run)}
        folders = [self.paths.world] if self.experiment.world else []
        folders += [
            self.paths.probe(task) for task in tasks if tasks[task].probe and task in scored
        ]
        return [f"{folder}/{BASELINES}" for folder in folders]
