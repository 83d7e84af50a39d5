"""Checks on trainings: their recipes, and the corpora that they train on and hold out."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.lineage import holds_conversations, text_corpora, trainings
from revocab.config.schema import Experiment
from revocab.limits import ALL_CHECKPOINTS
from revocab.training.recipe import ALL, ANSWERS


def check_trainings(experiment: Experiment) -> Iterator[str]:
    yield from recipe_problems(experiment)
    yield from corpus_problems(experiment)
    yield from best_problems(experiment)
    for name, model in experiment.models.items():
        recipe = experiment.recipes.get(model.pretrain.recipe) if model.pretrain else None
        if model.pretrain and recipe and recipe.keep != ALL:
            yield (
                f"models.{name}.pretrain.recipe: {model.pretrain.recipe!r} has keep:"
                f" {recipe.keep}, which only runs can have; give the stand-in a recipe without it"
            )


def recipe_problems(experiment: Experiment) -> Iterator[str]:
    for name, recipe in experiment.recipes.items():
        for key in ("checkpoint_every", "heldout_every"):
            every = getattr(recipe, key)
            if every is not None and every > recipe.steps:
                yield (
                    f"recipes.{name}.{key}: {every} is more than the {recipe.steps} steps; choose "
                    f"at most {recipe.steps}"
                )
        if recipe.warmup_steps >= recipe.steps:
            yield f"recipes.{name}.warmup_steps: {recipe.warmup_steps} must be below {recipe.steps}"
        for stage in recipe.stages or ():
            if stage.warmup_steps >= stage.steps:
                yield (
                    f"recipes.{name}.stages.{stage.name}.warmup_steps: {stage.warmup_steps} must "
                    f"be below {stage.steps}"
                )


def best_problems(experiment: Experiment) -> Iterator[str]:
    for key, mixture, name in trainings(experiment):
        recipe = experiment.recipes.get(name)
        if recipe is None or not recipe.keep_best:
            continue
        named = {stage.mixture or mixture for stage in recipe.stages or ()} or {mixture}
        corpora = [
            corpus for other in sorted(named) for corpus in experiment.mixtures.get(other, ())
        ]
        if corpora and not {*corpora} & {*experiment.evaluation.heldout}:
            yield (
                f"{key}.recipe: {name!r} keeps the best checkpoint, but evaluation.heldout names no"
                f" corpus that is trained on ({', '.join(dict.fromkeys(corpora))}); name one there,"
                " or set keep_best: false"
            )


def corpus_problems(experiment: Experiment) -> Iterator[str]:
    trained = list(dict.fromkeys(trained_on(experiment)))
    for mixture, recipe in trained:
        yield from _mixture_problems(experiment, mixture, recipe)
    heldout = experiment.evaluation.heldout
    text = [recipe for _, recipe in trained if experiment.recipes[recipe].loss != ANSWERS]
    if text and heldout and not text_corpora(experiment, heldout):
        yield (
            f"evaluation.heldout: names only conversations, but recipe {text[0]!r} trains on"
            " text; name a corpus of text too"
        )


def trained_on(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield mixture and recipe of all that is trained, once for each mixture of its stages."""
    for _, mixture, recipe in trainings(experiment):
        if recipe not in experiment.recipes:
            continue
        stages = experiment.recipes[recipe].stages or ()
        for named in dict.fromkeys([stage.mixture or mixture for stage in stages] or [mixture]):
            if named in experiment.mixtures:
                yield named, recipe


def _mixture_problems(experiment: Experiment, mixture: str, recipe: str) -> Iterator[str]:
    answers = experiment.recipes[recipe].loss == ANSWERS
    for corpus in experiment.mixtures[mixture]:
        if corpus not in experiment.corpora or answers == holds_conversations(experiment, corpus):
            continue
        if answers:
            yield (
                f"mixtures.{mixture}: corpus {corpus!r} holds text, but recipe {recipe!r} trains"
                f" on answers; give corpora.{corpus} a messages_field, copying or translation, or"
                " use another mixture"
            )
        else:
            yield (
                f"mixtures.{mixture}: corpus {corpus!r} holds conversations, but recipe {recipe!r} "
                f"trains on every token of text; set loss: answers in the recipe, or use another "
                "mixture"
            )


def check_number_of_checkpoints(experiment: Experiment) -> Iterator[str]:
    runs = experiment.expanded.values()
    total = sum(len(run.steps) for run in runs)
    if total > ALL_CHECKPOINTS:
        largest = max(runs, key=lambda run: len(run.steps))
        yield (
            f"recipes.{largest.recipe}.checkpoint_every: gives {len(largest.steps) - 1:,}"
            f" checkpoints, and the runs have {total:,} in all; an experiment may have at most"
            f" {ALL_CHECKPOINTS:,}; raise checkpoint_every"
        )
