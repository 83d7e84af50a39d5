"""Which language the runs of a group are adapted to."""

from __future__ import annotations

from revocab.report.annotations import Experiment, Results, Run
from revocab.training.recipe import ANSWERS


def adapted_language(results: Results, group: str) -> str | None:
    """Return the language whose share grows most from what a group's source model was pretrained on
    to what the group's first run on text sees.

    Where the source model is not pretrained in this experiment, it is the language with the largest
    share; of equals, the one that the mixture names first. None if no run is trained on text:
    tuning on answers adapts a model to no language.
    """
    experiment = results.experiment
    runs = (run for run in results.group(group, evaluated=False) if trained_on_text(results, run))
    run = next(runs, None)
    if run is None:
        return None
    pretraining = experiment.models[run.source].pretrain
    before = language_shares(experiment, pretraining.mixture) if pretraining else {}
    shares = seen_shares(experiment, run)
    return max(shares, key=lambda language: shares[language] - before.get(language, 0))


def trained_on_text(results: Results, run: Run) -> bool:
    if not run.trains or run.recipe is None:
        return False
    return results.experiment.recipes[run.recipe].loss != ANSWERS


def seen_shares(experiment: Experiment, run: Run) -> dict[str, float]:
    assert run.recipe is not None and run.mixture is not None  # trained
    stages = experiment.recipes[run.recipe].stages
    steps = {stage.name: stage.steps for stage in stages} if stages else {"all": 1}
    shares: dict[str, float] = {}
    for stage, taken in steps.items():
        mixture = run.stage_mixtures.get(stage, run.mixture)
        for language, share in language_shares(experiment, mixture).items():
            shares[language] = shares.get(language, 0) + share * taken / sum(steps.values())
    return shares


def language_shares(experiment: Experiment, mixture: str) -> dict[str, float]:
    parts = experiment.mixtures[mixture]
    by_size = [corpus for corpus, share in parts.items() if share == "size"]
    rest = 1 - sum(share for share in parts.values() if share != "size")
    shares: dict[str, float] = {}
    for corpus, share in parts.items():
        language = experiment.corpora[corpus].language
        # Sizes are unknown here: what the fixed shares leave is taken as split evenly.
        known = rest / len(by_size) if share == "size" else share
        shares[language] = shares.get(language, 0) + known
    return shares
