"""Checks on models: how they are made and trained, and that nothing is made from itself.

Only models pretrained here or stored in a folder are looked at; one on the Hub is not here yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import SimpleNamespace

from revocab.closed import RunStep
from revocab.corpora.answers.options import judges
from revocab.errors import RevocabError, refused
from revocab.experiment.check_ids import references
from revocab.experiment.check_runs import checkpoint_problems
from revocab.experiment.expand import (
    holds_conversations,
    parents,
    text_corpora,
    tokenizer_of,
    trainings,
)
from revocab.experiment.schema import Experiment
from revocab.experiment.schema.data import OwnAnswers
from revocab.initialise.method import methods
from revocab.limits import ALL_CHECKPOINTS
from revocab.models.change import ModelReference
from revocab.models.changes.blocks import ADDED_BLOCKS
from revocab.models.folder import ModelFolder
from revocab.models.parameters import config_keys, weight_shapes
from revocab.training.lora import LORA, lora_problems
from revocab.training.recipe import ALL, ANSWERS
from revocab.training.stages import MATRICES, PATTERNS, Stage


def bodies(experiment: Experiment, model: str) -> list[str]:
    chain = [model]
    while chain[-1] in experiment.models:
        change = experiment.models[chain[-1]].change()
        body = _model_behind(experiment, change[1].model) if change else None
        if body is None or body in chain:
            break
        chain.append(body)
    return chain


def _model_behind(experiment: Experiment, reference: ModelReference) -> str | None:
    if isinstance(reference, str):
        return reference
    run, seen = experiment.expanded.get(reference.run), set[str]()
    while run is not None and run.start is not None and run.id not in seen:
        seen.add(run.id)
        run = experiment.expanded.get(run.start[0])
    return run.source if run and run.start is None else None


def check_models(experiment: Experiment) -> Iterator[str]:
    helpers = {name for name, model in experiment.models.items() if model.vocabulary_only}
    for key, name, what in references(experiment) if helpers else ():
        if what == "model" and name in helpers and not key.endswith(".helper"):
            yield (
                f"{key}: model {name!r} is vocabulary_only, so it can only be a helper: it has"
                " no blocks between embedding and head; name another, or fetch all of it"
            )
    for name, model in experiment.models.items():
        if (changed := model.change()) is None:
            continue
        key, change, own = f"models.{name}.{changed[0]}", changed[1], model.tokenizer
        if isinstance(change.model, RunStep):
            yield from checkpoint_problems(experiment, f"{key}.model", change.model)
            run = experiment.expanded.get(change.model.run)
            what, tokenizer = f"run {change.model.run!r}", run.target if run else None
        else:
            what, tokenizer = f"model {change.model!r}", tokenizer_of(experiment, change.model)
        if tokenizer not in (None, own):
            yield (
                f"models.{name}.tokenizer: {own!r}, but it is made from {what}, which has"
                f" {tokenizer!r}, and a change keeps the tokenizer; name {tokenizer!r}, or give the"
                " model another vocabulary in a run"
            )
        body = _model_behind(experiment, change.model)
        try:
            blocks = number_of_blocks(experiment, body) if body else None
        except RevocabError:
            continue  # reported for the model that cannot be made
        if blocks is not None:
            yield from (f"{key}: {problem}" for problem in refused(change.blocks_after, blocks))


def number_of_blocks(experiment: Experiment, model: str) -> int | None:
    """Return the number of a model's blocks; None if the file does not say."""
    *made, root = bodies(experiment, model)
    pretrain = experiment.models[root].pretrain if root in experiment.models else None
    if pretrain is None:
        return None
    blocks = pretrain.architecture.layers
    for changed in reversed(made):
        change = experiment.models[changed].change()
        blocks = change[1].blocks_after(blocks) if change else blocks
    return blocks


def check_lengths(experiment: Experiment) -> Iterator[str]:
    e, written = experiment, experiment.evaluation
    for name, model in e.models.items():
        if model.pretrain is None:
            continue
        adapted = {key for key, group in e.runs.items() if bodies(e, group.source)[-1] == name}
        trained = {run.recipe for run in e.expanded.values() if run.group in adapted}
        lengths = {
            f"recipes.{recipe}.sequence_length": e.recipes[recipe].sequence_length
            for recipe in sorted({model.pretrain.recipe, *filter(None, trained)} & {*e.recipes})
        }
        if adapted and written.generation.tasks:
            lengths["evaluation.generation.context_length"] = written.generation.context_length
        if adapted and written.efficiency:
            lengths["evaluation.efficiency.new_tokens"] = written.efficiency.new_tokens
        if adapted and written.adoption:
            lengths["evaluation.adoption.written_tokens"] = written.adoption.written_tokens
        allowed = model.pretrain.context_length
        yield from (
            f"models.{name}.pretrain.context_length: {allowed} tokens, but {key} is {length}; raise"
            " the first or lower the second"
            for key, length in lengths.items()
            if length > allowed
        )


def own_answers(experiment: Experiment) -> Iterator[tuple[str, str, OwnAnswers]]:
    for name, corpus in experiment.corpora.items():
        if corpus.answers is not None:
            yield name, f"corpora.{name}.answers", corpus.answers


def named_models(answers: OwnAnswers) -> Iterator[tuple[str, ModelReference]]:
    yield "model", answers.model
    if answers.judge_model is not None:
        yield "judge_model", answers.judge_model


def check_answers(experiment: Experiment) -> Iterator[str]:
    for name, key, answers in own_answers(experiment):
        if experiment.corpora[name].messages_field is None:
            yield (
                f"{key}: only conversations can be answered, and corpora.{name} holds text; give"
                " it a messages_field"
            )
        for option, reference in named_models(answers):
            if isinstance(reference, RunStep):
                yield from checkpoint_problems(experiment, f"{key}.{option}", reference)
        needs = answers.judge is not None and judges()[answers.judge.kind].needs_model
        if needs == (answers.judge_model is None):
            kind = answers.judge.kind if answers.judge else "none"
            yield f"{key}.judge_model: judge {kind!r} " + (
                "needs a model; name one" if needs else "uses no model; remove it"
            )


# --- trainings ------------------------------------------------------------------------------------


def check_trainings(experiment: Experiment) -> Iterator[str]:
    yield from recipe_problems(experiment)
    yield from corpus_problems(experiment)
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
            if (getattr(recipe, key) or 0) > recipe.steps:
                yield (
                    f"recipes.{name}.{key}: {getattr(recipe, key)} is more than the {recipe.steps}"
                    f" steps; choose at most {recipe.steps}"
                )
        lengths = {"": (recipe.warmup_steps, recipe.steps)}
        for stage in recipe.stages or ():
            lengths[f"stages.{stage.name}."] = (stage.warmup_steps, stage.steps)
        yield from (
            f"recipes.{name}.{part}warmup_steps: {warmup} must be below {steps}"
            for part, (warmup, steps) in lengths.items()
            if warmup >= steps
        )
    for key, mixture, name in trainings(experiment):
        keeping = experiment.recipes.get(name)
        if not (keeping and keeping.keep_best):
            continue
        corpora = [
            corpus
            for other in sorted(keeping.mixtures(mixture))
            for corpus in experiment.mixtures.get(other, ())
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
        answers = experiment.recipes[recipe].loss == ANSWERS
        for corpus in experiment.mixtures[mixture]:
            conversations = holds_conversations(experiment, corpus)
            if corpus not in experiment.corpora or answers == conversations:
                continue
            yield f"mixtures.{mixture}: corpus {corpus!r} holds " + (
                f"text, but recipe {recipe!r} trains on answers; give corpora.{corpus} a"
                " messages_field, copying or translation, or use another mixture"
                if answers
                else f"conversations, but recipe {recipe!r} trains on every token of text; set"
                " loss: answers in the recipe, or use another mixture"
            )
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
            keys = SimpleNamespace(model_type=shape.family, **config_keys(shape, vocabulary_size=1))
            return [*weight_shapes(keys)], shape.hidden_size, len(changed) > 0
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


# --- no corpus, tokenizer, model or run may be made from itself ----------------------------------

#: What is said of a circle that holds a thing of this kind; the first kind that it holds decides.
#: Ids hold no space, so a kind and an id name a thing.
CIRCLES = {
    "corpus": (
        "corpora.{id}.answers: answered by a model that is trained on it ({ring}); name another"
        " model, or train on another corpus"
    ),
    "model": "models.{id}: made from itself ({ring}); make one of them from another model",
    "tokenizer": (
        "tokenizers.{id}: built from itself ({ring}); give one of them another base or donor"
    ),
    "run": "runs: {id} builds on itself ({ring}); give one of them another start or donor",
}


def check_cycles(experiment: Experiment) -> Iterator[str]:
    parts = made_of(experiment)
    while True:
        try:
            TopologicalSorter(parts).prepare()
            return
        except CycleError as error:
            ring = error.args[1][:0:-1]
        kind = next(kind for kind in CIRCLES if any(thing.startswith(kind) for thing in ring))
        # Of the circle, what the file names first.
        first = min((thing for thing in ring if thing.startswith(kind)), key=[*parts].index)
        at = ring.index(first)
        names = [thing.removeprefix(f"{kind} ") for thing in [*ring[at:], *ring[:at], first]]
        yield CIRCLES[kind].format(id=names[0], ring=" from ".join(names))
        parts = {thing: parts[thing] for thing in parts if thing not in ring}


def node(reference: ModelReference) -> str:
    return f"model {reference}" if isinstance(reference, str) else f"run {reference.run}"


def made_of(experiment: Experiment) -> dict[str, list[str]]:
    """Return what each thing is made of, things by kind and id."""
    e = experiment

    def texts(mixture: str | None, recipe: str | None) -> list[str]:
        training = e.recipes.get(recipe or "")
        named = training.mixtures(mixture or "") if training else []
        return [f"corpus {corpus}" for name in named for corpus in e.mixtures.get(name, ())]

    parts = {
        f"corpus {name}": [node(model) for _, model in named_models(answers)]
        for name, _, answers in own_answers(e)
    }
    for name, tokenizer in e.tokenizers.items():
        options = tokenizer.construction()[1]
        mixtures = [mixture for _, mixture in options.named(options.mixtures)]
        others = [f"tokenizer {other}" for _, other in options.named(options.tokenizers)]
        corpora = [f"corpus {corpus}" for mixture in mixtures for corpus in mixture]
        parts[f"tokenizer {name}"] = [*corpora, *others]
    for name, model in e.models.items():
        pretrain, change = model.pretrain, model.change()
        trained = texts(pretrain.mixture, pretrain.recipe) if pretrain else []
        body = [node(change[1].model)] if change else []
        parts[f"model {name}"] = [f"tokenizer {model.tokenizer}", *trained, *body]
    for run in e.expanded.values():
        entry = e.runs[run.group].methods[run.name] if run.made else None
        read = [] if entry and entry.start else [f"model {run.source}"]
        if entry:
            read += [node(named) for _, named in parents(entry)]
            read += [f"model {run.helper}"] * bool(run.helper)
            read += [f"tokenizer {run.target}"] * (not methods()[run.method].keeps_vocabulary)
            read += texts(run.mixture, run.recipe)
        parts[f"run {run.id}"] = read
    return parts
