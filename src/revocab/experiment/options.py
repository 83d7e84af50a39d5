"""What decides each job of an experiment beside its input files: options of the rules' verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from revocab.closed import Job, models_of
from revocab.corpora.answers.options import MESSAGES, AnswerJob, JudgeJob
from revocab.corpora.documents import CorpusJob
from revocab.corpora.source import Form
from revocab.demoworld.build import WorldJob
from revocab.evaluation.embedding_similarity import EmbeddingSimilarityJob
from revocab.evaluation.generation.prompts import PromptJob
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.multiple_choice.tasks import TaskJob
from revocab.evaluation.options import (
    AdoptionJob,
    Asking,
    CometJob,
    ComparisonJob,
    EfficiencyJob,
    GenerationJob,
    ScoringJob,
)
from revocab.experiment.check_tasks import asked_as_taught
from revocab.experiment.expand import as_json, compared_pairs, stage_mixtures
from revocab.initialise.options import InitJob, ScaleJob
from revocab.initialise.reading.fasttext import AuxiliaryJob
from revocab.models.change import ChangeJob
from revocab.models.fetch import FetchJob
from revocab.models.parameters import ParametersJob, StandInJob
from revocab.report.results.folder import ExperimentJob
from revocab.training.data.packing import HeldoutJob, PackingJob
from revocab.training.recipe import DropJob, TrainingOptions
from revocab.training.run import Settings
from revocab.vocabulary.building.construction import SHARES, TokenizerJob
from revocab.vocabulary.fertility import FertilityJob
from revocab.vocabulary.intersection import IntersectionJob

if TYPE_CHECKING:
    from revocab.experiment.layout import Layout
    from revocab.experiment.schema import Experiment
    from revocab.experiment.trainings import Trainings

T = TypeVar("T")


def nothing() -> Job:
    return Job()


def present(section: T | None) -> T:
    """Return what an experiment has, or there would be no such job."""
    assert section is not None
    return section


# --- text and tokenizers --------------------------------------------------------------------------


def world(experiment: Experiment) -> WorldJob:
    return WorldJob(**present(experiment.world).model_dump())


def corpus(experiment: Experiment, corpus: str) -> CorpusJob:
    entry = experiment.corpora[corpus]
    own: dict[str, Any] = {"source": entry.source.form}
    if entry.answers is not None:
        # Roles and conditions are of the questions, which were read with them.
        own = {"source": Form(), "messages_field": MESSAGES, "message_roles": {}, "keep": {}}
    return CorpusJob.of(entry, corpus=corpus, **own)


def answers(experiment: Experiment, corpus: str) -> AnswerJob:
    entry = experiment.corpora[corpus]
    return AnswerJob.of(entry, present(entry.answers), source=entry.source.form)


def judge(experiment: Experiment, corpus: str) -> JudgeJob:
    judge = present(present(experiment.corpora[corpus].answers).judge)
    return models_of(JudgeJob)[judge.kind].of(judge)


def tokenizer(experiment: Experiment, tokenizer: str) -> TokenizerJob:
    construction, entry = experiment.tokenizers[tokenizer].construction()
    shares = {SHARES[name]: mixture for name, mixture in entry.named(entry.mixtures)}
    return models_of(TokenizerJob)[construction].of(entry, construction=construction, **shares)


def fertility(experiment: Experiment) -> FertilityJob:
    parallel = experiment.fertility.parallel
    return FertilityJob.of(
        experiment.fertility,
        parallel=parallel.source.form if parallel else None,
        languages=parallel.languages if parallel else [],
    )


def intersection(experiment: Experiment, source: str, target: str) -> IntersectionJob:
    compared, pair = compared_pairs(experiment, experiment.expanded.values()), (source, target)
    return IntersectionJob(
        **({"identity": compared[pair]} if pair in compared else {}),
        source_roles=experiment.roles.get(source, {}),
        target_roles=experiment.roles.get(target, {}),
    )


# --- models ---------------------------------------------------------------------------------------


def fetch(experiment: Experiment, model: str) -> FetchJob:
    return FetchJob.of(experiment.models[model])


def stand_in(experiment: Experiment, model: str) -> StandInJob:
    pretrain = present(experiment.models[model].pretrain)
    return StandInJob.of(pretrain, pretrain.architecture, seed=experiment.seed)


def change(experiment: Experiment, model: str) -> ChangeJob:
    name, options = present(experiment.models[model].change())
    return models_of(ChangeJob)[name].of(options, change=name)


def auxiliary(experiment: Experiment) -> AuxiliaryJob:
    return AuxiliaryJob.of(present(experiment.auxiliary), seed=experiment.seed)


def init(layout: Layout, run: str) -> InitJob:
    entry = layout.runs[run]
    chosen = layout.experiment.runs[entry.group].methods[entry.name]
    # The source's own tokenizer folder decides only where the vocabulary is kept.
    decided: dict[str, Any] = {"seed": entry.seed}
    if not entry.keeps_vocabulary:
        decided |= {"identity": entry.identity, "languages": layout.languages(run)}
    return models_of(InitJob)[entry.method].of(chosen, **decided)


def parameters(experiment: Experiment) -> ParametersJob:
    return ParametersJob(models=experiment.parameters)


def scale(experiment: Experiment) -> ScaleJob:
    scale = present(experiment.scale)
    methods = {name: entry.model_dump() for name, entry in scale.methods.items()}
    return ScaleJob.of(scale, methods=methods, seed=experiment.seed)


# --- trainings ------------------------------------------------------------------------------------


def packing(layout: Trainings, mixture: str, recipe: str) -> PackingJob:
    experiment = layout.experiment
    entry = experiment.recipes[recipe]
    staged = stage_mixtures(entry, mixture)
    mixtures = [experiment.mixtures[name] for name in staged.values() or [mixture]]
    corpora = list(dict.fromkeys(corpus for mixture in mixtures for corpus in mixture))
    rows = {stage.name: stage.steps * entry.batch_size for stage in entry.stages or ()}
    return PackingJob.of(
        entry,
        rows=entry.steps * entry.batch_size,
        seed=experiment.seed,
        shares={corpus: [mixture.get(corpus, 0) for mixture in mixtures] for corpus in corpora},
        stages={name: rows[name] for name in staged},
    )


def heldout(length: str) -> HeldoutJob:
    return HeldoutJob(sequence_length=int(length))


def heldout_answers(experiment: Experiment, recipe: str) -> HeldoutJob:
    entry = experiment.recipes[recipe]
    # A loss per byte of answers is of whole ones: what training cuts is left out here.
    dropped = entry.drop_too_long or entry.cut_too_long
    return HeldoutJob(sequence_length=entry.sequence_length, drop_too_long=dropped)


def training(experiment: Experiment, recipe: str, seed: int) -> Settings:
    options = experiment.recipes[recipe].model_dump(include=set(TrainingOptions.model_fields))
    for stage in options["stages"] or ():
        stage["mixture"] = None  # decides the packed rows, not the training on them
    return Settings(**options, seed=seed)


def run_training(experiment: Experiment, run: str) -> Settings:
    entry = experiment.expanded[run]
    return training(experiment, present(entry.recipe), entry.seed)


def pretraining(experiment: Experiment, model: str) -> Settings:
    recipe = present(experiment.models[model].pretrain).recipe
    return training(experiment, recipe, experiment.seed)


def dropping(layout: Layout, run: str) -> DropJob:
    return DropJob(steps=layout.dropped(run))


# --- evaluation -----------------------------------------------------------------------------------


def asking(experiment: Experiment, run: str) -> Asking:
    chat, most_shots = experiment.runs[experiment.expanded[run].group].asking
    options = chat and ChatOptions(**chat.model_dump(include=set(ChatOptions.model_fields)))
    return Asking(chat=options, most_shots=most_shots)


def task(experiment: Experiment, task: str) -> TaskJob:
    entry = experiment.evaluation.multiple_choice.tasks[task]
    language = None if entry.harness else entry.language  # a shipped task has its own words
    hub = entry.data.hub if entry.data else None
    return TaskJob.of(entry, task=task, language=language, hub=hub)


def scoring(experiment: Experiment, run: str) -> ScoringJob:
    return ScoringJob.of(asking(experiment, run), experiment.evaluation.multiple_choice, run=run)


def prompts(experiment: Experiment, task: str) -> PromptJob:
    entry = asked_as_taught(experiment, experiment.evaluation.generation.tasks[task])
    places = {"pool": entry.pool.form, "test": entry.test.form}
    return models_of(PromptJob)[entry.kind].of(entry, task=task, seed=experiment.seed, **places)


def generation(layout: Layout, run: str) -> GenerationJob:
    section = layout.experiment.evaluation.generation
    limits = {section.tasks[task].limit for task in layout.generation_tasks(run)}
    # What the score table records as the limit: one number where all tasks share it.
    limit = next(iter(limits)) if len(limits) == 1 else None
    return GenerationJob.of(asking(layout.experiment, run), section, run=run, limit=limit)


def comet(layout: Layout, run: str) -> CometJob:
    return CometJob(run=run, models=layout.comet_models(run))


def efficiency(experiment: Experiment, run: str) -> EfficiencyJob:
    section = present(experiment.evaluation.efficiency)
    return EfficiencyJob.of(
        section,
        run=run,
        step=experiment.expanded[run].steps[-1],
        corpus=section.corpus,
        language=experiment.corpora[section.corpus].language,
        engine=experiment.evaluation.generation.engine,
    )


def adoption(experiment: Experiment, run: str) -> AdoptionJob:
    section = present(experiment.evaluation.adoption)
    return AdoptionJob.of(section, run=run, corpus=section.corpus)


def similarity(layout: Layout, group: str) -> EmbeddingSimilarityJob:
    experiment = layout.experiment
    return EmbeddingSimilarityJob.of(
        experiment.similarity,
        group=group,
        helper=experiment.runs[group].helper,
        last_step=max((run.steps[-1] for run in layout.with_new_rows(group)), default=0),
        seed=experiment.seed,
    )


def comparison(layout: Layout, group: str) -> ComparisonJob:
    steps = {step for name, step in layout.compared if name == group}
    experiment = layout.experiment
    section, seed = experiment.evaluation.significance, experiment.seed
    return ComparisonJob.of(section, group=group, steps=sorted(steps, key=str), seed=seed)


def record(experiment: Experiment) -> ExperimentJob:
    return ExperimentJob(**as_json(experiment))
