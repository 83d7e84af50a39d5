"""The options of a corpus, and the documents that they make of a source's rows: text, or
conversations and their text.

Tasks of copying are made after Tikhomirov and Chernyshev 2024, "Facilitating large language model
Russian adaptation with Learned Embedding Propagation": models are scored on them (section DaruCopy)
and calibrated on them (section Case study: Self-calibration), on texts that must differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from revocab.closed import Closed, Id, Job, Language, OneLine
from revocab.corpora.formats import TextDocuments
from revocab.corpora.read import CONVERSATION_KEYS
from revocab.corpora.scripts import outside
from revocab.corpora.source import Form
from revocab.corpora.translations import Translations, pairs
from revocab.errors import RevocabError
from revocab.languages import fill
from revocab.limits import OFTEN, TEXT_BYTES, BatchSize, Bytes, Count
from revocab.training.chat.messages import ASSISTANT, Message, MessageReader, Role

Unit = Literal["sentence", "paragraph", "article"]

#: Fewest and most words of a unit. The longest articles and their copies take some 8,000 tokens,
#: the rows of LEP's self-calibration.
WORDS: dict[str, tuple[int, int]] = {
    "sentence": (5, 50),
    "paragraph": (40, 200),
    "article": (40, 2000),
}
#: What is asked, in the words of a language: the instruction, and what text and copy are called.
INSTRUCTION, TEXT, COPY = "<<copy>>", "<<text>>", "<<copied>>"

#: The space between sentences: after a stop, or a stop and a closing mark, and before a letter.
SENTENCE_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'»”’)])) +(?=[\"'«“‘(]?[^\W\d_])")
#: A stop after one of these, or after an initial, ends no sentence.
ABBREVIATION = re.compile(
    r"(?:^|[\s('’])(?:[^\W\d_]|sigg?|dott|prof|avv|ing|on|artt?|pp|cfr|es|fig|mrs?|ms|dr|st|vs)\.$",
    re.IGNORECASE,
)


class Condition(Closed):
    """What the value of one field must be; a row without a value stays."""

    min: float | None = Field(default=None, description="at least this number")
    max: float | None = Field(default=None, description="at most this number")
    one_of: tuple[StrictBool | StrictInt | StrictStr, ...] | None = Field(
        default=None, min_length=1, description="one of these values"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Condition:
        if self.min is None and self.max is None and self.one_of is None:
            raise ValueError("says nothing; give min, max or one_of")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}, so no row is used")
        return self

    def holds(self, value: Any) -> bool:
        return (
            (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.one_of is None or value in self.one_of)
        )


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


# Copying ------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line. A stop after an abbreviation ends none."""
    merged: list[str] = []
    for part in SENTENCE_END.split(" ".join(text.split())):
        if merged and ABBREVIATION.search(merged[-1]):
            merged[-1] += f" {part}"
        else:
            merged.append(part)
    return [sentence for sentence in merged if sentence]


def units(text: str, unit: Unit) -> Iterator[tuple[int, str]]:
    """Yield the sentences or paragraphs that are neither too short nor too long, each as one line,
    with its number among all of the text; or the whole, a line for each of its paragraphs.
    """
    low, high = WORDS[unit]
    if unit == "article":
        lines = [line for line in (" ".join(part.split()) for part in text.split("\n")) if line]
        if low <= len(" ".join(lines).split()) <= high:
            yield 0, "\n".join(lines)
        return
    parts = sentences(text) if unit == "sentence" else text.split("\n")
    for number, part in enumerate(parts):
        words = part.split()
        if low <= len(words) <= high:
            yield number, " ".join(words)


def copying_task(text: str, language: str) -> list[Message]:
    """Return a conversation: a text to copy, and the copy.

    It asks as generation tasks of kind ``copying`` do through a chat template. Raises
    :class:`RevocabError` for a language that lacks the words.
    """
    instruction, label, copy_label = fill((INSTRUCTION, TEXT, COPY), language)
    question = f"{instruction}\n{label}: {text}\n{copy_label}:"
    return [{"role": "user", "content": question}, {"role": ASSISTANT, "content": text}]


# Documents ----------------------------------------------------------------------------------------


@dataclass
class RowFilter:
    """The conditions on the rows of a source, and how many rows they leave out."""

    conditions: Mapping[str, Condition]
    skipped: int = field(default=0, init=False)
    #: Fields that a row had, and those of the first row.
    seen: set[str] = field(default_factory=set, init=False)
    fields: list[str] = field(default_factory=list, init=False)

    def keeps(self, row: Any, where: str) -> bool:
        """Return whether all conditions hold of a row; raise :class:`RevocabError` for a value
        that has no order.
        """
        if not self.conditions or not isinstance(row, dict):
            return True
        self.fields = self.fields or sorted(map(str, row))
        self.seen |= {*row} & {*self.conditions}
        for name, condition in self.conditions.items():
            value = row.get(name)
            if value is None:
                continue
            compares = condition.min is not None or condition.max is not None
            if compares and not isinstance(value, int | float):
                raise RevocabError(
                    f"{where}, field {name!r}: a {type(value).__name__}, expected a number for min"
                    f" and max (config: keep.{name}); for text give one_of"
                )
            if not condition.holds(value):
                self.skipped += 1
                return False
        return True

    def check(self, label: str) -> None:
        """Raise :class:`RevocabError` for fields that no row has had: they are misspelt."""
        unknown = sorted({*self.conditions} - self.seen)
        if unknown and self.fields:
            raise RevocabError(
                f"{label}: no row has a field {name!r}; fields found: {', '.join(self.fields)}"
                f" (config: keep.{name})"
                for name in unknown
            )


class Document(NamedTuple):
    """What is kept of a row, or of a part or direction of it, and where the row stands."""

    where: str
    id: str
    content: dict[str, Any]
    #: What decides whether it is held out, if not its own content.
    held_with: str | None = None


def field_of(row: Any, key: str, where: str, option: str) -> Any:
    """Return a field of a row; raise :class:`RevocabError` naming row and option without one."""
    if not isinstance(row, dict):
        raise RevocabError(f"{where}: a {type(row).__name__}, expected an object")
    if key not in row:
        fields = ", ".join(sorted(map(str, row))) or "none"
        raise RevocabError(
            f"{where}: no field {key!r}; fields found: {fields}; name the right one with "
            f"--{option.replace('_', '-')} (config: {option})"
        )
    return row[key]


def _document(
    row: Any, where: str, options: CorpusOptions, messages: MessageReader
) -> dict[str, Any]:
    """Return what is kept of a row: ``text``, and ``messages`` of a conversation.

    The text is empty where nothing is to be kept. Raises :class:`RevocabError` naming ``where``.
    """
    if options.messages_field is not None:
        value = field_of(row, options.messages_field, where, "messages_field")
        return _conversation(messages.read(value, f"{where}, field {options.messages_field!r}"))
    text = field_of(row, options.text_field, where, "text_field")
    if text is not None and not isinstance(text, str):
        raise RevocabError(
            f"{where}: field {options.text_field!r} is a {type(text).__name__}, expected text"
        )
    text = text or ""
    if options.escaped_line_ends:
        text = text.replace("\\n", "\n")
    return {"text": outside(tuple(options.scripts)).sub("", text) if options.scripts else text}


def documents_of(
    rows: Iterable[Any], label: str, options: CorpusJob, wanted: RowFilter
) -> Iterator[Document]:
    """Yield every document of the rows that are kept; see :func:`_document`.

    With ``copying`` a row is as many documents as it has units, with ``translation`` as many as
    there are directions. Raises :class:`RevocabError`, after the last row, for roles of messages
    that nobody knows and for fields that no row has.
    """
    if options.translation is not None:
        yield from _translations(rows, label, options.translation, options.corpus)
        return
    messages = MessageReader(options.message_roles)
    for number, row in enumerate(rows, 1):
        where = f"{label}, row {number}"
        if not wanted.keeps(row, where):
            continue
        document = _document(row, where, options, messages)
        identifier = _own_id(row, number, options.corpus)
        if options.copying is None:
            yield Document(where, identifier, document)
            continue
        for part, text in units(document["text"], options.copying):
            conversation = copying_task(text, options.language)
            yield Document(where, f"{identifier}.{part}", _conversation(conversation))
    messages.check()
    wanted.check(label)


def _translations(
    rows: Iterable[Any], label: str, options: Translations, corpus: str
) -> Iterator[Document]:
    layouts = options.layouts
    for pair in pairs(rows, label, options):
        identifier = _own_id(pair.row, pair.number, corpus)
        together = json.dumps(pair.texts, ensure_ascii=False)
        for (source, target), layout in layouts.items():
            texts = (pair.texts[source], pair.texts[target])
            messages: list[Message] = []
            if all(texts):
                answer: Message = {"role": ASSISTANT, "content": texts[1]}
                messages = [*layout.messages([], texts, turns=True), answer]
            own, where = f"{identifier}.{source}-{target}", f"{label}, row {pair.number}"
            yield Document(where, own, _conversation(messages), together)


def _own_id(row: dict[str, Any], number: int, corpus: str) -> str:
    own = row.get("id")
    return str(own) if isinstance(own, str | int) and str(own) else f"{corpus}-{number}"


def _conversation(messages: list[Message]) -> dict[str, Any]:
    text = "\n\n".join(message["content"] for message in messages)
    return {"text": text, "messages": messages}
