"""Substitute: take another tokenizer whole, from a folder or the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import model_validator

from revocab.closed import HubId, Revision
from revocab.hub import resolve
from revocab.tokenizer_building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)
from revocab.tokenizers.canonical import canonical_vocabulary
from revocab.tokenizers.load import load_tokenizer, tokenizer_style


class SubstituteOptions(ConstructionOptions):
    """Where the tokenizer comes from: exactly one of a folder and a Hub id."""

    folders: ClassVar[tuple[str, ...]] = ("path",)

    #: Folder or file.
    path: str | None = None
    #: Repository of the Hub.
    hub: HubId | None = None
    #: Commit, tag or branch of the repository.
    revision: Revision | None = None

    @model_validator(mode="after")
    def _one_place(self) -> SubstituteOptions:
        if (self.path is None) == (self.hub is None):
            raise ValueError("exactly one of path, hub must be given")
        if self.path is not None and self.revision is not None:
            raise ValueError("revision belongs to hub; a folder has none")
        return self


def build(inputs: BuildInputs, options: Any) -> Built:
    """Return the tokenizer as it is; raise :class:`RevocabError` if it cannot be used."""
    if options.path is not None:
        tokenizer = load_tokenizer(Path(options.path))
        origin = {"path": Path(options.path).name}
    else:
        origin = resolve(options.hub, options.revision, "model")
        tokenizer = load_tokenizer(options.hub, revision=origin["commit"])
    canonical_vocabulary(tokenizer)  # holes and double ids are errors here, not rows later
    return Built(tokenizer, {"alphabet": tokenizer_style(tokenizer), **origin})


CONSTRUCTION = Construction(
    name="substitute",
    summary="another tokenizer, whole",
    citation="de Vries & Nissim 2021, As Good as New (the vocabulary is replaced as a whole)",
    options=SubstituteOptions,
    build=build,
)
