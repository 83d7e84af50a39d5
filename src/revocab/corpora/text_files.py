"""What a document of a plain text is: as an option says, or as the lines of the file do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from revocab.corpora.formats import TextDocuments, content_of, data_files, numbered_lines
from revocab.errors import RevocabError

#: What may end a sentence, in several scripts, and what may stand after it.
ENDS = tuple(".!?…:;。！？।؟۔։።")
CLOSING = "\"'”’»)]"
#: Lines that end so are sentences or paragraphs; of text that is wrapped, a line ends anywhere.
LEAST_ENDED = 0.5
MEANT = {
    "empty_lines": "empty lines separate documents",
    "lines": "each line is a document",
    "file": "each file is a document",
}


class Reading(NamedTuple):
    """How text files are read, and why, in words for people."""

    documents: TextDocuments
    why: str

    def __str__(self) -> str:
        return f"{MEANT[self.documents]} ({self.why})"


def reading_of(files: Sequence[Path], asked: TextDocuments) -> Reading | None:
    """Return how the text files among ``files`` and folders are read; None where there are none.

    Without an answer of the user's, a single file without an empty line is read line by line if its
    lines are sentences. Several files keep theirs together, each as a document or more. Raises
    :class:`RevocabError` for an answer about files that are no text.
    """
    known = [(file, content_of(file)) for path in files for file in data_files(path)]
    texts = [(file, content[1]) for file, content in known if content and content[0] == "text"]
    if not texts:
        if asked != "auto":
            names = ", ".join(path.name for path in files) or "no file"
            raise RevocabError(
                f"text_documents: received {asked!r}, which is for .txt files, and the source is"
                f" {names}; leave it out"
            )
        return None
    if asked != "auto":
        return Reading(asked, f"text_documents: {asked}")
    if len(texts) > 1:
        return Reading("empty_lines", f"{len(texts)} text files")
    return told_by(line for _, line in numbered_lines(*texts[0]))


def told_by(lines: Iterable[str]) -> Reading:
    """Return how the lines of one file are read; it ends at the first that is empty, between
    others.
    """
    number = ended = 0
    empty = False
    for line in lines:
        text = line.strip()
        if text and number and empty:
            return Reading("empty_lines", "it has some")
        empty = not text
        if text:
            number += 1
            ended += text.rstrip(CLOSING).endswith(ENDS)
    if number < 2:
        return Reading("empty_lines", "it is one line")
    of = f"{ended:,} of its {number:,} lines end as sentences do"
    if ended >= LEAST_ENDED * number:
        return Reading("lines", f"it has no empty line, and {of}")
    return Reading("empty_lines", f"it has none, and only {of}: one document")
