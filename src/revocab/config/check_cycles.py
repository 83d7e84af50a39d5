"""What is made of what: of corpora, tokenizers, models and runs, none may be made of itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from revocab.config.check_models import changed_models, named_models, own_answers
from revocab.config.lineage import parents
from revocab.config.schema import Experiment
from revocab.initialise.method import methods
from revocab.models.change import ModelReference

#: Kinds of things, and where and how a ring of things is told that has one of that kind; the first
#: that has. Ids hold no space, so that a kind and an id name a thing.
TOLD = {
    "corpus": (
        "corpora.{id}.answers: answered by what is trained on it ({ring}); take another model, or"
        " train on another corpus"
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
        parts[f"model {name}"] += [node(reference) for _, reference in change.references()]
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
    mixtures = [stage.mixture or mixture for stage in training.stages or ()] if training else []
    named = (mixtures or [mixture]) if training else []
    return [
        f"corpus {corpus}" for name in named for corpus in experiment.mixtures.get(name or "", ())
    ]


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
