"""Where text comes from, and the tokenizers made of it."""

from __future__ import annotations

from pydantic import Field, create_model, model_validator

from revocab.config.schema.base import Closed, Id, Line, exactly_one
from revocab.vocabulary.construction import ConstructionOptions, constructions


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


class TokenizerPlace(Closed):
    """A place to take a tokenizer from, the short form of ``substitute``; or one construction."""

    hub: Line | None = None
    revision: Line | None = None
    path: Line | None = None

    @model_validator(mode="after")
    def _one_way(self) -> TokenizerPlace:
        return exactly_one(self, ("hub", "path", *constructions()))

    def construction(self) -> tuple[str, ConstructionOptions]:
        """Return the name of the construction and its options."""
        for name in constructions():
            options = getattr(self, name)
            if options is not None:
                return name, options
        substitute = constructions()["substitute"]
        return "substitute", substitute.options(
            hub=self.hub, revision=self.revision, path=self.path
        )


#: One key per construction in the registry, so that a new one needs no line here.
Tokenizer = create_model(
    "Tokenizer",
    __base__=TokenizerPlace,
    __doc__="A tokenizer: from the Hub, from a folder, or built here by one construction.",
    **{name: (one.options | None, None) for name, one in constructions().items()},
)
