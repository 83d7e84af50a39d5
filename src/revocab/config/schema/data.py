"""Where text comes from, and the tokenizers made of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from revocab.config.schema.base import Closed, Id, Line, exactly_one


class HubPart(Closed):
    """A data set on the Hugging Face Hub, pinned."""

    id: Line
    name: Line | None = None
    split: Line = "train"
    revision: Line | None = None
    #: Our field name to the data set's field name, where they differ.
    fields: dict[str, Line] = Field(default_factory=dict)


class Source(Closed):
    """Where data comes from: the demo's world, a local file, aligned text files, or the Hub."""

    world: Id | None = None
    path: Line | None = None
    lines: dict[Id, Line] | None = None
    hub: HubPart | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        return exactly_one(self, ("world", "path", "lines", "hub"))


class World(Closed):
    """Size of the demo's generated bilingual world."""

    seed: int = 17
    documents: int = Field(ge=10)
    parallel: int = Field(ge=20)
    questions: int = Field(ge=20)
    items: int = Field(ge=4)


class Corpus(Closed):
    """Documents of one language. Bytes are UTF-8 bytes of text."""

    language: Id
    source: Source
    text_field: Line = "text"
    limit_documents: int | None = Field(default=None, ge=1)
    limit_bytes: int | None = Field(default=None, ge=1)
    #: About this much text is set aside, by document hash, for held-out loss.
    heldout_bytes: int = Field(default=0, ge=0)


class TokenizerTraining(Closed):
    """A BPE tokenizer trained here. Shares are shares of training bytes."""

    corpora: dict[Id, float]
    alphabet: Literal["byte_fallback", "byte_level"]
    vocabulary_size: int = Field(ge=300)
    limit_bytes: int | None = Field(default=None, ge=1)


class Tokenizer(Closed):
    """A tokenizer: from the Hub, from a folder, or trained here."""

    hub: Line | None = None
    revision: Line | None = None
    path: Line | None = None
    train: TokenizerTraining | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Tokenizer:
        return exactly_one(self, ("hub", "path", "train"))
