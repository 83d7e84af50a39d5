"""Cut held-out text into windows of tokens, document by document."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.chat.template import chat_template_field
from revocab.closed import Closed, Id
from revocab.command import Command, Nothing
from revocab.models.hub_or_folder import tokenizer_field
from revocab.rule import Given, Ids, Plan, Rule, Step
from revocab.training.data.heldout import HeldoutJob
from revocab.training.named_recipes import NamedRecipe
from revocab.training.recipe import ANSWERS


class Inputs(Closed):
    tokenizer: Path = tokenizer_field("tokenizer folder")
    corpora: dict[Id, Path] = Field(min_length=1, description="prepared corpora, by id")
    chat_template: Path | None = chat_template_field()


def run(inputs: Inputs, job: HeldoutJob, machine: Nothing, out: Path) -> None:
    from revocab.training.machine.startup import pretend_absent

    pretend_absent("torch", "datasets", "scipy")
    from revocab.training.data.heldout import pack_heldout_folder

    pack_heldout_folder(inputs.tokenizer, inputs.corpora, job, out, inputs.chat_template)


COMMAND = Command(run, shorthand=NamedRecipe)


def planned(plan: Plan, tokenizer: str, length: str) -> Step:
    inputs: dict[str, Given] = {
        "tokenizer": plan.tokenizer(tokenizer),
        "corpora": plan.corpora(plan.heldout_corpora, "heldout"),
    }
    job = HeldoutJob(sequence_length=int(length))
    return Step(plan.paths.heldout(tokenizer, length), job, inputs)


def ids(plan: Plan) -> list[Ids]:
    """Return those of trainings on text, of models that are only measured, and of the tokenizers in
    whose windows tables count tokens.
    """
    recipes = plan.experiment.recipes
    read = [(run.target, str(plan.heldout_length(run))) for run in plan.measured]
    for tokenizer, _, recipe in plan.trainings:
        if recipes[recipe].loss != ANSWERS:
            read.append((tokenizer, str(recipes[recipe].sequence_length)))
    lengths = sorted({length for _, length in read})
    counted = [
        (tokenizer, length)
        for tokenizer in plan.experiment.tokenizers
        for length in lengths
        if plan.is_shown(plan.paths.heldout(tokenizer, length))
    ]
    return [*read, *counted]


RULE = Rule(COMMAND, planned, ids, lasting=True)
