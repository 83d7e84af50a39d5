"""Checks on recipes that keep the best checkpoint: something must tell which one that is."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.schema import Experiment


def check_best(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every training that keeps its best checkpoint, and holds out nothing of
    what it trains on.
    """
    for key, mixture, name in trainings(experiment):
        recipe = experiment.recipes.get(name)
        if recipe is None or not recipe.keep_best:
            continue
        named = {stage.mixture or mixture for stage in recipe.stages or ()} or {mixture}
        corpora = [one for other in sorted(named) for one in experiment.mixtures.get(other, ())]
        if corpora and not {*corpora} & {*experiment.evaluation.heldout}:
            yield (
                f"{key}.recipe: {name!r} keeps the best checkpoint, and evaluation.heldout names no"
                f" corpus that is trained on ({', '.join(dict.fromkeys(corpora))}); name one there,"
                " or set keep_best: false"
            )


def trainings(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield key, mixture and recipe of everything that is trained."""
    for name, model in experiment.models.items():
        if model.pretrain:
            yield f"models.{name}.pretrain", model.pretrain.mixture, model.pretrain.recipe
    for group_id, group in experiment.runs.items():
        for name in group.methods:
            mixture, recipe = (group.setting(name, key) for key in ("mixture", "recipe"))
            if mixture and recipe:
                yield f"runs.{group_id}.methods.{name}", mixture, recipe
