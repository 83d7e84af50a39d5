"""Which files jobs read from a trained model on: what is scored, shown, and kept until then.

What no table or figure shows is not scored, timed or compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from pathlib import Path

from revocab.closed import Step
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.multiple_choice.tasks import find_template, template_files
from revocab.evaluation.options import UNTRAINED_AND_TRAINED
from revocab.experiment.expand import Run
from revocab.experiment.paths import MANIFEST, Model, manifest
from revocab.experiment.trainings import Trainings
from revocab.extensions import from_here
from revocab.marker import BY_ITEM, DROPPED
from revocab.report.kind import FIGURE_ENDINGS, TABLE_ENDINGS, KindOptions
from revocab.report.references import shown_scores
from revocab.training.recipe import EVALUATED, LAST
from revocab.training.records import MEASURED


class Layout(Trainings):
    """All that an experiment computes."""

    # --- what tables and figures show: it is scored, timed and compared ---------------------------

    @cached_property
    def _shown_scores(self) -> dict[str, set[str]]:
        return shown_scores(self.experiment)

    def scored_tasks(self, run: str, tasks: Iterable[str]) -> list[str]:
        groups = {other.group for other in self.runs.values() if other.scored_id == run}
        scored = set().union(*(self._shown_scores.get(group, ()) for group in groups))
        return [task for task in tasks if task in scored]

    def choice_tasks(self, run: str) -> list[str]:
        return self.scored_tasks(run, self.experiment.evaluation.multiple_choice.tasks)

    def generation_tasks(self, run: str) -> list[str]:
        return self.scored_tasks(run, self.experiment.evaluation.generation.tasks)

    def task_data(self, task: str) -> list[str]:
        data = self.experiment.evaluation.multiple_choice.tasks[task].data
        return self.source_files(data)[:1] if data else []

    def task_template(self, task: str) -> list[str]:
        """Return the file of a task's template, and those that it includes."""
        template = self._template(task)
        return [from_here(file) for file in template_files(template)] if template else []

    def own_templates(self, task: str) -> list[str]:
        """Return the user's folder of templates where the task's is in it."""
        folder, template = self._own_templates, self._template(task)
        return [str(folder)] if folder and template and template.parent == Path(folder) else []

    def _template(self, task: str) -> Path | None:
        entry, own = self.experiment.evaluation.multiple_choice.tasks[task], self._own_templates
        return find_template(entry.template, Path(own) if own else None) if entry.template else None

    @property
    def _own_templates(self) -> str | None:
        return self.experiment.evaluation.multiple_choice.templates

    def prompts(self, run: str) -> list[str]:
        return list(map(self.paths.prompts, self.generation_tasks(run)))

    def comet_models(self, run: str) -> dict[str, str]:
        """Return the COMET models by metric; none if they score no task of the run."""
        generation = self.experiment.evaluation.generation
        tasks = [generation.tasks[task] for task in self.generation_tasks(run)]
        applies = any(find_kind(task.kind).comet for task in tasks)
        return generation.comet_models if applies else {}

    def scored_files(self, run: str, ending: str = ".csv") -> list[str]:
        files = {
            f"multiple_choice{ending}": self.choice_tasks(run),
            f"generation/{MANIFEST}": self.generation_tasks(run),
            f"generation/comet{ending}": self.comet_models(run),
        }
        return [f"{self.paths.run(run)}/{file}" for file, tasks in files.items() if tasks]

    def items_of_group(self, group: str) -> list[str]:
        runs = self.evaluated(group)
        return [file for run in runs for file in self.scored_files(run.id, BY_ITEM)]

    @property
    def scored(self) -> list[str]:
        similarities = map(self.paths.similarity, self.experiment.runs)
        files = [manifest(folder) for folder in similarities if self.shows(folder)]
        for run in self.runs.values():
            files.append(self.checkpoint(run, run.steps[-1]).manifest)
        files += [f"{self.paths.run(run)}/{MEASURED}" for run in self.measured]
        files += [file for run in self.evaluated() for file in self.scored_files(run.id)]
        return list(dict.fromkeys(files))  # groups may share a base model

    @cached_property
    def measured(self) -> list[str]:
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
            run.id
            for run in self.runs.values()
            if not run.trains
            and run.scored_id == run.id
            and not (run.base and (run.group in begun or models[run.source].pretrain))
            and self.heldout_length(run)
        ]

    @cached_property
    def timed(self) -> list[str]:
        return [run for run in self.runs if self.paths.efficiency(run) in self.read_by_tables]

    @cached_property
    def adopting(self) -> list[str]:
        return [run for run in self.runs if self.paths.adoption(run) in self.read_by_tables]

    @property
    def compared(self) -> list[tuple[str, Step]]:
        """Return groups whose runs are compared item by item, with the step at which they are."""
        return [pair for table in self.experiment.tables.values() for pair in table.compared()]

    def with_new_rows(self, group: str) -> list[Run]:
        target = self.experiment.runs[group].target
        return [run for run in self.evaluated(group) if run.learns_rows_of(target)]

    def by_run(self, group: str, *, first: bool) -> list[str]:
        """Return ``RUN=FOLDER`` of the runs whose new rows are compared, untrained or trained."""
        runs = self.with_new_rows(group)
        steps = [0 if first else run.steps[-1] for run in runs]
        return [
            f"{run.id}={self.checkpoint(run, step).folder}"
            for run, step in zip(runs, steps, strict=True)
        ]

    def group_helper(self, group: str) -> list[Model]:
        helper = self.experiment.runs[group].helper
        return [self.model(helper)] if helper else []

    @property
    def published(self) -> list[str]:
        folder = self.experiment.paper_values
        return sorted(map(str, Path(folder).glob("*.csv"))) if folder else []

    @property
    def tables(self) -> list[str]:
        folder, names = f"{self.paths.results}/tables", self.experiment.tables
        return [f"{folder}/{name}.{ending}" for name in names for ending in TABLE_ENDINGS]

    @property
    def figures(self) -> list[str]:
        folder, names = f"{self.paths.results}/figures", self.experiment.figures
        return [f"{folder}/{name}.{ending}" for name in names for ending in FIGURE_ENDINGS]

    @cached_property
    def read_by_tables(self) -> list[str]:
        return self._read_by(self.experiment.tables.values())

    @cached_property
    def read_by_figures(self) -> list[str]:
        return self._read_by(self.experiment.figures.values())

    def _read_by(self, kinds: Iterable[KindOptions]) -> list[str]:
        return list(dict.fromkeys(file for options in kinds for file in options.needs(self)))

    def shows(self, folder: str) -> bool:
        file = manifest(folder)
        return file in self.read_by_tables or file in self.read_by_figures

    @property
    def described(self) -> list[str]:
        folders = [self.paths.intersection(*pair) for pair in self.intersections]
        folders += [self.paths.fertility] if self.experiment.fertility.tokenizers else []
        folders += [self.paths.scale] if self.experiment.scale else []
        return [*map(manifest, folders)]

    def read_by(self, command: str, group: str | None = None) -> list[str]:
        """Return the files that a command reads which shows numbers, of a group or of all."""
        results = self.paths.results
        scores, record = f"{results}/scores.parquet", self.paths.experiment_file
        files = {
            "collect_scores": [record, *self.scored, *self.published],
            "make_tables": [record, scores, *self.read_by_tables],
            "make_figures": [record, scores, *self.read_by_figures],
        }
        if command == "compare_runs":
            groups = [group] if group else self.experiment.runs
            return [record, scores, *(file for g in groups for file in self.items_of_group(g))]
        if command == "build_report":
            return [*self.tables, *self.figures, *self.described, *chain(*files.values())]
        return files.get(command, [])

    # --- checkpoints that nothing reads any more --------------------------------------------------

    def readers(self, run: str) -> dict[int, list[str]]:
        """Return the files whose jobs read a run's checkpoints, by step."""
        entry, evaluation = self.runs[run], self.experiment.evaluation
        readers: dict[int, list[str]] = {step: [] for step in entry.steps}
        folders = {self.checkpoint(entry, step).folder: step for step in entry.steps}

        def reads(file: str, *models: Model) -> None:
            for model in models:
                if model.folder in folders:
                    readers[folders[model.folder]].append(file)

        scored = run in [each.id for each in self.evaluated()]
        if scored and self.choice_tasks(run):
            steps = self.checkpoints(run, evaluation.multiple_choice.steps)
            reads(f"{self.paths.run(run)}/multiple_choice.csv", *steps.values())
        if scored and self.generation_tasks(run):
            steps = self.checkpoints(run, evaluation.generation.steps)
            reads(manifest(self.paths.generation(run)), *steps.values())
        if run in self.timed:
            reads(self.paths.efficiency(run), self.checkpoint(entry, entry.steps[-1]))
        if run in self.adopting:
            reads(self.paths.adoption(run), *self.checkpoints(run, UNTRAINED_AND_TRAINED).values())
        similarity = self.paths.similarity(entry.group)
        if self.shows(similarity) and entry in self.with_new_rows(entry.group):
            ends = (0, entry.steps[-1])
            reads(manifest(similarity), *(self.checkpoint(entry, step) for step in ends))
        for other in self.runs.values():
            begins = [named for named in (other.start, other.donor) if named]
            reads(manifest(f"{self.paths.run(other.id)}/init"), *map(self.other, begins))
            if other.recipe and self.experiment.recipes[other.recipe].reads_source:
                reads(manifest(self.paths.run(other.id)), self.origin(other.id))
        for name, model in self.experiment.models.items():
            if change := model.change():
                reads(manifest(self.paths.model(name)), self.referred(change[1].model))
        for name, corpus in self.experiment.corpora.items():
            if corpus.answers:
                reads(manifest(self.paths.answers(name)), self.referred(corpus.answers.model))
                if judge := corpus.answers.judge_model:
                    reads(manifest(self.paths.judged(name)), self.referred(judge))
        return readers

    def dropped(self, run: str) -> list[int]:
        """Return the steps whose checkpoints are removed in the end (``keep`` of a recipe)."""
        entry = self.runs[run]
        keep = self.experiment.recipes[entry.recipe].keep if entry.recipe else None
        between = entry.steps[1:-1]
        if keep == EVALUATED:
            readers = self.readers(run)
            return [step for step in between if not readers[step]]
        return between if keep == LAST else []

    def readers_of_dropped(self, run: str) -> list[str]:
        readers = self.readers(run)
        return list(dict.fromkeys(file for step in self.dropped(run) for file in readers[step]))

    @property
    def drops(self) -> list[str]:
        return [f"{self.paths.run(run)}/{DROPPED}" for run in self.dropping]

    @property
    def dropping(self) -> list[str]:
        return [run for run in self.trained if self.dropped(run)]
