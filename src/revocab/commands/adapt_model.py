"""Train a run of an experiment."""

from __future__ import annotations

from revocab.commands.train_model import COMMAND, training
from revocab.rule import Plan, Rule, Step


def planned(plan: Plan, run: str) -> Step:
    of, out = plan.runs[run], plan.paths.run(run)
    assert of.mixture is not None and of.recipe is not None  # it is trained
    ids = (of.target, of.mixture, of.recipe)
    adapters = plan.experiment.recipes[of.recipe].adapter
    source = plan.origin(of) if adapters else None
    return training(plan, out, plan.checkpoint(of, 0), ids, of.seed, source)


RULE = Rule(COMMAND, planned, lambda plan: plan.trained, lasting=True)
