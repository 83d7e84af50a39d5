"""File formats and nothing else: every write is atomic, every text file is UTF-8, bytes repeat.

What is still being written has a temporary name, which tells the host and the process that writes:
what a killed process has left can be told from what another one is writing now.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import os
import re
import socket
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, AnyStr, Literal

from revocab.errors import RevocabError, refuse
from revocab.links import check_file

#: Characters or bytes of a line; no document is as long.
LONGEST_LINE = 1 << 26

#: What spreadsheets compute, if it is no number; quotes before it are of text that has them itself.
FORMULA = re.compile(r"'*[=+\-@\t\r]")

#: ``.NAME.HOST-PROCESS.part``, as :func:`name_beside` makes it; ``old`` is a folder that is being
#: replaced. Without a process it waits for the next call of the same job.
TEMPORARY = re.compile(
    r"\.(?P<name>.+?)(\.(?P<host>[0-9a-f]{8})-(?P<process>\d+))?\.(?P<state>part|old)"
)


def host_mark() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def name_beside(path: Path, state: Literal["part", "old"] = "part") -> Path:
    return path.with_name(f".{path.name}.{host_mark()}-{os.getpid()}.{state}")


def may_be_written(match: re.Match[str]) -> bool:
    """Return whether another process may be writing under a temporary name.

    One of another host may, since nobody can tell from here that it has ended.
    """
    if match["process"] is None:
        return False
    if match["host"] != host_mark():
        return True
    process = int(match["process"])
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # not ours to signal, but there
        pass
    return process != os.getpid()


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; rename it to ``path`` only if the block succeeds.

    What killed processes have left under such names is removed first.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(".*.part"):
        match = TEMPORARY.fullmatch(left.name)
        if match is None or match["name"] != path.name or match["process"] is None:
            continue
        if not may_be_written(match) and left.is_file() and not left.is_symlink():
            left.unlink(missing_ok=True)
    temporary = name_beside(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def parse_json(text: str | bytes, where: str, *, finite: bool = False) -> Any:
    """Return what JSON says; raise :class:`RevocabError` for what is none, or what no one writes:
    nesting and numbers that Python refuses and, if all are to be ``finite``, NaN and infinity.
    """
    try:
        if finite:
            return json.loads(text, parse_constant=finite_number, parse_float=finite_number)
        return json.loads(text)
    except RecursionError:
        raise RevocabError(f"{where}: not valid JSON (nested too deep)") from None
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, an integer of many digits
        reason = str(error).partition("; use sys")[0]
        raise RevocabError(f"{where}: not valid JSON ({reason})") from None


def finite_number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value


def read_lines(handle: IO[AnyStr], where: str) -> Iterator[AnyStr]:
    """Yield the lines of an open file; raise :class:`RevocabError` for one that is no line, before
    memory is full of it: a small compressed file may hold one of any length.
    """
    number = 0
    while line := handle.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise RevocabError(
                f"{where}, line {number}: is longer than {LONGEST_LINE:,}; give a document a line"
            )
        yield line


def text_lines(path: Path) -> list[str]:
    """Return a file's lines without their ends; raise :class:`RevocabError` for what is no text."""
    check_file(path)
    try:
        with path.open(encoding="utf-8", newline="\n") as handle:
            return [line.rstrip("\r\n") for line in read_lines(handle, str(path))]
    except UnicodeDecodeError as error:
        raise RevocabError(f"{path}: not UTF-8 text ({error.reason}); convert it") from None


def read_json(path: str | Path) -> Any:
    """Read a JSON file; raise :class:`RevocabError` naming the file when it is not one, or holds a
    number that is not finite.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    return parse_json(content, str(path), finite=True)


def read_jsonl(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ``.jsonl`` or ``.jsonl.gz`` file, in order.

    Raises :class:`RevocabError` with file and line for a missing file, broken compression, broken
    UTF-8 or broken JSON.
    """
    path = Path(path)
    check_file(path)
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8") as handle:
            for number, line in enumerate(read_lines(handle, str(path)), 1):
                if line.strip():
                    yield parse_json(line, f"{path}, line {number}")
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise RevocabError(
            f"{path}, after line {number}: not UTF-8 ({error.reason}); convert the file to UTF-8"
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RevocabError(
            f"{path}, after line {number}: broken gzip file ({error}); fetch or write it again"
        ) from None


def write_jsonl(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows atomically as ``.jsonl(.gz)``, same rows same bytes; return their number."""
    path = Path(path)
    count = 0
    with atomic(path) as temporary, temporary.open("wb") as raw:
        compressed = path.suffix == ".gz"
        # No file name and no time in the gzip header: they would change the bytes.
        handle = gzip.GzipFile("", "wb", 6, raw, mtime=0) if compressed else raw
        for row in rows:
            handle.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
            count += 1
        if compressed:
            handle.close()
    return count


def number(text: Any) -> float | None:
    """Return a CSV cell as a float; an empty cell or NaN is None."""
    if text is None or text == "":
        return None
    value = float(text)
    return None if math.isnan(value) else value


def is_formula(text: Any) -> bool:
    if not isinstance(text, str) or not FORMULA.match(text):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def cell_of(value: Any) -> Any:
    """Return what stands in a CSV file for a value: of text that spreadsheets would take for a
    formula, a quote before it. Numbers stay as they are. :func:`text_of_cell` is the way back.
    """
    return f"'{value}" if is_formula(value) else value


def text_of_cell(cell: Any) -> Any:
    return cell[1:] if is_formula(cell) and cell.startswith("'") else cell


def read_csv(path: Path, columns: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return the rows of a CSV file, texts as they were written.

    Raises :class:`RevocabError` naming the lines that have other than the columns of the first
    (``columns``, where given), and a file that is no CSV in UTF-8.
    """
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            reader = csv.DictReader(handle)
            names = [*map(text_of_cell, reader.fieldnames or ())]
            reader.fieldnames = names
            rows = [{key: text_of_cell(cell) for key, cell in row.items()} for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise RevocabError(
            f"{path}: not CSV in UTF-8 ({error}); save it so, or make it again"
        ) from None
    if columns and names != [*columns]:
        raise RevocabError(
            f"{path}: has the columns {', '.join(names)}; expected {', '.join(columns)}"
        )
    refuse(
        f"{path}, line {line}: not the {len(names)} columns of the first line; the file is cut or"
        " was changed: mend the line, or make the file again"
        for line, row in enumerate(rows, 2)
        if None in row or None in row.values()
    )
    return rows


def write_csv(path: str | Path, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as CSV, atomically; None becomes an empty cell, floats keep every digit, and texts
    are as :func:`cell_of` says.
    """
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: cell_of(value) for key, value in row.items()} for row in rows)


def read_parquet(path: str | Path, columns: Sequence[str] = ()) -> Any:
    """Return a parquet file as pyarrow's table; raise :class:`RevocabError` for one that is cut or
    lacks a column.
    """
    import pyarrow
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0]
        raise RevocabError(
            f"{path}: not a readable parquet file ({reason}); make it again"
        ) from None
    if missing := [name for name in columns if name not in table.column_names]:
        raise RevocabError(f"{path}: has no column {', '.join(missing)}; make it again")
    return table


def not_folder(path: str | Path) -> str:
    return "a file, not a folder" if Path(path).exists() else "no such folder"


def sha256(path: str | Path) -> str:
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
