"""What each job of an experiment wrote and read, so that what is changed later is never believed.

A job of the workflow leaves a record: the files that it wrote, with size, time and SHA-256, and the
SHA-256 of those that it read of other jobs. A job compares what it reads with its maker's record:
by size and time, and by content where these are others. The last check compares all contents, and
what each job read with what its maker wrote (:func:`problems`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from revocab.errors import RevocabError
from revocab.folder_claim import JOB_FILE, files_below, read_claim
from revocab.io import read_json, sha256, write_json
from revocab.rule import BY_ITEM, JOIN

#: Files of a folder that an error names.
SHOWN = 5
#: Beside a training's manifest: the checkpoints that were removed, as its recipe's ``keep`` says.
DROPPED = "dropped.json"
T = TypeVar("T")


@dataclass(frozen=True)
class Stamp:
    """A file as a job left it."""

    size: int
    #: Nanoseconds; a copy has another time and the same content.
    time: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> Stamp:
        stat = file.stat()
        return cls(stat.st_size, stat.st_mtime_ns, sha256(file))

    def fits(self, file: Path, *, fully: bool) -> bool:
        """Return whether a file is as it was; one of the same size and time counts unless
        ``fully``.
        """
        stat = file.stat()
        if stat.st_size != self.size:
            return False
        return (not fully and stat.st_mtime_ns == self.time) or sha256(file) == self.sha256


@dataclass(frozen=True)
class Record:
    """The files of one job, by their paths from the folder in which the experiment runs."""

    #: Name of the job.
    name: str
    #: The file or folder that it was asked for.
    out: str
    writes: Mapping[str, Stamp] = field(default_factory=dict)
    #: SHA-256 of files of other jobs.
    reads: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Record | None:
        if not file.is_file():
            return None
        try:
            content = read_json(file)
            writes = {name: Stamp(*stamp) for name, stamp in content["writes"].items()}
            return cls(file.stem, content["out"], writes, dict(content["reads"]))
        except (AttributeError, KeyError, TypeError, ValueError, RevocabError):
            rule = file.stem.partition(JOIN)[0]
            raise RevocabError(
                f"{file}: not what a job has recorded; run the experiment with --forcerun {rule}"
            ) from None

    @property
    def advice(self) -> str:
        """What makes the job's files again: its output as Snakemake knows it, or its rule."""
        outputs = (f"{self.out}/manifest.json", self.out)
        rule = self.name.partition(JOIN)[0]
        target = next((output for output in outputs if output in self.writes), rule)
        return f"run the experiment with --forcerun {target}"

    def __str__(self) -> str:
        return self.name.replace(JOIN, " ", 1)

    def write(self, file: Path) -> None:
        stamps = {name: list(vars(stamp).values()) for name, stamp in self.writes.items()}
        write_json(file, {"out": self.out, "writes": stamps, "reads": dict(self.reads)})


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


def below(files: Mapping[str, T], paths: Iterable[Path]) -> dict[str, T]:
    """Return those of some files that are one of the paths, or lie in one."""
    places = [*map(os.path.normpath, paths)]
    return {
        name: value
        for name, value in files.items()
        if any(name == place or name.startswith(f"{place}/") for place in places)
    }


def changed(
    record: Record, *, fully: bool, read: Mapping[str, Stamp] | None = None
) -> Iterator[str]:
    """Yield a problem if what a job wrote, or what of it is read, is not as it was; what was
    removed on purpose is one where it is read.
    """
    wrong = []
    dropped = below(record.writes, dropped_from(record))
    for name, stamp in (record.writes if read is None else read).items():
        if not Path(name).is_file():
            if name not in dropped:
                wrong.append(f"{name} is missing")
            elif read is not None:
                wrong.append(f"{name} was removed (keep of its recipe)")
        elif not stamp.fits(Path(name), fully=fully):
            wrong.append(name)
    if wrong:
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        listed = ", ".join(wrong[:SHOWN]) + more
        yield (
            f"{listed}: not as the job {record} wrote it; something else has changed it:"
            f" {record.advice}, or put it back"
        )


def dropped_from(record: Record) -> list[Path]:
    file = Path(record.out, DROPPED)
    if not file.is_file():
        return []
    try:
        return [Path(folder) for folder in read_json(file)["removed"]]
    except (KeyError, TypeError):
        raise RevocabError(
            f"{file}: not what has recorded removed checkpoints; run the experiment with"
            f" --forcerun {file}"
        ) from None


def reads_of(inputs: BaseModel, made: Mapping[str, str], records: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that a job reads of other jobs, by path.

    ``made``: name and digest of the job behind each path, as in :mod:`revocab.made_by`. Raises
    :class:`RevocabError` naming the files that are no longer what their jobs wrote.
    """
    paths = [*paths_in(inputs)]
    problems: list[str] = []
    reads: dict[str, str] = {}
    for maker in sorted({asked.rpartition(" ")[0] for asked in made.values()}):
        record = Record.read(records / f"{maker}.json")
        if record is not None:
            read = below(record.writes, paths)
            problems += changed(record, fully=False, read=read)
            reads |= {name: stamp.sha256 for name, stamp in read.items()}
    if problems:
        raise RevocabError(problems)
    return reads


def files_of(out: Path) -> Iterator[Path]:
    """Yield the files that a job has written at ``out``, not what others put into its folder."""
    if out.is_file():
        beside = (Path(f"{out.with_suffix('')}{BY_ITEM}"), out.with_suffix(".manifest.json"))
        yield from (out, *(file for file in beside if file.is_file()))
        return
    claim = read_claim(out)
    if claim is None:
        return
    for name in files_below(out, claimed=False):
        file = out / name
        if not file.is_dir():
            if claim.owns(name.as_posix()):
                yield file
        elif not (file / JOB_FILE).is_file():  # a checkpoint; a folder of another job has its own
            yield from files_of(file)


def keep(record: Path, out: Path, reads: Mapping[str, str]) -> None:
    writes = {os.path.normpath(file): Stamp.of(file) for file in sorted(files_of(out))}
    Record(record.stem, os.path.normpath(out), writes, reads).write(record)


def problems(records: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each job whose record is damaged, whose files are not what it wrote, or
    that read what its maker has not written; jobs without a record, of earlier versions, are left
    out.
    """
    known = []
    for name in names:
        try:
            record = Record.read(records / f"{name}.json")
        except RevocabError as error:
            yield from error.problems
            continue
        known += [] if record is None else [record]
    makers = {file: record for record in known for file in record.writes}
    for record in known:
        yield from changed(record, fully=True)
        for file, digest in record.reads.items():
            if file in makers and makers[file].writes[file].sha256 != digest:
                yield (
                    f"{file}: the job {record} read another content than {makers[file]} has"
                    f" written: {record.advice}"
                )
