"""Checks on trainings: their recipes, the corpora that they train on and hold out, and whether the
names, patterns and adapters of stages fit the models.

Only models pretrained here or stored in a folder are looked at; one on the Hub is not here yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from revocab.config.check_models import bodies, number_of_blocks
from revocab.config.lineage import holds_conversations, text_corpora, trainings
from revocab.config.schema import Experiment
from revocab.errors import RevocabError
from revocab.limits import ALL_CHECKPOINTS
from revocab.models.changes.blocks import ADDED_BLOCKS
from revocab.models.folder import ModelFolder
from revocab.models.parameters import parameter_names
from revocab.training.adapters.lora import LORA, lora_problems
from revocab.training.recipe import ALL, ANSWERS
from revocab.training.stage import Stage
from revocab.training.stages import MATRICES, PATTERNS


def check_trainings(experiment: Experiment) -> Iterator[str]:
    yield from recipe_problems(experiment)
    yield from corpus_problems(experiment)
    yield from best_problems(experiment)
    for name, model in experiment.models.items():
        recipe = experiment.recipes.get(model.pretrain.recipe) if model.pretrain else None
        if not (recipe and model.pretrain):
            continue
        unfit = {
            f"has keep: {recipe.keep}, which only runs can have": recipe.keep != ALL,
            "trains new_rows, but a stand-in has no source": recipe.trains_new_rows,
            "trains vocabulary adapters, but a stand-in has no source": recipe.adapter,
        }
        yield from (
            f"models.{name}.pretrain.recipe: {model.pretrain.recipe!r} {why}; name another recipe"
            for why, wrong in unfit.items()
            if wrong
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
        named = sorted(recipe.mixtures(mixture))
        corpora = [corpus for other in named for corpus in experiment.mixtures.get(other, ())]
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
        training = experiment.recipes.get(recipe)
        for named in training.mixtures(mixture) if training else ():
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


def check_parameters(experiment: Experiment) -> Iterator[str]:
    e = experiment
    trained = {(model.pretrain.recipe, name) for name, model in e.models.items() if model.pretrain}
    trained |= {(run.recipe, run.source) for run in e.expanded.values() if run.recipe and run.made}
    for recipe, model in sorted(trained):
        stages = e.recipes[recipe].stages if recipe in e.recipes else None
        names, width, expanded = parameters_of(e, model) if stages else ([], 0, False)
        for stage in stages or () if names else ():
            for problem in stage_problems(stage, names, width, expanded=expanded):
                yield f"recipes.{recipe}.stages.{stage.name}.{problem} (model {model!r})"


def parameters_of(experiment: Experiment, model: str) -> tuple[list[str], int, bool]:
    """Return the names of a model's parameters, its width, and whether block expansion made it.

    The list of names is empty if they are not known.
    """
    *changed, root = bodies(experiment, model)
    entry = experiment.models.get(root)
    try:
        if entry is not None and entry.pretrain:
            blocks = number_of_blocks(experiment, model)
            shape = entry.pretrain.architecture.model_copy(update={"layers": blocks})
            return parameter_names(shape), shape.hidden_size, len(changed) > 0
        if entry is not None and entry.path and not changed:
            folder = ModelFolder(Path(entry.path))
            expanded = ADDED_BLOCKS in folder.config
            return list(folder.tensors), folder.text_config["hidden_size"], expanded
    except (RevocabError, KeyError):
        pass  # reported for the model, or by the job that reads its folder
    return [], 0, False


def stage_problems(stage: Stage, names: list[str], width: int, *, expanded: bool) -> Iterator[str]:
    for key, parts in (("train", stage.train), ("groups", stage.groups)):
        for part in parts:
            if part == ADDED_BLOCKS and not expanded:
                yield f"{key}: {part!r}: block expansion did not make the model; train one it made"
            known = part in (LORA, ADDED_BLOCKS, *MATRICES)
            if not known and not any(re.search(PATTERNS.get(part, part), name) for name in names):
                yield f"{key}: {part!r} fits no parameter; name a group, or correct the pattern"
    if stage.lora:
        linear = [name.removesuffix(".weight") for name in names if name.endswith("_proj.weight")]
        yield from (f"lora.{problem}" for problem in lora_problems(stage.lora, linear))
        if stage.lora.rank > width:
            yield f"lora.rank: {stage.lora.rank} is more than the {width} dimensions; lower it"
