"""What is kept of a source: the options of a corpus."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, Job, Language, OneLine
from revocab.corpora.copies import Unit
from revocab.corpora.documents import Condition
from revocab.corpora.formats import TextDocuments
from revocab.corpora.read import CONVERSATION_KEYS
from revocab.corpora.scripts import outside
from revocab.corpora.source import Form
from revocab.corpora.translations import Translations
from revocab.limits import OFTEN, TEXT_BYTES, BatchSize, Bytes, Count
from revocab.training.chat.messages import Role


class NearDuplicates(Closed):
    """When two documents count as the same: by the share of their word n-grams that both have."""

    threshold: float = Field(
        default=0.8, gt=0, lt=1, description="least Jaccard similarity, as signatures estimate it"
    )
    words: BatchSize = Field(default=5, description="words of an n-gram")
    permutations: Annotated[int, Field(ge=16, le=1024), OFTEN] = Field(
        default=128, description="values of a signature; its error is 1 / root of it"
    )


class CorpusOptions(Closed):
    """What to keep of a source. Bytes are UTF-8 bytes of text; limits count kept documents."""

    language: Language = Field(description="ISO 639-1 code, such as it")
    text_field: OneLine = Field(default="text", description="field of a row that contains the text")
    text_documents: TextDocuments = Field(
        default="auto",
        exclude_if=lambda value: value == "auto",
        description="what a document of a .txt file is: what empty_lines separate, each of its"
        " lines, or the whole file; auto tells by its lines, and says how",
    )
    escaped_line_ends: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="the source writes line ends as a backslash and an n, as MADLAD-400 does; "
        "undo that",
    )
    scripts: tuple[OneLine, ...] = Field(
        default=(),
        exclude_if=lambda names: not names,
        description="leave out letters of other scripts, and emoji; Unicode's names, such as Latin",
    )
    messages_field: OneLine | None = Field(
        default=None,
        description="field of a row that contains the messages of a conversation, each with role "
        "and content; default: rows are text",
    )
    message_roles: dict[OneLine, Role] = Field(
        default_factory=dict,
        exclude_if=lambda names: not names,
        description="whose the messages of a role are, beside the usual names of roles, such as "
        "teacher=assistant",
    )
    keep: dict[OneLine, Condition] = Field(
        default_factory=dict,
        exclude_if=lambda conditions: not conditions,
        description="use only rows whose fields are as said, such as {score: {min: 8}}; a row "
        "without the field stays",
    )
    copying: Unit | None = Field(
        default=None,
        description="makes conversations of text: each asks for one sentence or paragraph of it, or"
        " for all of it, and the answer is the same, word for word; not with messages_field",
    )
    #: Left out of what is written where there is none, as before there was a choice.
    translation: Translations | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="makes conversations of parallel text: each asks for a translation, and the "
        "answer is the other side",
    )
    limit_documents: Count | None = Field(
        default=None, description="use only the first N documents"
    )
    limit_bytes: Bytes | None = Field(
        default=None, description="use only the first N bytes of text"
    )
    heldout_bytes: Annotated[int, Field(ge=0), TEXT_BYTES] = Field(
        default=0, description="approximate amount of text to hold out, chosen by document hash"
    )
    near_duplicates: NearDuplicates | None = Field(
        default=None, description="leave out documents that nearly repeat one before (MinHash)"
    )

    @model_validator(mode="after")
    def _one_content(self) -> CorpusOptions:
        contents = [key for key in CONVERSATION_KEYS if getattr(self, key) is not None]
        if len(contents) > 1:
            raise ValueError(f"{' and '.join(contents)}: a row makes one of them; give one")
        outside(self.scripts)  # says which names are none
        for name in ("escaped_line_ends", "scripts"):
            if getattr(self, name) and (self.messages_field or self.translation):
                raise ValueError(
                    f"{name} is for rows of text; leave it out, or messages_field and translation"
                )
        if self.translation is None:
            return self
        if self.language not in self.translation.languages:
            raise ValueError(
                f"language: {self.language!r} is none of the languages of translation"
                f" ({', '.join(self.translation.languages)}); name one of them"
            )
        if self.keep:
            raise ValueError("keep is not for parallel text; translation.top chooses its pairs")
        if self.near_duplicates is not None and self.translation.both_directions:
            raise ValueError(
                "near_duplicates would take one direction of a pair for a copy of the other; leave"
                " near_duplicates or both_directions out"
            )
        return self

    @property
    def holds_conversations(self) -> bool:
        return any(getattr(self, key) is not None for key in CONVERSATION_KEYS)


class CorpusJob(CorpusOptions, Job):
    """One corpus to prepare."""

    corpus: Id = Field(description="id of the corpus")
    source: Form = Field(default=Form(), description="form of the files, or a Hub data set")
