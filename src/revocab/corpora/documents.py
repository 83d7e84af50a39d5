"""From the rows of a source to the documents of a corpus: text, or conversations and their text.

Conditions on fields of the rows, such as a score of their quality, say which rows are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from revocab.closed import Closed
from revocab.corpora.copies import copying_task, units
from revocab.corpora.scripts import outside
from revocab.corpora.translations import Translations, pairs
from revocab.errors import RevocabError
from revocab.training.chat.messages import ASSISTANT, Message, MessageReader, text_of

if TYPE_CHECKING:
    from revocab.corpora.options import CorpusJob, CorpusOptions


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

    @property
    def compares(self) -> bool:
        return self.min is not None or self.max is not None

    def holds(self, value: Any) -> bool:
        return (
            (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.one_of is None or value in self.one_of)
        )


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
            if condition.compares and not isinstance(value, int | float):
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
    """Return a field of a row; say which row has none, and which option names the field."""
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
    layouts = dict(zip(options.directions, options.layouts, strict=True))
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
    return {"text": text_of(messages), "messages": messages}


def identity(document: dict[str, Any]) -> str:
    messages = document.get("messages")
    return document["text"] if messages is None else json.dumps(messages, ensure_ascii=False)
