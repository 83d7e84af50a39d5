"""Where text comes from: one class for every place, one reader for its rows.

An experiment gives a :class:`Source`. A job carries its :class:`Form`, which holds no path, and the
files beside it as inputs; :func:`read_rows` reads both.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, HubId, Id, OneLine, Revision, exactly_one
from revocab.corpora.formats import (
    HUB_ALLOWED,
    HUB_CONTENTS,
    TextDocuments,
    checksum,
    content_of,
    file_rows,
    numbered_lines,
)
from revocab.errors import RevocabError
from revocab.hub import dataset_rows, explain, resolve
from revocab.links import check_file

Kind = Literal["world", "path", "pattern", "lines", "hub"]
#: What rows may come from where they are read by :func:`read_rows`.
ANY: tuple[Kind, ...] = ("world", "path", "pattern", "lines", "hub")


class HubData(Closed):
    """A data set on the Hugging Face Hub, pinned by its revision."""

    id: HubId = Field(description="Hub id, owner/name")
    name: OneLine | None = Field(default=None, description="configuration of the data set")
    names: dict[Id, OneLine] | None = Field(
        default=None,
        min_length=2,
        description="one configuration per language; rows with equal 'id' are merged",
    )
    split: OneLine = Field(default="train", description="split of the data set")
    files: OneLine | None = Field(
        default=None,
        description="glob pattern of the data set's files, such as 'data/*.jsonl.zst': for files "
        "that no configuration names, or that lie beside a loading script",
    )
    revision: Revision | None = Field(default=None, description="commit, tag or branch")
    fields: dict[str, OneLine] = Field(
        default_factory=dict,
        description="the data set's name for each of our fields, where they differ; dots "
        "separate nested fields, also those of a list's elements",
    )

    @model_validator(mode="after")
    def _one_way(self) -> HubData:
        if self.names is not None and self.name is not None:
            raise ValueError("name and names are both given; give one")
        if self.files is None:
            return self
        if self.name or self.names:
            raise ValueError("files chooses the files itself; leave out name and names")
        if content_of(Path(self.files)) not in HUB_CONTENTS:
            raise ValueError(f"files: received {self.files!r}; allowed are {HUB_ALLOWED}")
        return self


class Form(Closed):
    """A source without its paths: what a job says of where rows come from."""

    kind: Kind = Field(
        default="path", description="form of the files; not needed for a Hub data set"
    )
    languages: tuple[Id, ...] = Field(
        default=(), description="language of each file of aligned lines, in order"
    )
    hub: HubData | None = None

    @model_validator(mode="before")
    @classmethod
    def _kind_by_content(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "kind" in values:
            return values
        kind = "hub" if values.get("hub") else "lines" if values.get("languages") else "path"
        return {**values, "kind": kind}


class Source(Closed):
    """Where data comes from: the demo's world, files, aligned lines of text, or the Hub."""

    #: Part of the generated world, such as documents.it.
    world: Id | None = None
    path: OneLine | None = Field(default=None, description="a file, or a folder of files")
    pattern: OneLine | None = Field(
        default=None, description="glob pattern of files, such as 'data/*.jsonl'"
    )
    lines: dict[Id, OneLine] | None = Field(
        default=None, min_length=1, description="one text file per language, aligned line by line"
    )
    hub: HubData | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        return exactly_one(self, ANY)

    @property
    def kind(self) -> Kind:
        return next(kind for kind in ANY if getattr(self, kind) is not None)

    @property
    def form(self) -> Form:
        return Form(kind=self.kind, languages=tuple(self.lines or ()), hub=self.hub)

    def files(self, world: str) -> list[str]:
        """Return the local files or folders behind it, none for the Hub.

        ``world`` is the folder of the generated world. Raises :class:`RevocabError` for a pattern
        that no file fits.
        """
        if self.world:
            return [f"{world}/{self.world}.jsonl.gz"]
        if self.path:
            return [self.path]
        if self.pattern:
            return matching(self.pattern)
        return list((self.lines or {}).values())


def matching(pattern: str) -> list[str]:
    """Return the files that a pattern names, sorted; raise :class:`RevocabError` if none fits."""
    # Not Path.glob: the pattern may be absolute.
    paths = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))  # noqa: PTH207
    if not paths:
        raise RevocabError(f"{pattern!r}: no file matches; check the pattern or data_root")
    return paths


def read_rows(
    form: Form,
    files: Sequence[Path] = (),
    *,
    streaming: bool = False,
    documents: TextDocuments = "empty_lines",
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a source; memory holds one of them, or a Hub data set if not ``streaming``.

    ``files`` are the local files in the order of :meth:`Source.files`, ``documents`` what a
    document of a text file is. Raises :class:`RevocabError` naming the place and what is wrong with
    it.
    """
    check_number(form, files)
    if form.hub is not None:
        yield from hub_rows(form.hub, streaming=streaming)
    elif form.kind == "lines":
        yield from aligned_rows(dict(zip(form.languages, files, strict=True)))
    else:
        for file in files:
            yield from file_rows(file, documents)


def check_number(form: Form, files: Sequence[Path]) -> None:
    """Raise :class:`RevocabError` unless there are as many files as a source has."""
    by_kind = {
        "hub": (not files, "no file, because its rows come from the Hub"),
        "lines": (len(files) == len(form.languages), "a file for each language"),
        "pattern": (bool(files), "at least one file"),
    }
    fits, due = by_kind.get(form.kind, (len(files) == 1, "one file or folder"))
    if not fits:
        names = ", ".join(map(str, files)) or "none"
        raise RevocabError(f"source of kind {form.kind!r}: files received: {names}; give {due}")


def read_numbered(
    form: Form, files: Sequence[Path], limit: int | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a source, each with a text ``id``; at most the first ``limit``.

    Raises :class:`RevocabError` for a source without rows, too.
    """
    rows = list(read_rows(form, files))
    if not rows:
        raise RevocabError(f"{place(form, files)}: no rows")
    return [{**row, "id": str(row.get("id", number))} for number, row in enumerate(rows[:limit])]


def place(form: Form, files: Sequence[Path] = ()) -> str:
    if files:
        return ", ".join(map(str, files))
    return form.hub.id if form.hub else form.kind


def origin(form: Form, files: Sequence[Path] = ()) -> dict[str, Any]:
    """Return where a source's rows come from: files with their hashes, or a Hub commit."""
    if form.hub is None:
        check_number(form, files)
        return {"files": dict(zip(names_of(files), map(checksum, files), strict=True))}
    commit = resolve(form.hub.id, form.hub.revision, "dataset")
    names = {"names": form.hub.names} if form.hub.names else {"name": form.hub.name}
    return {**commit, **names, "split": form.hub.split}


def names_of(files: Sequence[Path]) -> list[str]:
    """Return what files are called: their names or, where two share one, the paths that differ."""
    names = [Path(file).name for file in files]
    if len(set(names)) == len(names):
        return names
    above = os.path.commonpath([Path(file).parent for file in files])
    return [Path(file).relative_to(above).as_posix() for file in files]


def hub_rows(hub: HubData, *, streaming: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Hub data set, fields renamed; of several configurations, joined rows."""
    commit = resolve(hub.id, hub.revision, "dataset")
    if hub.names is None:
        for row in configuration(commit, hub.name, hub, streaming=streaming):
            yield renamed(row, hub.fields, f"{hub.id}, fields")
        return
    fields, by_language = {"id": "id", "text": "text", **hub.fields}, {}
    for language, name in hub.names.items():
        rows, where = configuration(commit, name, hub, streaming=False), f"{hub.id} ({name})"
        by_language[language] = [renamed(row, fields, f"{where}, fields") for row in rows]
    yield from joined(by_language, hub.id)


def joined(by_language: dict[str, list[dict[str, Any]]], where: str) -> Iterator[dict[str, Any]]:
    """Yield one row per id: each language's ``text`` under the language's name.

    In the order of the first language. Raises :class:`RevocabError` for an id that is repeated, or
    not there in every language.
    """
    texts: dict[str, dict[Any, str]] = {}
    for language, rows in by_language.items():
        texts[language] = {row["id"]: row["text"] for row in rows}
        if len(texts[language]) < len(rows):
            raise RevocabError(
                f"{where}, {language}: 'id' is not unique; name another field under 'fields'"
            )
    first, *others = texts
    for other in others:
        differing = sorted(map(str, texts[first].keys() ^ texts[other].keys()))
        if differing:
            raise RevocabError(
                f"{where}: {len(differing)} values of 'id' are in {first} or in {other} only "
                f"({', '.join(differing[:3])}); name a field that both share under 'fields'"
            )
    for value in texts[first]:
        yield {"id": str(value), **{language: own[value] for language, own in texts.items()}}


def configuration(
    commit: dict[str, Any], name: str | None, hub: HubData, *, streaming: bool
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one configuration; what breaks while it is streamed is explained."""
    rows = dataset_rows(commit, name, hub.split, hub.files, streaming=streaming)
    number = 0
    try:
        for number, row in enumerate(rows, 1):  # noqa: B007
            yield row
    except Exception as error:
        if not streaming:
            raise
        raise RevocabError(explain(error, hub.id, rows=number)) from error


def renamed(row: dict[str, Any], fields: dict[str, str], where: str) -> dict[str, Any]:
    """Return a row with our field names added; theirs may be dotted paths (``answers.text``), also
    through lists, of which every element has the rest.
    """
    with_ours = dict(row)
    for ours, theirs in fields.items():
        try:
            with_ours[ours] = nested(row, theirs.split("."))
        except KeyError:
            raise RevocabError(
                f"{where}: no field {theirs!r} (a row has: {', '.join(sorted(row))}); name the"
                f" right one for {ours}"
            ) from None
    return with_ours


def nested(value: Any, path: Sequence[str]) -> Any:
    """Return what a path leads to; raise ``KeyError`` where it leads nowhere."""
    for position, name in enumerate(path):
        if isinstance(value, list):
            return [nested(element, path[position:]) for element in value]
        if not isinstance(value, dict):
            raise KeyError(name)
        value = value[name]
    return value


def aligned_rows(files: dict[str, Path]) -> Iterator[dict[str, Any]]:
    """Yield one row per line of text files that translate each other; ids are line numbers."""
    lines: dict[str, list[str]] = {}
    for language, path in files.items():
        check_file(path)
        lines[language] = [line for _, line in numbered_lines(path)]
    counts = {files[language]: len(texts) for language, texts in lines.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{path}: {count}" for path, count in counts.items())
        raise RevocabError(
            f"aligned text files must have the same number of lines, received {listed}"
        )
    for number, texts in enumerate(zip(*lines.values(), strict=True)):
        yield {"id": str(number), **dict(zip(lines, texts, strict=True))}
