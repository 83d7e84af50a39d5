"""From the rows of a source to the documents of a corpus: text, or conversations and their text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from revocab.chat.messages import Message, MessageReader, text_of
from revocab.corpora.copies import copying_task, units
from revocab.corpora.row_filter import RowFilter
from revocab.corpora.scripts import in_scripts
from revocab.corpora.translations import Translations, pairs, translation_task
from revocab.errors import RevocabError

if TYPE_CHECKING:
    from revocab.corpora.options import CorpusJob, CorpusOptions


class Document(NamedTuple):
    """What is kept of a row, or of a part or direction of it, and where the row stands."""

    where: str
    id: str
    content: dict[str, Any]
    #: What decides whether it is held out, if not its own content.
    held_with: str | None = None


def _value(row: Any, key: str, where: str, option: str) -> Any:
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
        value = _value(row, options.messages_field, where, "messages_field")
        return _conversation(messages.read(value, f"{where}, field {options.messages_field!r}"))
    text = _value(row, options.text_field, where, "text_field")
    if text is not None and not isinstance(text, str):
        raise RevocabError(
            f"{where}: field {options.text_field!r} is a {type(text).__name__}, expected text"
        )
    text = text or ""
    if options.escaped_line_ends:
        text = text.replace("\\n", "\n")
    return {"text": in_scripts(text, options.scripts) if options.scripts else text}


def documents_of(
    rows: Iterable[Any], label: str, options: CorpusJob, kept: RowFilter
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
        if not kept.keeps(row, where):
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
    kept.check(label)


def _translations(
    rows: Iterable[Any], label: str, options: Translations, corpus: str
) -> Iterator[Document]:
    asked = [*zip(options.directions, options.layouts, strict=True)]
    for pair in pairs(rows, label, options):
        identifier = _own_id(pair.row, pair.number, corpus)
        together = json.dumps(pair.texts, ensure_ascii=False)
        for (source, target), layout in asked:
            texts = (pair.texts[source], pair.texts[target])
            messages = translation_task(texts, layout) if all(texts) else []
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
