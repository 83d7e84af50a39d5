"""The text that a user brings, looked at before anything is done with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from revocab import wording
from revocab.closed import near
from revocab.corpora.formats import TextDocuments, check_length, reading_of
from revocab.corpora.source import Form, read_rows
from revocab.errors import RevocabError, all_of
from revocab.languages import codes_by_name

#: What separates the documents of a text file, where it has any.
EMPTY: TextDocuments = "empty_lines"


@dataclass(frozen=True)
class Text:
    """One language's text: an absolute path, UTF-8 bytes, documents."""

    language: str
    path: Path
    bytes: int
    documents: int
    #: A text file without an empty line, of which each line is a document.
    by_line: bool = False

    def documents_of(self) -> Iterator[str]:
        for row in read_rows(Form(), [self.path], documents="lines" if self.by_line else EMPTY):
            yield text_of(row, self.path)


def measure_texts(texts: Mapping[str, Path], flag: str) -> list[Text]:
    """Return what texts hold, by language.

    Raises :class:`RevocabError` with a line for each text that is missing, empty, no text, or a
    single line, for each name that is no language's code, and where two have the same text.
    """

    def looked_at(language: str, path: Path) -> Text:
        check_language(language, flag)
        return measure(language, path)

    return all_of((partial(looked_at, *text) for text in texts.items()), shared_text(texts.items()))


def overlaps(text: Mapping[str, Path], keep: Mapping[str, Path], where: str) -> list[str]:
    """Return a problem for each language or file of both; ``where`` is how texts are given."""
    twice = sorted(keep.keys() & text.keys())
    if twice:
        return [f"--keep {name}=…: is also a language of {where}; give each once" for name in twice]
    return shared_text([*text.items(), *keep.items()])


def shared_text(texts: Iterable[tuple[str, Path]]) -> list[str]:
    """Return a problem for each pair of languages that share files."""
    return [
        f"{first} ({language}) and {second} ({other}): contain the same text; give each language"
        " files of its own"
        for (language, first), (other, second) in combinations(texts, 2)
        if first.resolve().is_relative_to(second.resolve())
        or second.resolve().is_relative_to(first.resolve())
    ]


def check_language(language: str, flag: str) -> None:
    if re.fullmatch(wording.LANGUAGE, language):
        try:
            wording.known_language(language)
        except ValueError as error:
            raise RevocabError(f"{flag} {language}=…: {error}") from None
        return
    codes = codes_by_name()
    lower = language.lower()
    meant = lower if re.fullmatch(wording.LANGUAGE, lower) else codes.get(lower)
    hint = f"; write {flag} {meant}=FILE" if meant else near(language, codes.values())
    raise RevocabError(f"{flag} {language}=…: not a language code (ISO 639, such as it){hint}")


def measure(language: str, path: Path) -> Text:
    """Return the size of a text; raise :class:`RevocabError` for what cannot be trained on."""
    size = documents = lines = 0
    for row in read_rows(Form(), [path]):
        text = text_of(row, path)
        size += len(text.encode())
        documents += 1
        lines += text.count("\n") + 1
    if not size:
        raise RevocabError(f"{path}: no text in it; give a file or folder with text")
    by_line = documents == 1 and lines > 1 and reading_of([path], "auto") is not None
    if documents == 1 and not by_line:
        raise RevocabError(
            f"{path}: one document of {size:,} bytes in a single line or row, and a part of a text"
            " is held out; put an empty line between documents, or a line end after each"
        )
    return Text(language, path.absolute(), size, lines if by_line else documents, by_line)


def text_of(row: Mapping[str, Any], path: Path) -> str:
    """Return the text of a row; raise :class:`RevocabError` where there is none, or binary data."""
    text = row.get("text")
    if not isinstance(text, str):
        raise RevocabError(
            f"{path}: a row without text under 'text' (it has: {', '.join(sorted(row))}); rename"
            " the field"
        )
    check_length(len(text), str(path))
    if "\0" in text:
        raise RevocabError(f"{path}: holds NUL characters, so it is not text; give UTF-8 text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RevocabError(
            f"{path}: a lone surrogate at character {error.start} is not text; repair the source"
        ) from None
    return text
