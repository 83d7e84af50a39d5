"""Pretrain a stand-in: a small model that a demo has in place of a real one."""

from __future__ import annotations

from revocab.commands.train_model import COMMAND, training
from revocab.rule import Plan, Rule, Step


def planned(plan: Plan, model: str) -> Step:
    entry, out = plan.experiment.models[model], plan.paths.model(model)
    assert entry.pretrain is not None  # or there would be no such job
    ids = (entry.tokenizer, entry.pretrain.mixture, entry.pretrain.recipe)
    untrained = plan.folder(f"{out}/untrained")
    return training(plan, out, untrained, ids, plan.experiment.seed)


RULE = Rule(COMMAND, planned, lambda plan: plan.stand_ins, lasting=True)
