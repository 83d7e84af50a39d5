"""Cut held-out text into windows of tokens, document by document."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.chat.template import chat_template_field
from revocab.closed import Closed, Folder, Id
from revocab.command import Command, Nothing
from revocab.models.hub_or_folder import tokenizer_field
from revocab.training.data.heldout import HeldoutJob
from revocab.training.named_recipes import NamedRecipe


class Inputs(Closed):
    tokenizer: Folder = tokenizer_field("tokenizer folder")
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id")
    chat_template: Path | None = chat_template_field()


def run(inputs: Inputs, job: HeldoutJob, machine: Nothing, out: Path) -> None:
    from revocab.training.machine.startup import pretend_absent

    pretend_absent("torch", "datasets", "scipy")
    from revocab.training.data.heldout import pack_heldout_folder

    pack_heldout_folder(inputs.tokenizer, inputs.corpora, job, out, inputs.chat_template)


COMMAND = Command(run, shorthand=NamedRecipe)
