"""Checks on recipes that keep the best checkpoint: something must tell which one that is."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.lineage import trainings
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
