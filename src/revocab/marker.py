"""Markers: what wrote a folder or a file, of what, and which files are its own, by their hashes.

A folder has one, ``.revocab.json``, which is written last; a single file that a job of the workflow
wrote has one beside it. A job of the workflow compares what it reads with its maker's marker, and
``check_artefacts`` compares all of them. Markers find accidents, not forgers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from revocab.closed import Job
from revocab.errors import RevocabError, refuse
from revocab.io import TEMPORARY, read_json, sha256, write_json

MARKER = ".revocab.json"
#: Beside a training's manifest: the checkpoints that were removed, as its recipe's ``keep`` says.
DROPPED = "dropped.json"
#: How the file ends that has a score table's scores item by item; it lies beside the table.
BY_ITEM = "_items.jsonl.gz"
#: Kinds of folders that several commands read.
CORPUS, PACKED_TOKENS, HELDOUT_TOKENS = "corpus", "packed tokens", "held-out tokens"
#: Files that an error names.
SHOWN = 5


class Stamp(NamedTuple):
    """A file as its command left it."""

    bytes: int
    #: Empty in what earlier versions wrote.
    sha256: str = ""

    @classmethod
    def of(cls, file: Path) -> Stamp:
        """Return the stamp of a file, once its bytes have reached the disk."""
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
            return cls(file.stat().st_size, hashlib.file_digest(handle, "sha256").hexdigest())

    def fits(self, file: Path) -> bool:
        """Return whether a file has this content, whatever its time says."""
        return file.stat().st_size == self.bytes and self.sha256 in ("", sha256(file))


class Origin(BaseModel):
    """Which command wrote: no path of one machine in it, and no time."""

    #: Name of the module in ``commands/``; empty: a call from Python.
    command: str = ""
    #: Its options, with every default.
    job: Any = None
    #: Name of a job of the workflow (``RULE--ID--ID``); empty: a person called the command.
    name: str = ""
    #: SHA-256 of the files that a job of the workflow read of others.
    inputs: dict[str, str] = {}
    versions: dict[str, str] = {}


class Marker(Origin):
    """What a folder or file is, and its own files."""

    kind: str
    #: Paths below the folder. None: of any content, and not finished. One that ends in ``*`` stands
    #: for every path that begins so.
    files: dict[str, Stamp | int | None] = {}
    #: What a job that can be resumed is told from another one by.
    of: Any = None

    def write(self, place: Path) -> None:
        write_json(
            place, self.model_dump(mode="json", exclude_defaults=True) | {"files": self.files}
        )

    def owns(self, name: str, size: int | None = None) -> bool:
        """Return whether a path below the folder is the marker's own, at this size if given."""
        folder, _, last = name.rpartition("/")
        if temporary := TEMPORARY.fullmatch(last):  # half written
            name, size = f"{folder}/{temporary['name']}".lstrip("/"), None
        if name == MARKER or any(
            pattern.endswith("*") and name.startswith(pattern[:-1]) for pattern in self.files
        ):
            return True
        stamp = self.stamp(name)
        return name in self.files and (
            None in (size, stamp) or stamp is None or size == stamp.bytes
        )

    def stamp(self, name: str) -> Stamp | None:
        stamp = self.files.get(name)
        return Stamp(stamp) if isinstance(stamp, int) else stamp

    @property
    def finished(self) -> bool:
        return None not in self.files.values()


#: Of the command that runs; nothing in a call from Python.
NOBODY = Origin()
ORIGIN: ContextVar[Origin] = ContextVar("origin", default=NOBODY)


@contextmanager
def made_by(
    command: str, job: Job, name: str = "", inputs: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Let the markers that are written in the block say which command writes."""
    before = ORIGIN.set(
        Origin(
            command=command,
            job=job.model_dump(mode="json"),
            name=name,
            inputs=dict(inputs or {}),
            versions={"revocab": metadata.version("revocab")},
        )
    )
    try:
        yield
    finally:
        ORIGIN.reset(before)


def new_marker(
    kind: str, files: Mapping[str, Any], of: Any = None, *, part: bool = False
) -> Marker:
    """Return a marker of the command that runs; a ``part`` of its output has none of its own."""
    origin = {} if part else vars(ORIGIN.get())
    return Marker(**origin, kind=kind, files=dict(sorted(files.items())), of=of)


def beside(file: Path) -> Path:
    """Return where the marker of a single file lies."""
    return file.with_name(f".{file.name}{MARKER}")


def read_marker(folder: Path) -> Marker | None:
    """Return a folder's marker; None where there is none, or none that can be read."""
    return None if folder.is_symlink() else _read(folder / MARKER)


def _read(place: Path) -> Marker | None:
    if place.is_symlink() or not place.is_file():
        return None
    try:
        content = read_json(place)
        if "command" not in content and "job" in content:  # of an earlier version
            content["of"] = content.pop("job")
        return Marker.model_validate(content)
    except (RevocabError, OSError, TypeError, ValidationError):
        return None


def is_whole(folder: Path) -> bool:
    marker = read_marker(folder)
    return marker is not None and all((folder / name).is_file() for name in marker.files)


def read_manifest(
    folder: str | Path, kind: str, keys: tuple[str, ...], command: str
) -> dict[str, Any]:
    """Return what ``manifest.json`` says of a folder of one kind.

    Raises :class:`RevocabError` for a folder without one, and for one of another kind: by its
    marker or, where it has none, by ``keys`` that its manifest lacks.
    """
    folder = Path(folder)
    if not (folder / "manifest.json").is_file():
        raise RevocabError(f"{folder}: no {kind} (no manifest.json); run {command}")
    content, marker = read_json(folder / "manifest.json"), read_marker(folder)
    fits = isinstance(content, dict) and content.keys() >= {*keys}
    other = marker.kind if marker is not None and marker.kind != kind else None
    if other or not fits:
        what = f"{kind}, but {other}" if other else kind
        raise RevocabError(f"{folder}: holds no {what}; give a folder that {command} wrote")
    return content


# --- what jobs of the workflow read and write -----------------------------------------------------


def mark_file(out: Path) -> None:
    """Write the marker of a single file, and of what belongs to it, for a job of the workflow."""
    if not ORIGIN.get().name or not out.is_file():
        return
    files = [out, Path(f"{out.with_suffix('')}{BY_ITEM}"), out.with_suffix(".manifest.json")]
    files += [out.with_suffix(".csv")] if out.suffix == ".parquet" else []
    stamps = {file.name: Stamp.of(file) for file in files if file.is_file()}
    new_marker(out.name, stamps).write(beside(out))


@dataclass(frozen=True)
class Marked:
    """Files that a job of the workflow wrote, by their names below a folder."""

    folder: Path
    marker: Marker
    names: Sequence[str]

    @classmethod
    def find(cls, path: Path, read: Callable[[Path], Marker | None] | None = None) -> Marked | None:
        """Return what a job wrote at a path, the file, or all below the folder; else what a person
        wrote there.
        """
        by_hand = None
        for folder in (path, *path.parents):
            name = path.relative_to(folder).as_posix()
            single = folder.glob(f".*{MARKER}") if folder == path.parent else ()
            for place in (folder / MARKER, *sorted(single)):
                marker = (read or _read)(place)
                if marker is None or not marker.finished:
                    continue
                names = [
                    file
                    for file in marker.files
                    if name == "." or f"{file}/".startswith(f"{name}/")
                ]
                if names and marker.name:
                    return cls(folder, marker, names)
                if names and by_hand is None:
                    by_hand = cls(folder, marker, names)
        return by_hand

    def problem(self, *, read: bool) -> str:
        """Return what is not as the job wrote it, and what makes it again; empty: nothing.

        What was removed on purpose is a problem only where it is ``read``.
        """
        wrong = []
        if not self.marker.name:
            return (
                f"{self.folder}: was not written by a job of the workflow, and a job reads it;"
                f" {self.advice}"
            )
        dropped = removed_from(self.folder)
        for name in self.names:
            stamp, file = self.marker.stamp(name), self.folder / name
            if not file.is_file():
                if "/".join(name.split("/")[:2]) not in dropped:
                    wrong.append(f"{file} is missing")
                elif read:
                    wrong.append(f"{file} was removed (keep of its recipe)")
            elif stamp is not None and not stamp.fits(file):
                wrong.append(str(file))
        if not wrong:
            return ""
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        return (
            f"{', '.join(wrong[:SHOWN])}{more}: not as the job {self.job} wrote it; something else"
            f" has changed it: {self.advice}, or put it back"
        )

    @property
    def job(self) -> str:
        return self.marker.name.replace("--", " ", 1)

    @property
    def advice(self) -> str:
        return f"run the experiment with --forcerun {self.target}"

    @property
    def target(self) -> Path | str:
        """What makes the files again: the job's output as Snakemake knows it, or its rule."""
        names = [name for name in ("manifest.json", self.marker.kind) if name in self.marker.files]
        rule = self.marker.name.partition("--")[0]
        return self.folder / names[0] if names else rule or self.folder

    def hashes(self) -> dict[str, str]:
        return {
            os.path.normpath(self.folder / name): stamp.sha256
            for name in self.names
            if (stamp := self.marker.stamp(name)) is not None
        }


def removed_from(training: Path) -> set[str]:
    """Return the checkpoints of a training that were removed, as ``checkpoints/STEP``."""
    file = training / DROPPED
    if not file.is_file():
        return set()
    try:
        return {"/".join(Path(folder).parts[-2:]) for folder in read_json(file)["removed"]}
    except (KeyError, TypeError):
        raise RevocabError(
            f"{file}: not what has recorded removed checkpoints; run the experiment with"
            f" --forcerun {file}"
        ) from None


def paths_in(value: Any) -> Iterator[Path]:
    """Yield the paths of a command's inputs, however deep they lie."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, BaseModel):
        yield from paths_in(vars(value))
    elif isinstance(value, Mapping):
        yield from paths_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from paths_in(item)


def is_of_experiment(path: Path, experiment: str) -> bool:
    """Return whether a path lies where jobs of an experiment alone write."""
    absolute, here = path.absolute(), Path.cwd()
    parts = absolute.relative_to(here).parts if absolute.is_relative_to(here) else ()
    return parts[:2] in (("results", experiment), ("resources", experiment))


def hashes_of(paths: Iterable[Path], experiment: str) -> dict[str, str]:
    """Return the SHA-256 of the files that a job reads of other jobs, by path.

    Empty where no marker says what a file of the experiment is.

    Raises :class:`RevocabError` naming the files that are no longer what their jobs wrote.
    """
    read, found = cache(_read), dict[Path, Marked]()
    hashes: dict[str, str] = {}
    for path in paths:
        marked, own = Marked.find(path, read), is_of_experiment(path, experiment)
        if marked is None or not (marked.marker.name or own):
            hashes |= {os.path.normpath(path): ""} if own else {}
            continue
        key = marked.folder / marked.marker.name
        names = (*found[key].names, *marked.names) if key in found else marked.names
        found[key] = replace(marked, names=list(dict.fromkeys(names)))
    refuse(filter(None, (marked.problem(read=True) for marked in found.values())))
    for marked in found.values():
        hashes |= marked.hashes()
    return hashes


def changed_since(files: Iterable[Path], experiment: str) -> Iterator[str]:
    """Yield a problem for everything among files, and all that they were made of, that is not as
    its job wrote it, that no marker tells, or that was read before it was written so.
    """
    read, found, seen = cache(_read), dict[Path, Marked](), set[Path]()
    waiting = [Path(os.path.normpath(file)) for file in files]
    makers: dict[str, Marked] = {}
    while waiting:
        path = waiting.pop()
        if path in seen or f"{path}" in makers:
            continue
        seen.add(path)
        marked, own = Marked.find(path, read), is_of_experiment(path, experiment)
        if marked is None or not (marked.marker.name or own):
            if own:
                manifests = [each / "manifest.json" for each in path.parents]
                target = next((file for file in manifests if file.is_file()), path)
                yield (
                    f"{path}: no marker says what wrote it; run the experiment with --forcerun"
                    f" {target}"
                )
            continue
        whole = replace(marked, names=[*marked.marker.files])
        found[whole.folder / whole.marker.name] = whole
        makers |= dict.fromkeys(whole.hashes(), whole)
        waiting += map(Path, whole.marker.inputs)
    for marked in found.values():
        if problem := marked.problem(read=False):
            yield problem
        for file, digest in marked.marker.inputs.items():
            maker = makers.get(file)
            if maker is not None and maker.hashes()[file] != digest:
                yield (
                    f"{file}: the job {marked.job} read another content than"
                    f" {maker.job} has written: {marked.advice}"
                )
