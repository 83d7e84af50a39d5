"""Checks on models made of another, on corpora answered by a model, on lengths, and on cycles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from revocab.answering.judge import judges
from revocab.closed import RunStep
from revocab.config.check_ids import references
from revocab.config.check_runs import checkpoint_problems
from revocab.config.lineage import parents, tokenizer_of
from revocab.config.schema import Experiment
from revocab.config.schema.data import OwnAnswers
from revocab.config.schema.models import ChangedModel
from revocab.errors import RevocabError, refused
from revocab.initialise.method import methods
from revocab.models.change import ModelReference


def changed_models(experiment: Experiment) -> Iterator[tuple[str, str, ChangedModel]]:
    for name, model in experiment.models.items():
        change = model.change()
        if change is not None:
            yield name, f"models.{name}.{change[0]}", change[1]


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
    for name, key, change in changed_models(experiment):
        if isinstance(change.model, RunStep):
            yield from checkpoint_problems(experiment, f"{key}.model", change.model)
        yield from _tokenizer_problems(experiment, name, change)
        yield from _block_problems(experiment, key, change)


def _tokenizer_problems(experiment: Experiment, name: str, change: ChangedModel) -> Iterator[str]:
    own = experiment.models[name].tokenizer
    if isinstance(change.model, str):
        what, tokenizer = f"model {change.model!r}", tokenizer_of(experiment, change.model)
    else:
        run = experiment.expanded.get(change.model.run)
        what, tokenizer = f"run {change.model.run!r}", run.target if run else None
    if tokenizer not in (None, own):
        yield (
            f"models.{name}.tokenizer: {own!r}, but it is made from {what}, which has"
            f" {tokenizer!r}, and a change keeps the tokenizer; name {tokenizer!r}, or give the"
            " model another vocabulary in a run"
        )


def _block_problems(experiment: Experiment, key: str, change: ChangedModel) -> Iterator[str]:
    body = _model_behind(experiment, change.model)
    try:
        blocks = number_of_blocks(experiment, body) if body else None
    except RevocabError:
        return  # reported for the model that cannot be made
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
    e = experiment
    for name, model in e.models.items():
        if model.pretrain is None:
            continue
        adapted = {key for key, group in e.runs.items() if bodies(e, group.source)[-1] == name}
        trained = {run.recipe for run in e.expanded.values() if run.group in adapted}
        recipes = {model.pretrain.recipe, *trained}
        lengths = {
            f"recipes.{recipe}.sequence_length": e.recipes[recipe].sequence_length
            for recipe in sorted(filter(None, recipes))
            if recipe in e.recipes
        }
        if adapted and e.evaluation.generation.tasks:
            generated = e.evaluation.generation.context_length
            lengths["evaluation.generation.context_length"] = generated
        if adapted and e.evaluation.efficiency:
            lengths["evaluation.efficiency.new_tokens"] = e.evaluation.efficiency.new_tokens
        allowed = model.pretrain.context_length
        for key, length in lengths.items():
            if length > allowed:
                yield (
                    f"models.{name}.pretrain.context_length: {allowed} tokens, but {key} is"
                    f" {length}; raise the first or lower the second"
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


# --- no corpus, tokenizer, model or run may be made from itself ----------------------------------

#: The message about a cycle that contains a thing of this kind; the first kind that it contains
#: decides. Ids hold no space, so a kind and an id name a thing.
TOLD = {
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
    children = made_of(experiment)
    reported: set[str] = set()
    for kind, message in TOLD.items():
        for thing in children:
            what, _, identifier = thing.partition(" ")
            path = first_cycle(children, thing) if what == kind else []
            if path and not reported & {*path}:
                reported |= {*path}
                names = [thing.removeprefix(f"{kind} ") for thing in path]
                yield message.format(id=identifier, ring=" from ".join(names))


def node(reference: ModelReference) -> str:
    return f"model {reference}" if isinstance(reference, str) else f"run {reference.run}"


def made_of(experiment: Experiment) -> dict[str, list[str]]:
    e = experiment
    parts = {
        f"corpus {name}": [node(model) for _, model in named_models(answers)]
        for name, _, answers in own_answers(e)
    }
    for name, tokenizer in e.tokenizers.items():
        options = tokenizer.construction()[1]
        mixtures = [mixture for _, mixture in options.named(options.mixtures)]
        parts[f"tokenizer {name}"] = [
            f"corpus {corpus}" for mixture in mixtures for corpus in mixture
        ]
        others = options.named(options.tokenizers)
        parts[f"tokenizer {name}"] += [f"tokenizer {other}" for _, other in others]
    for name, model in e.models.items():
        parts[f"model {name}"] = [f"tokenizer {model.tokenizer}"]
        if model.pretrain:
            parts[f"model {name}"] += _trained_on(e, model.pretrain.mixture, model.pretrain.recipe)
    for name, _, change in changed_models(e):
        parts[f"model {name}"].append(node(change.model))
    for run in e.expanded.values():
        read = parts[f"run {run.id}"] = [f"model {run.source}"]
        if not run.made:
            continue
        entry = e.runs[run.group].methods[run.name]
        if entry.start:
            read.clear()
        read += [node(named) for _, named in parents(entry)]
        read += [f"model {run.helper}"] * bool(run.helper)
        if not methods()[run.method].keeps_vocabulary:
            read += [f"tokenizer {run.target}"]
        read += _trained_on(e, run.mixture, run.recipe)
    return parts


def _trained_on(experiment: Experiment, mixture: str | None, recipe: str | None) -> list[str]:
    training = experiment.recipes.get(recipe or "")
    named = training.mixtures(mixture or "") if training else []
    return [f"corpus {corpus}" for name in named for corpus in experiment.mixtures.get(name, ())]


def first_cycle(children: Mapping[str, Collection[str]], name: str) -> list[str]:
    waiting = [[name]]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        for other in children.get(path[-1], ()):
            if other == name:
                return [*path, other]
            if other not in seen:
                seen.add(other)
                waiting.append([*path, other])
    return []
