"""Checks on models that are made of others: what they refer to, and that this ends."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.lineage import first_cycle
from revocab.config.schema import Experiment
from revocab.config.schema.models import ChangedModel
from revocab.errors import RevocabError


def changed_models(experiment: Experiment) -> Iterator[tuple[str, str, ChangedModel]]:
    """Yield id, key and options of every model that is made of others."""
    for name, model in experiment.models.items():
        change = model.change()
        if change is not None:
            yield name, f"models.{name}.{change[0]}", change[1]


def model_references(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield the (key, id, kind of thing) that models made of others refer to."""
    for _, key, given in changed_models(experiment):
        yield from ((f"{key}.{option}", other, "model") for option, other in given.references())


def bodies(experiment: Experiment, model: str) -> list[str]:
    """Return a model, the one that it is made of, and so on to one that is not made of others."""
    chain = [model]
    while chain[-1] in experiment.models:
        change = experiment.models[chain[-1]].change()
        if change is None or change[1].model in chain:
            break
        chain.append(change[1].model)
    return chain


def check_models(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every model that is made of itself, or not fit for what it is made of."""
    made_of = {
        name: [other for _, other in given.references()]
        for name, _, given in changed_models(experiment)
    }
    reported: set[str] = set()
    for name in made_of:
        path = first_cycle(made_of, name)
        if path and not reported & {*path}:
            reported |= {*path}
            yield (
                f"models.{name}: made of itself ({' of '.join(path)}); let one of them be made of"
                " another model"
            )
    for name, key, given in changed_models(experiment):
        yield from (f"{key}.{one}" for one in given.problems(given.model))
        yield from _tokenizer_problems(experiment, name, given)
        yield from _block_problems(experiment, key, given)


def _tokenizer_problems(experiment: Experiment, name: str, given: ChangedModel) -> Iterator[str]:
    own, body = experiment.models[name].tokenizer, experiment.models.get(given.model)
    if body is not None and body.tokenizer != own:
        yield (
            f"models.{name}.tokenizer: {own!r}, but model {given.model!r}, which it is made of, has"
            f" {body.tokenizer!r}, and a change keeps the tokenizer; name that one, or give the"
            " model another vocabulary in a run"
        )


def _block_problems(experiment: Experiment, key: str, given: ChangedModel) -> Iterator[str]:
    try:
        blocks = _blocks(experiment, given.model)
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
        blocks = experiment.models[one].change()[1].blocks_after(blocks)
    return blocks
