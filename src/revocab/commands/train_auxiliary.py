"""Train fastText vectors for a target vocabulary, and derive those of source vocabularies."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Folder, Id
from revocab.command import Command, Nothing
from revocab.initialise.reading.fasttext import AuxiliaryJob
from revocab.models.hub_or_folder import tokenizer_field


class Inputs(Closed):
    target_tokenizer: Folder = tokenizer_field("tokenizer folder")
    source_tokenizers: list[Folder] = tokenizer_field(
        "tokenizer folders whose tokens get vectors by their n-grams", min_length=1
    )
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id")


def run(inputs: Inputs, job: AuxiliaryJob, machine: Nothing, out: Path) -> None:
    from revocab.initialise.reading.fasttext import train_auxiliary

    train_auxiliary(inputs.target_tokenizer, inputs.source_tokenizers, inputs.corpora, out, job)


COMMAND = Command(run)
