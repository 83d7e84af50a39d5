"""Pack training text into shards of token rows, mixed by tokens, in training order."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.chat.template import chat_template_field
from revocab.closed import Closed, Folder, Id
from revocab.command import Command
from revocab.limits import Bytes
from revocab.models.hub_or_folder import tokenizer_field
from revocab.training.data.packing import PackingJob
from revocab.training.named_recipes import RowBudget


class Inputs(Closed):
    tokenizer: Folder = tokenizer_field("tokenizer folder")
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id")
    heldout: list[Folder] = Field(
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
