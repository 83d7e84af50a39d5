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
from revocab.rule import BY_ITEM

#: Files of a folder that an error names.
SHOWN = 5
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

    writes: Mapping[str, Stamp] = field(default_factory=dict)
    #: SHA-256 of files of other jobs.
    reads: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Record | None:
        if not file.is_file():
            return None
        content = read_json(file)
        writes = {name: Stamp(*stamp) for name, stamp in content["writes"].items()}
        return cls(writes, content["reads"])

    def write(self, file: Path) -> None:
        stamps = {name: [one.size, one.time, one.sha256] for name, one in self.writes.items()}
        write_json(file, {"writes": stamps, "reads": dict(self.reads)})


def paths_in(value: Any) -> Iterator[Path]:
    """Yield the paths of a command's inputs, however deep they lie."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, BaseModel):
        yield from paths_in(vars(value))
    elif isinstance(value, Mapping):
        yield from paths_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from paths_in(one)


def below(files: Mapping[str, T], paths: Iterable[Path]) -> dict[str, T]:
    """Return those of some files that are one of the paths, or lie in one."""
    places = [*map(os.path.normpath, paths)]
    return {
        name: value
        for name, value in files.items()
        if any(name == place or name.startswith(f"{place}/") for place in places)
    }


def changed(
    writes: Mapping[str, Stamp], maker: str, *, fully: bool, read: Iterable[Path] | None = None
) -> Iterator[str]:
    """Yield a problem for what a job wrote and is no longer so, below the paths that are read."""
    chosen = writes if read is None else below(writes, read)
    wrong = []
    for name, stamp in chosen.items():
        if not Path(name).is_file():
            wrong.append(f"{name} is missing")
        elif not stamp.fits(Path(name), fully=fully):
            wrong.append(name)
    if wrong:
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        listed = ", ".join(wrong[:SHOWN]) + more
        yield (
            f"{listed}: not as the job {maker.replace('--', ' ', 1)} wrote it; something else has"
            " changed it: make it again (snakemake --forcerun with its name), or put it back"
        )


def reads_of(inputs: BaseModel, made: Mapping[str, str], records: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that a job reads of other jobs, by path.

    ``made``: name and digest of the job behind each path, as in :mod:`revocab.made_by`. Raises
    :class:`RevocabError` naming the files that are no longer what their jobs wrote.
    """
    read = [*paths_in(inputs)]
    problems: list[str] = []
    found: dict[str, str] = {}
    for maker in sorted({asked.rpartition(" ")[0] for asked in made.values()}):
        record = Record.read(records / f"{maker}.json")
        if record is not None:
            problems += changed(record.writes, maker, fully=False, read=read)
            found |= {name: stamp.sha256 for name, stamp in record.writes.items()}
    if problems:
        raise RevocabError(problems)
    return below(found, read)


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
    """Write the record of a job that has ended."""
    writes = {os.path.normpath(file): Stamp.of(file) for file in sorted(files_of(out))}
    Record(writes, reads).write(record)


def problems(records: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each job whose files are not what it wrote, and for each that read what
    its maker has not written; jobs without a record, of earlier versions, are left out.
    """
    known = {name: Record.read(records / f"{name}.json") for name in names}
    writers = {
        file: (stamp.sha256, name)
        for name, record in known.items()
        if record is not None
        for file, stamp in record.writes.items()
    }
    for name, record in known.items():
        if record is None:
            continue
        yield from changed(record.writes, name, fully=True)
        for file, digest in record.reads.items():
            written, maker = writers.get(file, (digest, ""))
            if written != digest:
                yield (
                    f"{file}: the job {name.replace('--', ' ', 1)} read another content than"
                    f" {maker.replace('--', ' ', 1)} has written; run it again (snakemake"
                    " --forcerun)"
                )
