"""Pack training text into shards of token rows, mixed by tokens, in training order."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.chat.template import chat_template_field
from revocab.closed import Closed, Id
from revocab.command import Command
from revocab.config.expand import stage_mixtures
from revocab.limits import Bytes
from revocab.models.hub_or_folder import tokenizer_field
from revocab.rule import Given, Ids, Plan, Rule, Step
from revocab.training.data.packing import PackingJob
from revocab.training.named_recipes import RowBudget
from revocab.training.recipe import ANSWERS


class Inputs(Closed):
    tokenizer: Path = tokenizer_field("tokenizer folder")
    corpora: dict[Id, Path] = Field(min_length=1, description="prepared corpora, by id")
    heldout: list[Path] = Field(
        default_factory=list,
        description="corpora whose held-out documents are excluded from every corpus",
    )
    chat_template: Path | None = chat_template_field()


class Machine(Closed):
    shard_bytes: Bytes | None = Field(
        default=None, description="maximum bytes of tokens in a file; default: 256 MB"
    )


def run(inputs: Inputs, job: PackingJob, machine: Machine, out: Path) -> str:
    from revocab.training.machine.startup import pretend_absent

    pretend_absent("torch", "datasets", "scipy")
    from revocab.training.data.packed_folder import pack_folder

    made = pack_folder(
        inputs.tokenizer,
        inputs.corpora,
        job,
        out,
        inputs.heldout,
        machine.shard_bytes,
        inputs.chat_template,
    )
    parts = ", ".join(
        f"{name} {count['rows']:,} rows ({count['share']:.3g} of them, {count['bytes']:,} bytes)"
        for name, count in made["corpora"].items()
    )
    return (
        f"{out}: {made['rows']:,} rows of {made['sequence_length']:,} tokens: {parts}\n"
        f"next: revocab pack_heldout --tokenizer {inputs.tokenizer} --corpora ID=FOLDER, then"
        f" revocab train --packed {out}"
    )


COMMAND = Command(run, shorthand=RowBudget)


def planned(plan: Plan, tokenizer: str, mixture: str, recipe: str) -> Step:
    experiment = plan.experiment
    entry = experiment.recipes[recipe]
    staged = stage_mixtures(entry, mixture)
    mixtures = [experiment.mixtures[name] for name in staged.values() or [mixture]]
    corpora = list(dict.fromkeys(corpus for mixture in mixtures for corpus in mixture))
    rows = {stage.name: stage.steps * entry.batch_size for stage in entry.stages or ()}
    job = PackingJob.of(
        entry,
        rows=entry.steps * entry.batch_size,
        seed=experiment.seed,
        shares={corpus: [mixture.get(corpus, 0) for mixture in mixtures] for corpus in corpora},
        stages={name: rows[name] for name in staged},
    )
    # What fine-tuning holds out does not make text be packed again.
    heldout = [
        artefact
        for corpus, artefact in plan.held_out.items()
        if experiment.corpora[corpus].holds_conversations == (entry.loss == ANSWERS)
    ]
    inputs: dict[str, Given] = {
        "tokenizer": plan.tokenizer(tokenizer),
        "corpora": plan.corpora(corpora),
        "heldout": heldout,
        "chat_template": plan.chat_template(entry.chat_template),
    }
    return Step(plan.paths.packed(tokenizer, mixture, recipe), job, inputs)


def ids(plan: Plan) -> list[Ids]:
    return [(tokenizer, *plan.packing(tokenizer, *rest)) for tokenizer, *rest in plan.trainings]


RULE = Rule(COMMAND, planned, ids, lasting=True)
