"""Packed rows, pretraining of stand-ins, continual training of runs."""

from __future__ import annotations

from revocab.closed import Job
from revocab.config.corpora import holds_conversations, text_corpora
from revocab.config.expand import stage_mixtures
from revocab.plan.evaluation import chat_template
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Given, Step
from revocab.training.data.heldout import HeldoutJob
from revocab.training.data.packing import PackingJob
from revocab.training.outputs.loss_tables import MEASURED
from revocab.training.recipe import ANSWERS, PackingOptions, TrainingOptions
from revocab.training.settings import Settings


def pack_tokens(plan: Plan, tokenizer: str, mixture: str, recipe: str) -> Step:
    """Return the job that packs the rows of a whole recipe.

    Its folder is called after the first mixture and recipe of the experiment that give these rows.
    """
    experiment = plan.experiment
    given = experiment.recipes[recipe]
    staged = stage_mixtures(given, mixture)
    mixtures = [experiment.mixtures[name] for name in staged.values() or [mixture]]
    corpora = list(dict.fromkeys(corpus for one in mixtures for corpus in one))
    rows = {stage.name: stage.steps * given.batch_size for stage in given.stages or ()}
    job = PackingJob(
        **given.model_dump(include=set(PackingOptions.model_fields)),
        rows=given.steps * given.batch_size,
        seed=experiment.seed,
        shares={corpus: [one.get(corpus, 0) for one in mixtures] for corpus in corpora},
        stages={name: rows[name] for name in staged},
    )
    # What fine-tuning holds out does not make text be packed again.
    heldout = {
        name: one
        for name, one in plan.held_out.items()
        if holds_conversations(experiment, name) == (given.loss == ANSWERS)
    }
    inputs: dict[str, Given] = {
        "tokenizer": plan.tokenizer(tokenizer),
        "corpora": plan.corpora(corpora),
        "heldout": list(heldout.values()),
        "chat_template": chat_template(given.chat_template),
    }
    return Step("pack_tokens", plan.paths.packed(tokenizer, mixture, recipe), job, inputs)


def packing(plan: Plan, tokenizer: str, mixture: str, recipe: str) -> tuple[str, str]:
    """Return the mixture and recipe under whose names a training's rows are packed.

    Rows are packed once for all trainings that have the same: under the first mixture of these, and
    the first recipe of the experiment that gives these rows.
    """

    def texts(mixture: str, recipe: str) -> dict[str, str]:
        """Return what decides the rows."""
        ids = {"tokenizer": tokenizer, "mixture": mixture, "recipe": recipe}
        return plan.step("pack_tokens", **ids).texts()

    wanted = texts(mixture, recipe)
    trained = [(m, r) for other, m, r in plan.trainings if other == tokenizer]
    same = {mixture, *(m for m, r in trained if texts(m, r) == wanted)}
    first = next(one for one in plan.experiment.mixtures if one in same)
    return first, next(one for one in plan.experiment.recipes if texts(first, one) == wanted)


def pack_heldout(plan: Plan, tokenizer: str, length: str) -> Step:
    """Return the job that cuts the held-out text of a tokenizer into windows."""
    texts = text_corpora(plan.experiment, plan.experiment.evaluation.heldout)
    corpora = plan.corpora(texts, "heldout")
    inputs: dict[str, Given] = {"tokenizer": plan.tokenizer(tokenizer), "corpora": corpora}
    job = HeldoutJob(sequence_length=int(length))
    return Step("pack_heldout", plan.paths.heldout(tokenizer, length), job, inputs)


def pack_heldout_answers(plan: Plan, tokenizer: str, recipe: str) -> Step:
    """Return the job that makes windows of held-out text and conversations, as a recipe that learns
    answers has them.
    """
    given = plan.experiment.recipes[recipe]
    inputs: dict[str, Given] = {
        "tokenizer": plan.tokenizer(tokenizer),
        "corpora": plan.corpora(plan.experiment.evaluation.heldout, "heldout"),
        "chat_template": chat_template(given.chat_template),
    }
    job = HeldoutJob(sequence_length=given.sequence_length, drop_too_long=given.drop_too_long)
    return Step("pack_heldout", plan.paths.heldout_answers(tokenizer, recipe), job, inputs)


def measure_heldout(plan: Plan, run: str) -> Step:
    """Return the job that measures the held-out loss of a run which no training measures."""
    given, out = plan.runs[run], f"{plan.paths.run(run)}/{MEASURED}"
    length = str(plan.heldout_length(given))
    inputs: dict[str, Given] = {
        "models": plan.checkpoints(given, given.select()),
        "heldout": plan.folder(plan.paths.heldout(given.target, length)),
    }
    return Step("measure_heldout", out, Job(), inputs)


def adapt_model(plan: Plan, run: str) -> Step:
    """Return the job that trains a run."""
    given, out = plan.runs[run], plan.paths.run(run)
    start = plan.folder(f"{out}/init")
    assert given.mixture is not None and given.recipe is not None  # it is trained
    recipe = plan.experiment.recipes[given.recipe]
    source = plan.origin(given) if recipe.adapter else None
    return _training(
        plan, out, start, given.target, given.mixture, given.recipe, given.seed, source
    )


def pretrain_stand_in(plan: Plan, model: str) -> Step:
    """Return the job that pretrains a stand-in."""
    given, out = plan.experiment.models[model], plan.paths.model(model)
    start = plan.folder(f"{out}/untrained")
    assert given.pretrain is not None  # a stand-in
    mixture, recipe = given.pretrain.mixture, given.pretrain.recipe
    return _training(plan, out, start, given.tokenizer, mixture, recipe, plan.experiment.seed)


def _training(
    plan: Plan,
    out: str,
    model: Artefact,
    tokenizer: str,
    mixture: str,
    recipe: str,
    seed: int,
    source: Artefact | None = None,
) -> Step:
    """Return the job that trains a model by a recipe; see :class:`.train.TrainingRun`."""
    given = plan.experiment.recipes[recipe]
    options = given.model_dump(include=set(TrainingOptions.model_fields))
    for stage in options["stages"] or ():
        stage["mixture"] = None  # decides the packed rows, not the training on them
    rows = packing(plan, tokenizer, mixture, recipe)
    inputs: dict[str, Given] = {
        "model": model,
        "packed": plan.folder(plan.paths.packed(tokenizer, *rows)),
        "heldout": plan.folder(
            plan.paths.heldout_answers(tokenizer, rows[1])
            if given.loss == ANSWERS
            else plan.paths.heldout(tokenizer, str(given.sequence_length))
        ),
        "source": source,
    }
    return Step("train_model", out, Settings(**options, seed=seed), inputs)
