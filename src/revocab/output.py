"""Where a command may write, and how: only what is new, empty or its own is ever replaced.

An output folder is checked before anything is computed. It may be absent, empty, or hold a marker
(:mod:`revocab.marker`) of the same kind and nothing but that marker's own files. It is never a
link, an input, a folder around an input, the current folder or one above it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.io import TEMPORARY, may_be_written, name_beside
from revocab.marker import MARKER, ORIGIN, SHOWN, Marker, Stamp, new_marker, read_marker

#: Of a folder that somebody is still writing, or was killed: everything there is its own.
UNFINISHED = {"*": None}
ALLOWED = "a folder that does not exist, is empty, or was written by this command alone"


@dataclass(frozen=True)
class OutputFolder:
    """A folder that a job replaces as a whole. Making one checks it and writes nothing.

    Raises :class:`RevocabError` with every reason why ``path`` may not be written.
    """

    path: Path
    #: What it holds, such as "adapted model": a marker of another kind is never replaced.
    kind: str
    #: Files and folders that the job reads.
    inputs: Sequence[Path | None] = ()
    #: Inputs that the folder may lie in: results, whose tables stand among them.
    around: Sequence[Path | None] = ()

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        problems = list(self._place_problems())
        if not problems and self.path.is_dir():
            problems += self._content_problems(self.path)
        refuse(problems)

    def _place_problems(self) -> Iterator[str]:
        yield from node_problems(self.path, folder=True)
        busy = {"the current folder": Path.cwd()}
        with suppress(RuntimeError):  # a user without one
            busy["your home folder"] = Path.home()
        for what, place in busy.items():
            if holds(self.path, place):
                yield f"{self.path}: {what}, or one above it; an output is {ALLOWED}"
        for place in filter(None, (*self.inputs, *self.around)):
            if holds(self.path, place) and not self._spares(place):
                yield f"{self.path}: is or holds the input {place}; an output is {ALLOWED}"
            elif place not in self.around and place.is_dir() and holds(place, self.path):
                yield f"{self.path}: lies inside the input {place}; give a folder outside it"

    def _spares(self, source: Path) -> bool:
        return False

    def _content_problems(self, folder: Path) -> list[str]:
        marker = read_marker(folder)
        if marker is not None and UNFINISHED.items() <= marker.files.items():
            marker = None  # an unfinished folder under another name: nobody knows what is in it
        if marker is not None and marker.kind != self.kind:
            return [
                f"{self.path}: its {MARKER} says {marker.kind!r}, but this command writes"
                f" {self.kind!r}; give another folder"
            ]
        if marker is not None and marker.name and not ORIGIN.get().name:
            return [
                f"{self.path}: was made by a job of the workflow, whose results would be taken for"
                " those of another job; give another folder"
            ]
        foreign = self._strangers(folder, marker)
        if not foreign:
            return []
        listed = ", ".join(foreign[:SHOWN])
        if len(foreign) > SHOWN:
            listed += f" and {len(foreign) - SHOWN} more"
        if marker is None:
            return [
                f"{self.path}: holds {listed}, and no {MARKER} that says that this command wrote"
                f" them; an output is {ALLOWED}: give another folder (if an earlier version of"
                " revocab, which wrote no markers, made this one: remove it first)"
            ]
        return [
            f"{self.path}: holds files that this command did not write: {listed}; an output is"
            f" {ALLOWED}: move them elsewhere, or give another folder"
        ]

    def _strangers(self, folder: Path, marker: Marker | None) -> list[str]:
        return strangers(folder, marker or Marker(kind=self.kind))

    @contextmanager
    def replaced(
        self, *, of: Any = None, resume: bool = False, part: bool = False
    ) -> Iterator[Path]:
        """Yield an empty folder beside the output; it takes the output's place at the end.

        The old folder is there until then, and comes back if the exchange fails. With ``resume``
        what a failed or killed call has written is kept, and yielded to the next one that makes the
        same thing ``of`` the same. A ``part`` belongs to the output of the job around it.
        """
        self.check()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(self.path.parent, self.path.name)
        waiting = self.path.with_name(f".{self.path.name}.part")
        temporary = waiting if resume else name_beside(self.path)
        begun, left = Marker(kind=self.kind, of=of, files=dict(UNFINISHED)), read_marker(temporary)
        if not (resume and left == begun):
            make_room(temporary)
        try:
            begun.write(temporary / MARKER)
            yield temporary
            stamps = {
                file.as_posix(): Stamp.of(temporary / file)
                for file in files_below(temporary)
                if file != Path(MARKER)
            }
            new_marker(self.kind, stamps, of, part=part).write(temporary / MARKER)
            self._exchange(temporary)
        finally:
            if not resume:
                shutil.rmtree(temporary, ignore_errors=True)

    def _exchange(self, new: Path) -> None:
        """Put ``new`` in the output's place; remove the old folder's own files."""
        old = name_beside(self.path, "old")
        if not self.path.exists():
            new.rename(self.path)
            return
        try:
            self.path.rename(old)
            # Looked at again where nobody finds it by its name: files may have come meanwhile.
            refuse(self._content_problems(old))
            new.rename(self.path)
        except BaseException:
            if old.exists() and not self.path.exists():
                old.rename(self.path)
            raise
        remove_own(old)
        remove_empty(old)


@dataclass(frozen=True)
class ResumableFolder(OutputFolder):
    """A folder whose files are written in place, so that a killed job goes on from them.

    Nothing but ``names`` and ``parts`` is ever removed. Other jobs' marked folders may lie in it.
    """

    #: What the job writes, as in :class:`revocab.marker.Marker`.
    names: Sequence[str] = ()
    #: Folders below it whose folders of one kind are this job's: ``{"checkpoints": "checkpoint"}``.
    parts: Mapping[str, str] = field(default_factory=dict)
    #: Files of other jobs that may stand there, named as in ``names``.
    neighbours: Sequence[str] = ()

    def _own(self, names: Sequence[str] | None = None) -> Marker:
        return Marker(kind=self.kind, files=dict.fromkeys(self.names if names is None else names))

    def _spares(self, source: Path) -> bool:
        here, place = self.path.resolve(), source.resolve()
        if place == here or not place.is_relative_to(here):
            return False
        name = place.relative_to(here).as_posix()
        begins = tuple(f"{part}/" for part in self.parts)
        return not (self._own().owns(name) or f"{name}/".startswith(begins))

    def _strangers(self, folder: Path, marker: Marker | None) -> list[str]:
        unknown = []
        owners = (marker or self._own(()), self._own(self.neighbours))
        for place in files_below(folder, marked=False):
            name, inner = place.as_posix(), read_marker(folder / place)
            if inner is not None:
                if inner.kind == self.parts.get(place.parent.as_posix()):
                    unknown += [f"{name}/{file}" for file in strangers(folder / place, inner)]
            elif not any(owner.owns(name) for owner in owners) and not is_unborn(
                folder / place.parent
            ):
                unknown.append(name)
        return unknown

    def hold(self) -> None:
        """Mark the folder, beside what an earlier job of the kind has left there."""
        self.check()
        self.path.mkdir(parents=True, exist_ok=True)
        earlier = read_marker(self.path)
        files = {**(earlier.files if earlier else {}), **self._own().files}
        marker = new_marker(self.kind, files)
        if marker != earlier:
            marker.write(self.path / MARKER)
        for file in [*files_below(self.path, marked=False)]:
            if TEMPORARY.fullmatch(file.name) and marker.owns(file.as_posix()):
                (self.path / file).unlink()
        for folder in self.parts:
            if (self.path / folder).is_dir():
                clear_leftovers(self.path / folder)

    def remove(self, *names: str) -> None:
        """Remove some of ``names`` and ``parts``, as far as they are this job's own."""
        for name in names:
            if name in self.parts and (self.path / name).is_dir():
                for folder in sorted((self.path / name).iterdir()):
                    marker = read_marker(folder)
                    if marker is not None and marker.kind == self.parts[name]:
                        remove_own(folder)
                remove_empty(self.path / name)
        chosen = self._own([*({*names} - {*self.parts})])
        if self.path.is_dir():
            for file in [*files_below(self.path, marked=False)]:
                if file != Path(MARKER) and chosen.owns(file.as_posix()):
                    (self.path / file).unlink(missing_ok=True)
                    remove_empty((self.path / file).parent)

    def finish(self) -> None:
        """Write the marker of what is there; what an earlier job has left of its own goes."""
        own, earlier = self._own(), read_marker(self.path)
        self.remove(*(name for name in (earlier.files if earlier else ()) if not own.owns(name)))
        stamps: dict[str, Any] = {}
        for place in files_below(self.path, marked=False):
            name, inner = place.as_posix(), read_marker(self.path / place)
            if inner is not None and inner.kind == self.parts.get(place.parent.as_posix()):
                stamps |= {f"{name}/{file}": stamp for file, stamp in inner.files.items()}
            elif inner is None and own.owns(name) and name != MARKER:
                stamps[name] = Stamp.of(self.path / place)
        new_marker(self.kind, stamps).write(self.path / MARKER)


def check_files(*paths: str | Path, inputs: Sequence[str | Path | None] = ()) -> None:
    """Raise :class:`RevocabError` unless single files may be written to ``paths``.

    A file that is there is written again, but never an input, a folder, a link, or a file that a
    marked folder counts as its own.
    """
    problems: list[str] = []
    for path in map(Path, paths):
        problems += node_problems(path, folder=False)
        problems += [
            f"{path}: is the input {source}; give another file"
            for source in inputs
            if source and same(path, Path(source))
        ]
        marker = read_marker(path.parent)
        if marker is not None and marker.owns(path.name):
            problems.append(
                f"{path}: is part of the {marker.kind} there; give another file, or remove "
                f"{path.parent} if what it holds is no longer wanted"
            )
    refuse(problems)


def node_problems(path: Path, *, folder: bool) -> Iterator[str]:
    """Yield why nothing can be written at ``path``: a link, or the wrong kind of thing there."""
    if path.name in ("", ".."):
        yield f"{path}: ends without a name; give the folder or file by its own name"
    elif path.is_symlink():
        yield f"{path}: a symbolic link, which is never written through; give a real path"
    elif folder and path.exists() and not path.is_dir():
        yield f"{path}: a file; an output is {ALLOWED}"
    elif not folder and path.exists() and not path.is_file():
        yield f"{path}: not a plain file; give a file to write"
    for parent in path.parents:
        if parent.exists():
            if not parent.is_dir():
                yield f"{path}: {parent} is a file, not a folder; give another place"
            elif not path.exists() and not os.access(parent, os.W_OK | os.X_OK):
                yield f"{path}: {parent} may not be written; give another place"
            break


def same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return False


def holds(folder: Path, place: Path) -> bool:
    """Return whether ``place`` is ``folder`` or below it, with links followed or not."""
    for path in (place.absolute(), place.resolve()):
        if any(same(place, folder) for place in (path, *path.parents)):
            return True
    return False


# --- the files of a folder ------------------------------------------------------------------------


def files_below(folder: Path, *, marked: bool = True) -> Iterator[Path]:
    """Yield every file and link below ``folder``, in order, relative to it; links are not followed.

    Without ``marked``, a folder below it that has a marker of its own is yielded, not entered.
    """
    for entry in sorted(folder.iterdir()):
        name = entry.relative_to(folder)
        if entry.is_symlink() or not entry.is_dir() or (not marked and read_marker(entry)):
            yield name
        else:
            yield from (name / below for below in files_below(entry, marked=marked))


def strangers(folder: Path, marker: Marker) -> list[str]:
    """Return the files below ``folder`` that are not the marker's own, or of another size."""
    foreign = []
    for file in files_below(folder):
        name, path = file.as_posix(), folder / file
        if not marker.owns(name):
            foreign.append(name)
        elif path.is_symlink() or not marker.owns(name, path.lstat().st_size):
            foreign.append(f"{name} (changed since it was written)")
    return foreign


def remove_own(folder: Path) -> None:
    """Remove a marked folder's own files, the marker last; the folder goes if nothing is left."""
    marker = read_marker(folder)
    if marker is None:
        return
    for file in files_below(folder):
        if marker.owns(file.as_posix()) and file != Path(MARKER):
            (folder / file).unlink()
    (folder / MARKER).unlink()
    remove_empty(folder)


def remove_empty(folder: Path) -> None:
    for root, _, _ in os.walk(folder, topdown=False):
        try:
            Path(root).rmdir()
        except OSError:  # not empty, or a link
            continue


def is_unborn(folder: Path) -> bool:
    """Return whether a folder was made for a job that was killed before its marker stood there.

    It has a temporary name and holds nothing, or nothing but the marker under a temporary name.
    """
    match = TEMPORARY.fullmatch(folder.name)
    if match is None or match["state"] != "part" or folder.is_symlink() or not folder.is_dir():
        return False
    inside = [(TEMPORARY.fullmatch(file.name), file) for file in folder.iterdir()]
    return all(
        match is not None and match["name"] == MARKER and file.is_file() and not file.is_symlink()
        for match, file in inside
    )


def make_room(temporary: Path) -> None:
    """Make an empty folder; of one that is there nothing but a marker's own files goes."""
    remove_own(temporary)
    if is_unborn(temporary):
        shutil.rmtree(temporary)
    free = temporary.is_dir() and not temporary.is_symlink() and not any(temporary.iterdir())
    if os.path.lexists(temporary) and not free:
        raise RevocabError(
            f"{temporary}: already exists and was not created by this command; remove it"
        )
    temporary.mkdir(exist_ok=True)


def clear_leftovers(parent: Path, name: str | None = None) -> None:
    """Remove what killed jobs left in ``parent`` beside the folder ``name``, if it has a marker.

    Without ``name`` the caller holds ``parent`` alone, so that nobody else can still be writing.
    """
    for left in sorted(parent.glob(".*")):
        match = TEMPORARY.fullmatch(left.name)
        if match is None or match["process"] is None or name not in (None, match["name"]):
            continue  # without a process it waits for the next call of the same job
        if name is not None and may_be_written(match):
            continue
        if is_unborn(left):
            shutil.rmtree(left)
        elif match["state"] == "part" or (parent / match["name"]).exists():
            remove_own(left)
        elif read_marker(left) is not None:
            left.rename(parent / match["name"])  # killed between two renames
