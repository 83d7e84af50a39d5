"""What the jobs of an experiment read, and which scores and files its tables and figures need."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.chat.template import find_template as find_chat_template
from revocab.closed import BEST
from revocab.closed import Step as StepName
from revocab.config.check_tasks import heldout_texts
from revocab.config.expand import Run
from revocab.config.layout import MANIFEST, Layout
from revocab.config.lineage import compared_pairs, helper_pair, text_corpora
from revocab.config.schema import Source
from revocab.config.schema.evaluation import TaskText
from revocab.demoworld import BASELINES
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.options import Asking
from revocab.models.change import ModelReference
from revocab.report.kind import DATA_ENDING, FIGURE_ENDINGS, TABLE_ENDINGS, KindOptions
from revocab.report.references import asked_scores
from revocab.rule import Artefact, near
from revocab.training.outputs.loss_tables import MEASURED


class Artefacts(Layout):
    """Names of what jobs read. It composes them from the experiment, and looks at no result."""

    def folder(self, path: str) -> Artefact:
        return Artefact(path, (f"{path}/{MANIFEST}",))

    # --- text and tokenizers ----------------------------------------------------------------------

    def corpus(self, corpus: str, part: str = "train") -> Artefact:
        path = self.paths.corpus(corpus)
        return Artefact(path, (f"{path}/{part}.jsonl.gz",))

    def corpora(self, corpora: Iterable[str], part: str = "train") -> dict[str, Artefact]:
        return {corpus: self.corpus(corpus, part) for corpus in dict.fromkeys(corpora)}

    def heldout_text(self, corpus: str) -> Artefact:
        return Artefact.file(f"{self.paths.corpus(corpus)}/heldout.jsonl.gz")

    @property
    def heldout_corpora(self) -> list[str]:
        return text_corpora(self.experiment, self.experiment.evaluation.heldout)

    @property
    def held_out(self) -> dict[str, Artefact]:
        """Return, by id, the corpora whose held-out text no training may read."""
        asked = [corpus for _, corpus, _ in heldout_texts(self.experiment)]
        return self.corpora([*self.experiment.evaluation.heldout, *asked], "heldout")

    def source(self, source: Source) -> list[Artefact]:
        return [Artefact.file(path) for path in source.files(self.paths.world)]

    def task_text(self, text: TaskText) -> list[Artefact]:
        return [self.heldout_text(text.heldout)] if text.heldout else self.source(text)

    def tokenizer(self, tokenizer: str) -> Artefact:
        return self.folder(self.paths.tokenizer(tokenizer))

    def intersection(self, source: str, target: str) -> Artefact:
        return self.folder(self.paths.intersection(source, target))

    def identity(self, source: str, target: str) -> dict[str, Any]:
        """Return by what tokens of two tokenizers are compared; nothing where no run compares."""
        compared = compared_pairs(self.experiment, self.runs.values())
        pair = (source, target)
        return {"identity": compared[pair]} if pair in compared else {}

    def helper_pairs(self, helper: str | None, target: str) -> Artefact | None:
        """Return which tokens a helper and a target share; None where they have one tokenizer."""
        pair = helper_pair(self.experiment, helper, target)
        return self.intersection(*pair) if pair else None

    def heldout(self, tokenizer: str, length: str) -> Artefact:
        return self.folder(self.paths.heldout(tokenizer, length))

    # --- models -----------------------------------------------------------------------------------

    def model(self, model: str) -> Artefact:
        folder, entry = self.paths.model(model), self.experiment.models[model]
        path = f"{folder}/snapshot"
        if entry.pretrain:
            steps = self.experiment.recipes[entry.pretrain.recipe].steps
            path = self.paths.checkpoint(folder, steps)
        elif entry.change():
            path = folder
        return Artefact(path, (f"{folder}/{MANIFEST}",))

    def checkpoint(self, run: Run, step: StepName) -> Artefact:
        """Return the model of a run at a step, or its best; 0 is the one before training."""
        if not run.made:
            return self.model(run.source)
        folder = self.paths.run(run.id)
        if step == 0:
            return self.folder(f"{folder}/init")
        path = self.paths.checkpoint(folder, step)
        return Artefact(path, (f"{folder}/{MANIFEST}",))

    def checkpoints(self, run: Run, steps: list[int]) -> dict[int, Artefact]:
        return {step: self.checkpoint(run, step) for step in steps}

    def origin(self, run: Run) -> Artefact:
        """Return the model that a method changes: another run's checkpoint, or the source model."""
        return self.other(run.start) if run.start else self.model(run.source)

    def root(self, run: str) -> Artefact:
        """Return the model that a run descends from, through any runs that it started from."""
        ancestor = self.runs[run]
        while ancestor.start:
            ancestor = self.runs[ancestor.start[0]]
        return self.model(ancestor.source)

    def other(self, named: tuple[str, StepName]) -> Artefact:
        run, step = named
        return self.checkpoint(self.runs[run], step)

    def referred(self, reference: ModelReference) -> Artefact:
        if isinstance(reference, str):
            return self.model(reference)
        if reference.step == BEST:
            return self.other((reference.run, BEST))
        (step,) = self.runs[reference.run].select([reference.step])
        return self.other((reference.run, step))

    def languages(self, run: Run) -> list[str]:
        names = [*run.stage_mixtures.values()] or filter(None, [run.mixture])
        mixtures = [self.experiment.mixtures[name] for name in names]
        corpora = [self.experiment.corpora[corpus] for mixture in mixtures for corpus in mixture]
        return list(dict.fromkeys(corpus.language for corpus in corpora))

    # --- evaluation and report --------------------------------------------------------------------

    def chat_template(self, name: str | None) -> Artefact | None:
        return None if name is None else Artefact.file(near(find_chat_template(name)))

    def asking(self, run: Run) -> tuple[Asking, Artefact | None]:
        chat, most_shots = self.experiment.runs[run.group].asking
        if chat is None:
            return Asking(most_shots=most_shots), None
        options = ChatOptions(**chat.model_dump(include=set(ChatOptions.model_fields)))
        return Asking(chat=options, most_shots=most_shots), self.chat_template(chat.template)

    def results(self, *files: str) -> dict[str, Artefact]:
        folder = self.paths.results
        read = (self.paths.experiment_file, *(f"{folder}/{file}" for file in files))
        return {"results": Artefact(folder, read)}

    # --- what tables and figures show: it is scored, timed and compared ---------------------------

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
            task: Artefact.file(self.paths.prompts(task)) for task in self.generation_tasks(run)
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

    @cached_property
    def read_by_tables(self) -> list[str]:
        return self._needed(self.experiment.tables.values())

    @cached_property
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
        """Return how blind baselines score on the items of the world, if there is one."""
        return [f"{self.paths.world}/{BASELINES}"] if self.experiment.world else []
