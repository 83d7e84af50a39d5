"""Where the files of an experiment lie, and which of them each job reads.

Everything is relative to the folder that Snakemake runs in. Ids may be wildcards in braces: the
same functions give the patterns of the rules. Names alone are composed here; no result is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from revocab.answering.options import CONVERSATIONS
from revocab.chat.template import find_template as find_chat_template
from revocab.closed import BEST, Step
from revocab.config.expand import Run
from revocab.config.lineage import compared_pairs, helper_pair, text_corpora
from revocab.config.schema import Experiment, Source
from revocab.config.schema.evaluation import TaskText
from revocab.demoworld import BASELINES
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.multiple_choice.tasks import find_template, template_files
from revocab.experiment import options
from revocab.extensions import from_here
from revocab.initialise.reading.token_vectors import vector_files
from revocab.marker import BY_ITEM, DROPPED
from revocab.models.change import ModelReference
from revocab.report.kind import DATA_ENDING, FIGURE_ENDINGS, TABLE_ENDINGS, KindOptions
from revocab.report.references import asked_scores
from revocab.training.outputs.loss_tables import MEASURED
from revocab.training.recipe import ANSWERS, EVALUATED, LAST

MANIFEST = "manifest.json"


def manifest(folder: str) -> str:
    """Return the file whose presence says that a folder is whole."""
    return f"{folder}/{MANIFEST}"


class Model(NamedTuple):
    """A model's folder, and the manifest of the job that made it, which may have made others."""

    folder: str
    manifest: str


@dataclass(frozen=True)
class Paths:
    """Names of folders and files of one experiment."""

    experiment: str

    @property
    def results(self) -> str:
        return f"results/{self.experiment}"

    @property
    def resources(self) -> str:
        return f"resources/{self.experiment}"

    @property
    def world(self) -> str:
        return f"{self.resources}/world"

    @property
    def experiment_file(self) -> str:
        return f"{self.results}/experiment.json"

    def corpus(self, corpus: str) -> str:
        return f"{self.resources}/corpora/{corpus}"

    def answers(self, corpus: str) -> str:
        return f"{self.resources}/answers/{corpus}"

    def judged(self, corpus: str) -> str:
        return f"{self.resources}/judged/{corpus}"

    def tokenizer(self, tokenizer: str) -> str:
        return f"{self.results}/tokenizers/{tokenizer}"

    def intersection(self, source: str, target: str) -> str:
        return f"{self.results}/intersections/{source}--{target}"

    @property
    def fertility(self) -> str:
        return f"{self.results}/fertility"

    @property
    def parameters(self) -> str:
        return f"{self.results}/parameters.csv"

    @property
    def scale(self) -> str:
        return f"{self.results}/scale"

    def auxiliary(self, target: str) -> str:
        return f"{self.results}/auxiliary/{target}"

    def model(self, model: str) -> str:
        return f"{self.results}/models/{model}"

    def run(self, run: str) -> str:
        return f"{self.results}/runs/{run}"

    def checkpoint(self, folder: str, step: Step) -> str:
        return f"{folder}/checkpoints/{step if step == BEST else f'step-{step:06d}'}"

    def packed(self, tokenizer: str, mixture: str, recipe: str) -> str:
        return f"{self.results}/packed/{tokenizer}--{mixture}--{recipe}"

    def heldout(self, tokenizer: str, length: str) -> str:
        return f"{self.results}/heldout/{tokenizer}--{length}"

    def heldout_answers(self, tokenizer: str, recipe: str) -> str:
        return f"{self.results}/heldout_answers/{tokenizer}--{recipe}"

    def task(self, task: str) -> str:
        return f"{self.results}/tasks/{task}.yaml"

    def prompts(self, task: str) -> str:
        return f"{self.results}/prompts/{task}.jsonl"

    def generation(self, run: str) -> str:
        return f"{self.run(run)}/generation"

    def similarity(self, group: str) -> str:
        return f"{self.results}/similarity/{group}"

    def significance(self, group: str) -> str:
        return f"{self.results}/significance/{group}/significance.csv"

    def efficiency(self, run: str) -> str:
        return f"{self.results}/efficiency/{run}.json"


class Layout:
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
        """Return the tokenizers for whose tokens fastText vectors are trained."""
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
        """Return the held-out windows that a training measures."""
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

    # --- what tables and figures show: it is scored, timed and compared ---------------------------

    @cached_property
    def _shown_scores(self) -> dict[str, set[str]]:
        return asked_scores(self.experiment)

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
        return find_template(entry.template, own and Path(own)) if entry.template else None

    @property
    def _own_templates(self) -> str | None:
        return self.experiment.evaluation.multiple_choice.templates

    def prompts(self, run: str) -> list[str]:
        return list(map(self.paths.prompts, self.generation_tasks(run)))

    def comet_models(self, run: str) -> dict[str, str]:
        """Return the COMET models by metric; none if they score no task of the run."""
        generation = self.experiment.evaluation.generation
        tasks = [generation.tasks[task] for task in self.generation_tasks(run)]
        applies = any(find_kind(task.kind).comet_source for task in tasks)
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
        """Return the files of all scores, losses and similarities."""
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

    @property
    def timed(self) -> list[str]:
        runs = list(self.runs.values())
        tables = self.experiment.tables.values()
        return list(dict.fromkeys(run.scored_id for table in tables for run in table.timed(runs)))

    @property
    def compared(self) -> list[tuple[str, Step]]:
        """Return groups whose runs are compared item by item, with the step at which they are."""
        return [pair for table in self.experiment.tables.values() for pair in table.compared()]

    def with_new_rows(self, group: str) -> list[Run]:
        """Return the runs of a group whose new rows are compared."""
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
        endings = (*TABLE_ENDINGS, DATA_ENDING)
        return [f"{folder}/{name}.{ending}" for name in names for ending in endings]

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
        """Return whether a table or figure reads a folder."""
        file = manifest(folder)
        return file in self.read_by_tables or file in self.read_by_figures

    @property
    def described(self) -> list[str]:
        """Return what the report describes beside tables and figures."""
        folders = [self.paths.intersection(*pair) for pair in self.intersections]
        folders += [self.paths.fertility] if self.experiment.fertility.tokenizers else []
        folders += [self.paths.scale] if self.experiment.scale else []
        return [*map(manifest, folders), *self.baselines]

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
            return [
                record,
                scores,
                *(file for each in groups for file in self.items_of_group(each)),
            ]
        if command == "build_report":
            return [*self.tables, *self.figures, *self.described, *chain(*files.values())]
        return files.get(command, [])

    @property
    def baselines(self) -> list[str]:
        """Return how blind baselines score on the items of the world, if there is one."""
        return [f"{self.paths.world}/{BASELINES}"] if self.experiment.world else []

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
