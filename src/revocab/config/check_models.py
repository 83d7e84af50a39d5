"""Checks on models made of another, on corpora answered by a model, on lengths, and on cycles."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

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
        own = experiment.models[name].tokenizer
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
