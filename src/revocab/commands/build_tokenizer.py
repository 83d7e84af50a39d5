"""Build a tokenizer folder: train a new one, or change or combine others (docs/tokenizers.md)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.chat.template import chat_template_field
from revocab.closed import Closed, Folder, Id
from revocab.command import Command, Nothing
from revocab.models.hub_or_folder import tokenizer_field
from revocab.tokenizer_building.construction import TokenizerJob


class Inputs(Closed):
    corpora: dict[Id, Folder] = Field(default_factory=dict, description="prepared corpora, by id")
    count_corpora: dict[Id, Folder] = Field(
        default_factory=dict,
        description="prepared corpora in which the base's tokens are counted, by id",
    )
    path: Path | None = tokenizer_field("tokenizer folder to use unchanged", default=None)
    base: Folder | None = tokenizer_field("tokenizer folder to start from", default=None)
    donor: Folder | None = tokenizer_field("tokenizer folder to take tokens from", default=None)
    chat: Folder | None = tokenizer_field(
        "tokenizer folder of an instruction-tuned model, for its chat tokens", default=None
    )
    template: Path | None = chat_template_field()


def run(inputs: Inputs, job: TokenizerJob, machine: Nothing, out: Path) -> str:
    from revocab.tokenizer_building.base_text import lines_sentence
    from revocab.tokenizer_building.build import build_from_folders

    mixtures = {"corpora": inputs.corpora, "count_corpora": inputs.count_corpora}
    others = ("path", "base", "donor", "chat", "template")
    named = {name: getattr(inputs, name) for name in others}
    made = build_from_folders(
        job,
        {name: folders for name, folders in mixtures.items() if folders},
        {name: folder for name, folder in named.items() if folder is not None},
        out,
    )
    lines = [lines_sentence(corpus, of) for corpus, of in made.get("lines", {}).items()]
    added = f", {made['added']:,} of them new" if "added" in made else ""
    return (
        f"{out}: {made['vocabulary_size']:,} tokens{added}\n{''.join(lines)}"
        f"next: revocab intersect --source OLD --target {out} says what two tokenizers share"
    )


COMMAND = Command(run, finds=("tokenizer_building/constructions",))
