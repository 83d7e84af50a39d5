"""Checks on models that are made of others: what they refer to, and that this ends."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.closed import RunStep
from revocab.config.check_runs import checkpoint_problems
from revocab.config.lineage import (
    first_cycle,
    method_of,
    method_runs,
    parents,
    run_ids,
    scored_as_they_are,
    tokenizer_after,
)
from revocab.config.schema import Experiment, RunGroup
from revocab.config.schema.models import ChangedModel
from revocab.errors import RevocabError
from revocab.models.change import ModelReference


def changed_models(experiment: Experiment) -> Iterator[tuple[str, str, ChangedModel]]:
    """Yield id, key and options of every model that is made of others."""
    for name, model in experiment.models.items():
        change = model.change()
        if change is not None:
            yield name, f"models.{name}.{change[0]}", change[1]


def model_references(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield the (key, id, kind of thing) that models made of others refer to, but for runs."""
    for _, key, given in changed_models(experiment):
        for option, one in given.references():
            if isinstance(one, str):
                yield f"{key}.{option}", one, "model"


def bodies(experiment: Experiment, model: str) -> list[str]:
    """Return a model, the one that it or the run behind it is made of, and so on to the last."""
    chain = [model]
    while chain[-1] in experiment.models:
        change = experiment.models[chain[-1]].change()
        body = _model_behind(experiment, change[1].model) if change else None
        if body is None or body in chain:
            break
        chain.append(body)
    return chain


def _model_behind(experiment: Experiment, reference: ModelReference) -> str | None:
    """Return a model, or the source model of a run; None for a run that there is not."""
    if isinstance(reference, str):
        return reference
    run, seen = reference.run, set()
    made = method_runs(experiment)
    while run in made and run not in seen:
        seen.add(run)
        group, name = made[run]
        start = group.methods[name].start
        if start is None:
            return group.source
        run = start.run
    return scored_as_they_are(experiment).get(run)


def check_models(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every model that builds on itself, or not fit for what it is made of."""
    yield from _cycles(experiment)
    known = run_ids(experiment)
    for name, key, given in changed_models(experiment):
        for option, one in given.references():
            if isinstance(one, RunStep):
                yield from checkpoint_problems(experiment, f"{key}.{option}", one, known)
        yield from (f"{key}.{one}" for one in given.problems(given.model))
        yield from _tokenizer_problems(experiment, name, given)
        yield from _block_problems(experiment, key, given)


def node(reference: ModelReference) -> str:
    """Return what stands for a model or a run among both (ids hold no space)."""
    return reference if isinstance(reference, str) else f"run {reference.run}"


def _cycles(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every ring with a changed model in it."""
    changed = {
        name: [node(one) for _, one in given.references()]
        for name, _, given in changed_models(experiment)
    }
    children = {
        **changed,
        **{f"run {run}": [model] for run, model in scored_as_they_are(experiment).items()},
        **{
            f"run {run}": [*read_by(group, name)]
            for run, (group, name) in method_runs(experiment).items()
        },
    }
    reported: set[str] = set()
    for name in changed:
        path = first_cycle(children, name)
        if path and not reported & {*path}:
            reported |= {*path}
            yield (
                f"models.{name}: made from itself ({' from '.join(path)}); make one of them from"
                " another model"
            )


def read_by(group: RunGroup, name: str) -> Iterator[str]:
    """Yield the models and runs that a run of a group reads."""
    entry, method = group.methods[name], method_of(group, name)
    yield from (node(named) for _, named in parents(entry))
    if entry.start is None:
        yield group.source
    helper = group.setting(name, "helper")
    if method.needs(entry) == "helper" and helper:
        yield helper


def _tokenizer_problems(experiment: Experiment, name: str, given: ChangedModel) -> Iterator[str]:
    own = experiment.models[name].tokenizer
    if isinstance(given.model, str):
        body, what = experiment.models.get(given.model), f"model {given.model!r}"
        tokenizer = body and body.tokenizer
    else:
        what = f"run {given.model.run!r}"
        tokenizer = tokenizer_after(experiment, given.model.run)
    if tokenizer not in (None, own):
        yield (
            f"models.{name}.tokenizer: {own!r}, but {what}, which it is made from, has"
            f" {tokenizer!r},"
            " and a change keeps the tokenizer; name that one, or give the model another vocabulary"
            " in a run"
        )


def _block_problems(experiment: Experiment, key: str, given: ChangedModel) -> Iterator[str]:
    body = _model_behind(experiment, given.model)
    try:
        blocks = _blocks(experiment, body) if body else None
    except RevocabError:
        return  # said of the model that cannot be made
    if blocks is not None:
        try:
            given.blocks_after(blocks)
        except RevocabError as error:
            yield from (f"{key}: {one}" for one in error.problems)


def _blocks(experiment: Experiment, model: str) -> int | None:
    """Return the number of a model's blocks; None where the file does not tell it."""
    *made, root = bodies(experiment, model)
    pretrain = experiment.models[root].pretrain if root in experiment.models else None
    if pretrain is None:
        return None
    blocks = pretrain.architecture.layers
    for one in reversed(made):
        change = experiment.models[one].change()
        blocks = change[1].blocks_after(blocks) if change else blocks
    return blocks
