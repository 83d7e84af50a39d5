"""Measure tokenizers on corpora: tokens per word, words split, unknown and byte tokens."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, Folder, Id
from revocab.command import Command, Nothing
from revocab.fertility.measure import FertilityJob
from revocab.models.hub_or_folder import tokenizer_field


class Inputs(Closed):
    tokenizers: dict[Id, Folder] = tokenizer_field("tokenizer folders, by id", min_length=1)
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id")
    parallel_files: list[Path] = Field(
        default_factory=list, description="files with the same text in several languages"
    )


def run(inputs: Inputs, job: FertilityJob, machine: Nothing, out: Path) -> str:
    from revocab.fertility.floor import floor_sentence
    from revocab.fertility.measure import fertility_of_folders

    rows, floors = fertility_of_folders(
        inputs.tokenizers, inputs.corpora, out, job, inputs.parallel_files
    )
    measured = "; ".join(
        f"{row['tokenizer']} on {row['corpus']} {row['fertility']:.3f}" for row in rows
    )
    keys = ("tokenizer", "corpus", "tokens_per_word", "floor", "joined_floor")
    said = (floor_sentence(*(row[key] for key in keys)) for row in floors)
    return (
        f"{out}/fertility.csv: tokens per word: {measured}\n"
        f"{''.join(f'{sentence}{chr(10)}' for sentence in said if sentence)}"
        "next: revocab intersect --source OLD --target NEW says what two tokenizers share"
    )


COMMAND = Command(run)
