"""Substitute: take another tokenizer whole, from a folder or the Hub."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from pydantic import Field

from revocab.closed import HubId, Revision
from revocab.hub import resolve
from revocab.vocabulary.building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_style


class SubstituteOptions(ConstructionOptions):
    """Where the tokenizer comes from: exactly one of a folder and a Hub id."""

    folders: ClassVar[tuple[str, ...]] = ("path",)

    hub: HubId | None = Field(default=None, description="repository of the Hub")
    revision: Revision | None = Field(
        default=None, description="commit, tag or branch of the repository"
    )

    def conflict(self, inputs: Collection[str]) -> str | None:
        if ("path" in inputs) == (self.hub is not None):
            return "exactly one of path, hub must be given"
        if "path" in inputs and self.revision is not None:
            return "revision belongs to hub; a folder has none"
        return None


def build(inputs: BuildInputs, options: Any) -> Built:
    """Return the tokenizer as it is; raise :class:`RevocabError` if it cannot be used."""
    if path := inputs.places.get("path"):
        tokenizer = load_tokenizer(path)
        origin = {"path": path.name}
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
