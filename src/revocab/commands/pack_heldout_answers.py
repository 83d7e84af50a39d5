"""Make windows of held-out text and conversations, for recipes that learn answers alone."""

from __future__ import annotations

from revocab.commands.pack_heldout import COMMAND
from revocab.rule import Given, Ids, Plan, Rule, Step
from revocab.training.data.heldout import HeldoutJob
from revocab.training.recipe import ANSWERS


def planned(plan: Plan, tokenizer: str, recipe: str) -> Step:
    entry = plan.experiment.recipes[recipe]
    inputs: dict[str, Given] = {
        "tokenizer": plan.tokenizer(tokenizer),
        "corpora": plan.corpora(plan.experiment.evaluation.heldout, "heldout"),
        "chat_template": plan.chat_template(entry.chat_template),
    }
    # A loss per byte of answers is of whole ones: what training cuts is left out here.
    dropped = entry.drop_too_long or entry.cut_too_long
    job = HeldoutJob(sequence_length=entry.sequence_length, drop_too_long=dropped)
    return Step(plan.paths.heldout_answers(tokenizer, recipe), job, inputs)


def ids(plan: Plan) -> list[Ids]:
    recipes = plan.experiment.recipes
    return [
        (tokenizer, plan.packing(tokenizer, mixture, recipe)[1])
        for tokenizer, mixture, recipe in plan.trainings
        if recipes[recipe].loss == ANSWERS
    ]


RULE = Rule(COMMAND, planned, ids, lasting=True)
