"""Rows from files: JSONL, parquet, plain text and TSV, compressed or not, one file or a folder."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError
from revocab.io import parse_json, read_lines, sha256
from revocab.limits import DOCUMENT_CHARACTERS
from revocab.links import check_file, files_in_tree

#: Kinds of content by file ending, in any case; ``.gz`` and ``.zst`` may follow all but the last.
CONTENTS = {".jsonl": "jsonl", ".txt": "text", ".tsv": "tsv", ".parquet": "parquet"}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
#: What a user may give, for messages.
COMPRESSED = "each also with .gz or .zst, or .parquet"
ALLOWED = f".jsonl, .txt or .tsv, {COMPRESSED}, or a folder of such files"
#: The same of files on the Hub, which `datasets` reads.
HUB_CONTENTS = ("jsonl", "text", "parquet")
HUB_ALLOWED = f".jsonl or .txt, {COMPRESSED}"
#: Files that come with data and are no text of it.
BESIDE_DATA = re.compile(
    r"(readme|licen[cs]e|notice|copying|citation|authors|changelog|checksums|(sha\d+|md5)sums"
    r"|manifest|dataset_infos?|state|job)(\.\w+)?|.*\.(sha\d+|md5|crc|py)"
)
#: What a document of a text file is; ``auto`` is one of the others (:func:`reading_of`).
TextDocuments = Literal["auto", "empty_lines", "lines", "file"]
#: What may end a sentence, in several scripts, and what may stand after it.
ENDS = tuple(".!?…:;。！？।؟۔։።")
CLOSING = "\"'”’»)]"
#: Lines that end so are sentences or paragraphs; of text that is wrapped, a line ends anywhere.
LEAST_ENDED = 0.5
#: Rows of a parquet file in memory at once.
PARQUET_ROWS = 4096


def content_of(path: Path) -> str | None:
    """Return the kind of a file's content by its name, or ``None`` if it is not known."""
    path = Path(path.name.lower())
    compressed = path.suffix in COMPRESSIONS
    content = CONTENTS.get(Path(path.stem).suffix if compressed else path.suffix)
    return None if compressed and content == "parquet" else content


def data_files(path: str | Path) -> list[Path]:
    """Return a file, or a folder's files of known kinds, sorted by their path in it.

    Raises :class:`RevocabError` for a place that is not there or holds no such file, for a folder
    with other files that might be text, and for links out of it (:mod:`revocab.links`).
    """
    path = Path(path)
    if path.is_dir():
        below = files_in_tree(path)
        files = [file for file in below if content_of(file)]
        if not files:
            raise RevocabError(
                f"{path}: no file of a supported format in this folder; give {ALLOWED}"
            )
        # Of the others those that might be text: not hidden, and none that comes with data.
        others = [
            file.name
            for file in below
            if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
            and not (content_of(file) or BESIDE_DATA.fullmatch(file.name.lower()))
        ]
        if others:
            more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
            raise RevocabError(
                f"{path}: beside text it holds {', '.join(others[:3])}{more}, which would not be"
                f" read; give {ALLOWED}, take them away, or name the files (pattern:"
                f" '{path}/**/*.txt')"
            )
        return files
    if not path.is_file():
        raise RevocabError(f"{path}: no such file; give {ALLOWED}")
    if content_of(path) is None:
        raise RevocabError(f"{path}: allowed are {ALLOWED}; text is UTF-8")
    check_file(path)
    return [path]


def checksum(path: str | Path) -> str:
    """Return the SHA-256 of a file, or of a folder's files' names and checksums."""
    path = Path(path)
    if path.is_file():
        return sha256(path)
    lines = [f"{file.relative_to(path)} {sha256(file)}\n" for file in data_files(path)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def file_rows(
    path: str | Path, documents: TextDocuments = "empty_lines"
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file or of all files of a folder.

    A text file's rows have ``text`` only; columns of a TSV file are called 1, 2, 3 and so on: it
    has no header, and no quoting. Memory holds one row (one batch of a parquet file). Raises
    :class:`RevocabError` naming file and line for broken compression, UTF-8, JSON or parquet.
    """
    for file in data_files(path):
        content, lines = content_of(file), numbered_lines(file)
        if content == "parquet":
            yield from parquet_rows(file)
        elif content == "text":
            yield from text_rows(lines, documents, str(file))
        elif content == "jsonl":
            for number, line in lines:
                if line.strip():
                    yield parse_json(line, f"{file}, line {number}")
        else:
            for _, line in lines:
                if line.strip():
                    yield {str(number): cell for number, cell in enumerate(line.split("\t"), 1)}


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; a byte-order mark is no part of the first."""
    import pyarrow

    compression = COMPRESSIONS.get(path.suffix.lower())
    number = 0
    try:
        with pyarrow.input_stream(str(path), compression=compression) as stream:
            lines = read_lines(io.BufferedReader(stream, 1 << 20), str(path))
            for number, line in enumerate(lines, 1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise RevocabError(
            f"{path}, line {number}: not UTF-8 ({error.reason}); convert the file to UTF-8"
        ) from None
    except OSError as error:
        if compression is None:
            raise
        raise RevocabError(
            f"{path}: broken {compression} file ({error}); fetch or write it again"
        ) from None


def utf8(text: Any, where: str) -> bytes:
    """Return a text's bytes; raise :class:`RevocabError`, naming ``where``, for what is no text."""
    if not isinstance(text, str):
        raise RevocabError(f"{where}: a {type(text).__name__}, expected text")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RevocabError(
            f"{where}: a lone surrogate at character {error.start} is not text; repair the source"
        ) from None


def check_length(characters: int, where: str) -> None:
    if characters > DOCUMENT_CHARACTERS:
        raise RevocabError(
            f"{where}: a document of {characters:,} characters or more; give at most"
            f" {DOCUMENT_CHARACTERS:,}: put empty lines between documents, or make each line one"
            " (text_documents: lines)"
        )


def text_rows(
    lines: Iterator[tuple[int, str]], documents: TextDocuments, where: str
) -> Iterator[dict[str, str]]:
    """Yield the documents of a plain text that have text, as ``documents`` says where they end.

    Raises :class:`RevocabError`, naming ``where``, for one that no memory should hold.
    """
    document: list[str] = []
    characters = 0
    for number, line in lines:
        characters = characters + len(line) + 1 if document else len(line)
        check_length(characters, f"{where}, line {number}")
        if line.strip() or (documents == "file" and document):
            document.append(line)
        if document and (documents == "lines" or not (line.strip() or documents == "file")):
            yield {"text": "\n".join(document)}
            document = []
    if document:
        yield {"text": "\n".join(document).rstrip("\n")}


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(PARQUET_ROWS):
                yield from batch.to_pylist()
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise RevocabError(
            f"{path}: not a readable parquet file ({error}); write it again"
        ) from None


def reading_of(files: Sequence[Path], documents: TextDocuments) -> TextDocuments | None:
    """Return how the text files among ``files`` and folders are read; None where there are none.

    With ``auto`` a single file without an empty line is read line by line if its lines are
    sentences. Several files keep theirs together, each as a document or more. Raises
    :class:`RevocabError` for another value where no file is text.
    """
    data = [file for path in files for file in data_files(path)]
    texts = [file for file in data if content_of(file) == "text"]
    if not texts and documents != "auto":
        names = ", ".join(path.name for path in files) or "no file"
        raise RevocabError(
            f"text_documents: received {documents!r}, which is for .txt files, and the source is"
            f" {names}; leave it out"
        )
    if not texts:
        return None
    if documents != "auto":
        return documents
    if len(texts) > 1:
        return "empty_lines"
    return reading_of_lines(line for _, line in numbered_lines(texts[0]))


def reading_of_lines(lines: Iterable[str]) -> TextDocuments:
    """Return how the lines of one file are read; it ends at the first that is empty, between
    others.
    """
    number = ended = 0
    empty = False
    for text in map(str.strip, lines):
        if text and number and empty:
            return "empty_lines"
        empty = not text
        if text:
            number += 1
            ended += text.rstrip(CLOSING).endswith(ENDS)
    return "lines" if number > 1 and ended >= LEAST_ENDED * number else "empty_lines"
