"""Pack training text into shards of token rows, mixed by tokens, in training order."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.chat.template import chat_template_field
from revocab.closed import Closed, Id
from revocab.command import Command
from revocab.models.hub_or_folder import tokenizer_field
from revocab.training.data.packing import PackingJob
from revocab.training.named_recipes import NamedRecipe


class Inputs(Closed):
    """Tokenizer and text."""

    tokenizer: Path = tokenizer_field("tokenizer folder")
    corpora: dict[Id, Path] = Field(min_length=1, description="prepared corpora, by id")
    heldout: list[Path] = Field(
        default_factory=list,
        description="corpora whose held-out documents are excluded from every corpus",
    )
    chat_template: Path | None = chat_template_field()


class Machine(Closed):
    """How rows lie on disk."""

    shard_bytes: int | None = Field(
        default=None, ge=1, description="maximum bytes of tokens in a file; default: 256 MB"
    )


def run(inputs: Inputs, job: PackingJob, machine: Machine, out: Path) -> None:
    """Write the rows' folder."""
    from revocab.training.machine.startup import pretend_absent

    pretend_absent("torch", "datasets", "scipy")
    from revocab.training.data.packed_folder import pack_folder

    pack_folder(
        inputs.tokenizer,
        inputs.corpora,
        job,
        out,
        inputs.heldout,
        machine.shard_bytes,
        inputs.chat_template,
    )


COMMAND = Command(run, job=PackingJob, inputs=Inputs, machine=Machine, shorthand=NamedRecipe)
