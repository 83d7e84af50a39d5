"""Train a run of an experiment."""

from __future__ import annotations

from revocab.commands.train_model import COMMAND, training
from revocab.rule import Plan, Rule, Step


def planned(plan: Plan, run: str) -> Step:
    entry, out = plan.runs[run], plan.paths.run(run)
    assert entry.mixture is not None and entry.recipe is not None  # it is trained
    ids = (entry.target, entry.mixture, entry.recipe)
    recipe = plan.experiment.recipes[entry.recipe]
    source = plan.origin(entry) if recipe.reads_source else None
    return training(plan, out, plan.checkpoint(entry, 0), ids, entry.seed, source)


RULE = Rule(COMMAND, planned, lambda plan: plan.trained, lasting=True)
