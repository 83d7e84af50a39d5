"""Rows for generative tasks, from wherever a source specification says they are.

FILE.jsonl[.gz]                                  rows as they are
it=FILE,en=FILE                                  line-aligned text, one field per language
hub:ID[:name][:split][@revision][#ours=theirs,…] a Hub data set, its fields renamed
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.hub import dataset_rows, resolve
from revocab.io import read_jsonl, sha256

HUB = re.compile(
    r"hub:(?P<id>[^:@#]+)(:(?P<name>[^:@#]*))?(:(?P<split>[^@#]+))?(@(?P<revision>[^#]+))?(#(?P<fields>.+))?"
)
ALIGNED = re.compile(r"[a-z]{2,3}=[^,]+(,[a-z]{2,3}=[^,]+)+")


def read_source(spec: str, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the rows of a source, each with a text ``id``; at most the first ``limit``.

    Raises :class:`RevocabError` naming the specification and what is wrong with it.
    """
    if spec.startswith("hub:"):
        rows = read_hub(spec)
    elif ALIGNED.fullmatch(spec):
        rows = read_aligned(dict(part.split("=", 1) for part in spec.split(",")))
    else:
        rows = list(read_jsonl(spec))
    if not rows:
        raise RevocabError(f"{spec}: no rows")
    return [{**row, "id": str(row.get("id", i))} for i, row in enumerate(rows[:limit])]


def read_aligned(files: dict[str, str]) -> list[dict[str, Any]]:
    """Return one row per line of text files that translate each other; ids are line numbers."""
    lines = {language: read_lines(path) for language, path in files.items()}
    counts = {files[language]: len(texts) for language, texts in lines.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{path}: {count}" for path, count in counts.items())
        raise RevocabError(f"aligned text files must have equally many lines, received {listed}")
    return [
        {"id": str(i), **dict(zip(lines, texts, strict=True))}
        for i, texts in enumerate(zip(*lines.values(), strict=True))
    ]


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 text file, split at line feeds only."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise RevocabError(f"{path}: not UTF-8 ({error.reason}); convert it to UTF-8") from None
    # Not splitlines(): it would also split at U+2028, form feeds and the like, inside a sentence.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def parse_hub(spec: str) -> re.Match:
    """Return the parts of a Hub specification."""
    match = HUB.fullmatch(spec)
    if not match:
        raise RevocabError(
            f"{spec!r}: expected hub:ID[:name][:split][@revision][#field=their_field,…]"
        )
    return match


def files_of(spec: str) -> list[Path]:
    """Return the local files that a source is read from; none for one of the Hub."""
    if spec.startswith("hub:"):
        return []
    aligned = ALIGNED.fullmatch(spec)
    parts = [part.split("=", 1)[1] for part in spec.split(",")] if aligned else [spec]
    return [Path(part) for part in parts]


def origin(spec: str) -> dict[str, Any]:
    """Return where a source's rows come from: files with their hashes, or a Hub commit."""
    if spec.startswith("hub:"):
        match = parse_hub(spec)
        found = resolve(match["id"], match["revision"], "dataset")
        return {**found, "name": match["name"] or None, "split": match["split"] or "train"}
    return {"files": {path.name: sha256(path) for path in files_of(spec)}}


def read_hub(spec: str) -> list[dict[str, Any]]:
    """Return the rows of a Hub data set, fields renamed as the specification says."""
    match = parse_hub(spec)
    taken = resolve(match["id"], match["revision"], "dataset")
    rows = dataset_rows(taken, match["name"] or None, match["split"] or "train")
    renamed = dict(part.split("=", 1) for part in (match["fields"] or "").split(",") if part)
    return [rename(row, renamed, spec) for row in rows]


def rename(row: dict[str, Any], fields: dict[str, str], where: str) -> dict[str, Any]:
    """Return a row with our field names added; theirs may be dotted paths (``answers.text``)."""
    found = dict(row)
    for ours, theirs in fields.items():
        value: Any = row
        for name in theirs.split("."):
            if not isinstance(value, dict) or name not in value:
                raise RevocabError(
                    f"{where}: no field {theirs!r} (a row has: {', '.join(sorted(row))})"
                )
            value = value[name]
        found[ours] = value
    return found
