"""What the jobs of an experiment read: files and folders, with the job that writes each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from revocab.chat.template import find_template as find_chat_template
from revocab.closed import BEST
from revocab.closed import Step as StepName
from revocab.config.check_tasks import heldout_texts
from revocab.config.expand import Run, as_json, stage_mixtures
from revocab.config.layout import Layout
from revocab.config.lineage import compared_pairs, helper_pair, holds_conversations, text_corpora
from revocab.config.paths import MANIFEST
from revocab.config.schema import Source
from revocab.config.schema.evaluation import TaskText
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.options import Asking
from revocab.evaluation.probes.kind import ITEMS
from revocab.models.change import ModelReference
from revocab.rule import Artefact, near


class Artefacts(Layout):
    """Names of what jobs read. It composes them from the experiment, and looks at no result."""

    def folder(self, path: str, *, maker: str = "") -> Artefact:
        return Artefact(path, (f"{path}/{MANIFEST}",), maker)

    # --- text and tokenizers ----------------------------------------------------------------------

    def corpus(self, corpus: str, part: str = "train") -> Artefact:
        path = self.paths.corpus(corpus)
        return Artefact(path, (f"{path}/{part}.jsonl.gz",), f"prepare_corpus--{corpus}")

    def corpora(self, corpora: Iterable[str], part: str = "train") -> dict[str, Artefact]:
        return {corpus: self.corpus(corpus, part) for corpus in dict.fromkeys(corpora)}

    def heldout_text(self, corpus: str) -> Artefact:
        file = f"{self.paths.corpus(corpus)}/heldout.jsonl.gz"
        return Artefact.file(file, f"prepare_corpus--{corpus}")

    def holds_conversations(self, corpus: str) -> bool:
        return holds_conversations(self.experiment, corpus)

    @property
    def heldout_corpora(self) -> list[str]:
        """Return the corpora of text whose held-out part losses are measured on."""
        return text_corpora(self.experiment, self.experiment.evaluation.heldout)

    @property
    def held_out(self) -> dict[str, Artefact]:
        """Return, by id, the corpora whose held-out text no training may read."""
        evaluation = self.experiment.evaluation
        tasks = evaluation.multiple_choice.tasks.values()
        asked = [corpus for task in tasks if task.probe for corpus in task.probe.corpora]
        asked += [corpus for _, corpus, _ in heldout_texts(self.experiment)]
        return self.corpora([*evaluation.heldout, *asked], "heldout")

    def source(self, source: Source) -> list[Artefact]:
        world = self.paths.world
        return [
            Artefact.file(path, "build_demoworld" if path.startswith(f"{world}/") else "")
            for path in source.files(world)
        ]

    def task_text(self, text: TaskText) -> list[Artefact]:
        return [self.heldout_text(text.heldout)] if text.heldout else self.source(text)

    def tokenizer(self, tokenizer: str) -> Artefact:
        path = self.paths.tokenizer(tokenizer)
        return self.folder(path, maker=f"build_tokenizer--{tokenizer}")

    def intersection(self, source: str, target: str) -> Artefact:
        path = self.paths.intersection(source, target)
        return self.folder(path, maker=f"intersect_vocabularies--{source}--{target}")

    def identity(self, source: str, target: str) -> dict[str, Any]:
        """Return by what tokens of two tokenizers are compared; nothing where no run compares."""
        compared = compared_pairs(self.experiment, self.runs.values())
        pair = (source, target)
        return {"identity": compared[pair]} if pair in compared else {}

    def helper_pairs(self, helper: str | None, target: str) -> Artefact | None:
        """Return which tokens a helper and a target share; None where they have one tokenizer."""
        pair = helper_pair(self.experiment, helper, target)
        return self.intersection(*pair) if pair else None

    def stage_mixtures(self, recipe: str, mixture: str) -> dict[str, str]:
        return stage_mixtures(self.experiment.recipes[recipe], mixture)

    def heldout(self, tokenizer: str, length: str) -> Artefact:
        path = self.paths.heldout(tokenizer, length)
        return self.folder(path, maker=f"pack_heldout--{tokenizer}--{length}")

    # --- models -----------------------------------------------------------------------------------

    def model(self, model: str) -> Artefact:
        folder, entry = self.paths.model(model), self.experiment.models[model]
        path, maker = f"{folder}/snapshot", "fetch_model"
        if entry.pretrain:
            steps = self.experiment.recipes[entry.pretrain.recipe].steps
            path, maker = self.paths.checkpoint(folder, steps), "pretrain_stand_in"
        elif entry.change():
            path, maker = folder, "change_model"
        return Artefact(path, (f"{folder}/{MANIFEST}",), f"{maker}--{model}")

    def checkpoint(self, run: Run, step: StepName) -> Artefact:
        """Return the model of a run at a step, or its best; 0 is the one before training."""
        if not run.made:
            return self.model(run.source)
        folder = self.paths.run(run.id)
        if step == 0:
            return self.folder(f"{folder}/init", maker=f"init_embeddings--{run.id}")
        path = self.paths.checkpoint(folder, step)
        return Artefact(path, (f"{folder}/{MANIFEST}",), f"adapt_model--{run.id}")

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

    def probe(self, task: str) -> Artefact:
        return Artefact.file(f"{self.paths.probe(task)}/{ITEMS}", f"build_probe--{task}")

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

    @cached_property
    def json(self) -> dict[str, Any]:
        return as_json(self.experiment)
