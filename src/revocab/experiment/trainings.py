"""Which files jobs read up to a trained model: text, tokenizers, models, packed rows.

Names alone are composed here, for the rules of the workflow; no result is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from revocab.closed import BEST, Step
from revocab.corpora.answers.options import CONVERSATIONS
from revocab.experiment import options
from revocab.experiment.expand import Run, compared_pairs, helper_pair, text_corpora
from revocab.experiment.paths import Model, Paths, manifest
from revocab.experiment.schema import Experiment, Source
from revocab.experiment.schema.data import OwnAnswers
from revocab.experiment.schema.evaluation import TaskText
from revocab.extensions import from_here
from revocab.initialise.reading.token_vectors import vector_files
from revocab.models.change import ModelReference
from revocab.training.chat.template import find_template as find_chat_template
from revocab.training.recipe import ANSWERS


class Trainings:
    """Which runs an experiment has, and where what is made of them lies. It reads no result."""

    def __init__(self, experiment: Experiment):
        self.experiment = experiment
        self.paths = Paths(experiment.experiment)
        self._rows: dict[tuple[str, str], tuple[object, ...]] = {}

    @cached_property
    def runs(self) -> dict[str, Run]:
        return self.experiment.expanded

    def replicates(self, run: str) -> list[Run]:
        """Return the run with an id, or the replicates shown under it; empty if there are none."""
        return [each for each in self.runs.values() if run in (each.id, each.replicate_of)]

    def evaluated(self, group: str | None = None) -> list[Run]:
        """Return the runs whose checkpoints are scored, of one group or of all.

        Of a model that several groups show as it is, the first of them has the scores.
        """
        runs = [run for run in self.runs.values() if run.evaluate and group in (None, run.group)]
        return [self.runs[name] for name in dict.fromkeys(run.scored_id for run in runs)]

    def heldout_length(self, run: Run) -> int | None:
        """Return the length of a run's held-out windows: its recipe's; else what the experiment
        says; else that of the first trained run of its group, or of another.
        """
        runs = list(self.runs.values())
        stated = self.experiment.evaluation.heldout_length
        if stated and not run.trains:
            return stated
        near = [run, *(other for other in runs if other.group == run.group), *runs]
        recipes = self.experiment.recipes
        named = (run.recipe for run in near if run.recipe)
        return next((recipes[name].sequence_length for name in named), None)

    @property
    def intersections(self) -> list[tuple[str, str]]:
        needed = compared_pairs(self.experiment, self.runs.values())
        scale = self.experiment.scale
        extra = [(scale.source_tokenizer, scale.target_tokenizer)] if scale else []
        return list(dict.fromkeys([*needed, *self.experiment.intersections, *extra]))

    # --- text and tokenizers ----------------------------------------------------------------------

    def corpora(self, corpora: Iterable[str], part: str = "train") -> list[str]:
        folders = map(self.paths.corpus, dict.fromkeys(corpora))
        return [f"{folder}/{part}.jsonl.gz" for folder in folders]

    @property
    def heldout_corpora(self) -> list[str]:
        return text_corpora(self.experiment, self.experiment.evaluation.heldout)

    def texts_held_out(self, recipe: str) -> list[str]:
        """Return the texts that the rows of a recipe's trainings must not hold.

        What fine-tuning holds out does not make text be packed again.
        """
        evaluation, corpora = self.experiment.evaluation, self.experiment.corpora
        tasks = evaluation.generation.tasks.values()
        texts = [text.heldout for task in tasks for text in (task.pool, task.test) if text.heldout]
        learns_answers = self.experiment.recipes[recipe].loss == ANSWERS
        return self.corpora(
            (
                corpus
                for corpus in (*evaluation.heldout, *texts)
                if corpora[corpus].holds_conversations == learns_answers
            ),
            "heldout",
        )

    def source_files(self, source: Source) -> list[str]:
        return source.files(self.paths.world)

    def corpus_files(self, corpus: str) -> list[str]:
        """Return the files that a corpus is made of: its source's, or what a model answered."""
        entry = self.experiment.corpora[corpus]
        if entry.answers is None:
            return self.source_files(entry.source)
        folder = self.paths.judged if entry.answers.judge else self.paths.answers
        return [f"{folder(corpus)}/{CONVERSATIONS}"]

    def task_text(self, text: TaskText) -> list[str]:
        return self.corpora([text.heldout], "heldout") if text.heldout else self.source_files(text)

    @property
    def parallel_files(self) -> list[str]:
        parallel = self.experiment.fertility.parallel
        return self.source_files(parallel.source) if parallel else []

    def tokenizers(self, tokenizers: Iterable[str]) -> list[str]:
        return [manifest(self.paths.tokenizer(tokenizer)) for tokenizer in tokenizers]

    def helper_pairs(self, helper: str | None, target: str | None) -> list[str]:
        """Return which tokens a helper and a target share; nothing where they are one tokenizer."""
        pair = helper_pair(self.experiment, helper, target)
        return [manifest(self.paths.intersection(*pair))] if pair else []

    def construction_files(self, tokenizer: str, key: str) -> list[str]:
        """Return the files that a construction's option names; nothing where it does not."""
        _, chosen = self.experiment.tokenizers[tokenizer].construction()
        for keys, files in (
            (chosen.mixtures, self.corpora),
            (chosen.tokenizers, lambda name: self.tokenizers([name])),
            (chosen.templates, self.chat_template),
            (chosen.folders, lambda folder: [folder]),
            (chosen.lists, lambda file: [file]),
        ):
            if key in (named := dict(chosen.named(keys))):
                return files(named[key])
        return []

    def chat_template(self, name: str | None) -> list[str]:
        return [] if name is None else [from_here(find_chat_template(name))]

    def chat_template_of(self, run: str) -> list[str]:
        chat, _ = self.experiment.runs[self.runs[run].group].asking
        return self.chat_template(chat.template) if chat else []

    # --- models -----------------------------------------------------------------------------------

    def model(self, model: str) -> Model:
        folder, entry = self.paths.model(model), self.experiment.models[model]
        path = f"{folder}/snapshot"
        if entry.pretrain:
            steps = self.experiment.recipes[entry.pretrain.recipe].steps
            path = self.paths.checkpoint(folder, steps)
        elif entry.change():
            path = folder
        return Model(path, manifest(folder))

    def checkpoint(self, run: Run, step: Step) -> Model:
        """Return the model of a run at a step, or its best; 0 is the one before training."""
        if not run.made:
            return self.model(run.source)
        folder = self.paths.run(run.id)
        if step == 0:
            return Model(f"{folder}/init", manifest(f"{folder}/init"))
        return Model(self.paths.checkpoint(folder, step), manifest(folder))

    def checkpoints(self, run: str, steps: Iterable[Step] | None) -> dict[int, Model]:
        entry = self.runs[run]
        return {step: self.checkpoint(entry, step) for step in entry.select(steps)}

    def origin(self, run: str) -> Model:
        """Return the model that a method changes: another run's checkpoint, or the source model."""
        entry = self.runs[run]
        return self.other(entry.start) if entry.start else self.model(entry.source)

    def root(self, run: str) -> Model:
        """Return the model that a run descends from, through any runs that it started from."""
        ancestor = self.runs[run]
        while ancestor.start:
            ancestor = self.runs[ancestor.start[0]]
        return self.model(ancestor.source)

    def other(self, named: tuple[str, Step]) -> Model:
        run, step = named
        return self.checkpoint(self.runs[run], step)

    def referred(self, reference: ModelReference) -> Model:
        if isinstance(reference, str):
            return self.model(reference)
        run = self.runs[reference.run]
        (step,) = [BEST] if reference.step == BEST else run.select([reference.step])
        return self.checkpoint(run, step)

    def languages(self, run: str) -> list[str]:
        entry = self.runs[run]
        names = [*entry.stage_mixtures.values()] or filter(None, [entry.mixture])
        mixtures = [self.experiment.mixtures[name] for name in names]
        corpora = [self.experiment.corpora[corpus] for mixture in mixtures for corpus in mixture]
        return list(dict.fromkeys(corpus.language for corpus in corpora))

    def manifests(self, run: str, steps: Iterable[Step] | None) -> list[str]:
        models = self.checkpoints(run, steps).values()
        return list(dict.fromkeys(model.manifest for model in models))

    def steps(self, run: str, steps: Iterable[Step] | None) -> list[str]:
        """Return ``STEP=FOLDER`` of checkpoints, as commands take them."""
        return [f"{step}={model.folder}" for step, model in self.checkpoints(run, steps).items()]

    def last_checkpoint(self, run: str) -> Model:
        return self.checkpoint(self.runs[run], self.runs[run].steps[-1])

    # What a method reads beside the model that it changes, each as a list, empty where it does not.

    def new_tokenizer(self, run: str) -> list[str]:
        entry = self.runs[run]
        return [] if entry.keeps_vocabulary else self.tokenizers([entry.target])

    def new_pairs(self, run: str) -> list[str]:
        entry = self.runs[run]
        pair = entry.source_tokenizer, entry.target
        return [] if entry.keeps_vocabulary else [manifest(self.paths.intersection(*pair))]

    def helper(self, run: str) -> list[Model]:
        helper = self.runs[run].helper
        return [self.model(helper)] if helper else []

    def adapted(self, run: str) -> list[Model]:
        donor = self.runs[run].donor
        return [self.other(donor)] if donor else []

    def adapted_from(self, run: str) -> list[Model]:
        donor = self.runs[run].donor
        return [self.root(donor[0])] if donor else []

    def vectors(self, run: str) -> list[str]:
        """Return the folder or file of the vectors in which a method compares tokens."""
        entry, auxiliary = self.runs[run], self.experiment.auxiliary
        if entry.auxiliary:
            return [self.paths.auxiliary(entry.target)]
        return [auxiliary.vectors] if entry.vectors and auxiliary and auxiliary.vectors else []

    def vector_files(self, run: str) -> list[str]:
        if self.runs[run].auxiliary:
            return [*map(manifest, self.vectors(run))]
        return [str(file) for place in self.vectors(run) for file in vector_files(Path(place))]

    def changed_from(self, model: str) -> Model:
        """Return the model that a change makes another of."""
        _, change = options.present(self.experiment.models[model].change())
        return self.referred(change.model)

    def answers_of(self, corpus: str) -> OwnAnswers:
        return options.present(self.experiment.corpora[corpus].answers)

    def judge_model(self, corpus: str) -> list[Model]:
        """Return the model of a judge; nothing where it has none."""
        model = self.answers_of(corpus).judge_model
        return [self.referred(model)] if model else []

    # --- of which there is a job ------------------------------------------------------------------

    @property
    def answered(self) -> list[str]:
        return [name for name, corpus in self.experiment.corpora.items() if corpus.answers]

    @property
    def judged(self) -> list[str]:
        corpora = self.experiment.corpora.items()
        return [name for name, corpus in corpora if corpus.answers and corpus.answers.judge]

    @property
    def fetched(self) -> list[str]:
        models = self.experiment.models.items()
        return [name for name, model in models if model.hub or model.path]

    @property
    def changed(self) -> list[str]:
        return [name for name, model in self.experiment.models.items() if model.change()]

    @property
    def made(self) -> list[str]:
        return [run.id for run in self.runs.values() if run.made]

    @property
    def with_vectors(self) -> list[str]:
        return sorted({run.target for run in self.runs.values() if run.auxiliary})

    def sources_with_vectors(self, target: str) -> list[str]:
        runs = [run for run in self.runs.values() if run.auxiliary and run.target == target]
        return sorted({run.source_tokenizer for run in runs})

    # --- trainings --------------------------------------------------------------------------------

    @property
    def trained(self) -> list[str]:
        return [run.id for run in self.runs.values() if run.trains]

    @property
    def stand_ins(self) -> list[str]:
        return [name for name, model in self.experiment.models.items() if model.pretrain]

    @cached_property
    def trainings(self) -> dict[str, tuple[str, str, str]]:
        """Return tokenizer, mixture and recipe of every training, by its folder."""
        runs = {
            self.paths.run(run.id): (run.target, run.mixture, run.recipe)
            for run in self.runs.values()
            if run.mixture is not None and run.recipe is not None
        }
        models = {
            self.paths.model(name): (model.tokenizer, model.pretrain.mixture, model.pretrain.recipe)
            for name, model in self.experiment.models.items()
            if model.pretrain
        }
        return {**runs, **models}

    def packing(self, folder: str) -> tuple[str, str, str]:
        """Return the tokenizer, mixture and recipe under whose names a training's rows are packed.

        Rows are packed once for all trainings that have the same: under the first mixture of
        these, and the first recipe of the experiment that gives these rows.
        """
        tokenizer, mixture, recipe = self.trainings[folder]
        wanted = self.rows(mixture, recipe)
        trained = [(m, r) for other, m, r in self.trainings.values() if other == tokenizer]
        same = {mixture, *(m for m, r in trained if self.rows(m, r) == wanted)}
        first = next(name for name in self.experiment.mixtures if name in same)
        recipes = self.experiment.recipes
        return tokenizer, first, next(r for r in recipes if self.rows(first, r) == wanted)

    def packed(self, folder: str) -> str:
        return manifest(self.paths.packed(*self.packing(folder)))

    def heldout_of(self, folder: str) -> str:
        tokenizer, _, recipe = self.trainings[folder]
        entry = self.experiment.recipes[recipe]
        if entry.loss == ANSWERS:
            return manifest(self.paths.heldout_answers(tokenizer, self.packing(folder)[2]))
        return manifest(self.paths.heldout(tokenizer, str(entry.sequence_length)))

    def heldout_windows(self, run: str) -> str:
        entry = self.runs[run]
        return manifest(self.paths.heldout(entry.target, str(self.heldout_length(entry))))

    def adapter_source(self, run: str) -> list[Model]:
        """Return the model whose rows a vocabulary adapter mixes; nothing without an adapter."""
        recipe = self.experiment.recipes[str(self.runs[run].recipe)]
        return [self.origin(run)] if recipe.reads_source else []

    def rows(self, mixture: str, recipe: str) -> tuple[object, ...]:
        """Return what decides the rows of a mixture and recipe, but for the tokenizer."""
        if (mixture, recipe) not in self._rows:
            entry, packed = self.experiment.recipes[recipe], options.packing(self, mixture, recipe)
            self._rows[mixture, recipe] = (
                packed.canonical(),
                self.corpora(packed.shares),
                self.texts_held_out(recipe),
                self.chat_template(entry.chat_template),
            )
        return self._rows[mixture, recipe]
