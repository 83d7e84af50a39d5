"""Where a command may write, and how: only what is new, empty or its own is ever replaced.

An output folder is checked before anything is computed. It may be absent, empty, or hold a claim
(:mod:`revocab.folder_claim`) of the same kind and nothing but that claim's own files. It is never
a link, an input, a folder around an input, the current folder or one above it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.folder_claim import (
    CLAIM,
    JOB_FILE,
    FolderClaim,
    clear_leftovers,
    files_below,
    is_unborn,
    make_room,
    read_claim,
    remove_empty,
    remove_own,
    sizes_below,
    strangers,
)
from revocab.io import write_json
from revocab.temporary import TEMPORARY, name_beside

if TYPE_CHECKING:
    from revocab.closed import Job

#: What the command that runs was asked for, kept in every folder that it writes; none: a call from
#: Python, which keeps no such file.
ASKED: ContextVar[dict[str, Any] | None] = ContextVar("asked", default=None)
#: Whether it runs for a rule of the workflow.
BY_RULE: ContextVar[bool] = ContextVar("by_rule", default=False)
ALLOWED = "a folder that does not exist, is empty, or was written by this command alone"
#: Foreign files that an error names.
SHOWN = 5


@dataclass(frozen=True)
class OutputFolder:
    """A folder that a job replaces as a whole. Making one checks it and writes nothing.

    Raises :class:`RevocabError` with every reason why ``path`` may not be written.
    """

    path: Path
    #: What it holds, such as "adapted model": a claim of another kind is never replaced.
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
        if problems:
            raise RevocabError(problems)

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
        claim = read_claim(folder)
        if claim is not None and claim.unfinished:
            claim = None  # an unfinished folder under another name: nobody knows what is in it
        if claim is not None and claim.kind != self.kind:
            return [
                f"{self.path}: its {CLAIM} says {claim.kind!r}, but this command writes"
                f" {self.kind!r}; give another folder"
            ]
        if claim is not None and claim.by_rule and not BY_RULE.get():
            return [
                f"{self.path}: was made by a job of the workflow, whose results would be taken for"
                " those of another job; give another folder"
            ]
        foreign = self._strangers(folder, claim)
        if not foreign:
            return []
        listed = ", ".join(foreign[:SHOWN])
        if len(foreign) > SHOWN:
            listed += f" and {len(foreign) - SHOWN} more"
        if claim is None:
            return [
                f"{self.path}: holds {listed}, and no {CLAIM} that says that this command wrote"
                f" them; an output is {ALLOWED}: give another folder (if an earlier version of"
                " revocab, which wrote no claims, made this one: remove it first)"
            ]
        return [
            f"{self.path}: holds files that this command did not write: {listed}; an output is"
            f" {ALLOWED}: move them elsewhere, or give another folder"
        ]

    def _strangers(self, folder: Path, claim: FolderClaim | None) -> list[str]:
        return strangers(folder, claim or FolderClaim(self.kind, {}))

    @contextmanager
    def replaced(
        self,
        *,
        job: Any = None,
        resume: bool = False,
        varying: tuple[str, ...] = (),
        keeps_job: bool = True,
    ) -> Iterator[Path]:
        """Yield an empty folder beside the output; it takes the output's place at the end.

        The old folder is there until then, and comes back if the exchange fails. With ``resume``
        what a failed or killed call has written is kept, and yielded to the next one of the same
        ``job``. ``varying`` names files whose size differs from run to run. ``keeps_job``: with
        what the command was asked for.
        """
        self.check()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(self.path.parent, self.path.name)
        waiting = self.path.with_name(f".{self.path.name}.part")
        temporary = waiting if resume else name_beside(self.path)
        claim, left = FolderClaim(self.kind, {}, job, unfinished=True), read_claim(temporary)
        goes_on = resume and left is not None and (left.kind, left.job) == (claim.kind, claim.job)
        if not goes_on:
            make_room(temporary)
        try:
            claim.write(temporary)
            yield temporary
            if keeps_job:
                keep_job(temporary)
            sizes = sizes_below(temporary, varying)
            FolderClaim(self.kind, sizes, job, by_rule=BY_RULE.get()).write(temporary)
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
            if problems := self._content_problems(old):
                raise RevocabError(problems)
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

    Nothing but ``names`` and ``parts`` is ever removed. Other jobs' claimed folders may lie in it.
    """

    #: What the job writes, as in :class:`revocab.folder_claim.FolderClaim`.
    names: Sequence[str] = ()
    #: Folders below it whose folders of one kind are this job's: ``{"checkpoints": "checkpoint"}``.
    parts: Mapping[str, str] = field(default_factory=dict)
    #: Files of other jobs that may stand there, named as in ``names``.
    neighbours: Sequence[str] = ()

    def _claim(self) -> FolderClaim:
        files = dict.fromkeys((*self.names, JOB_FILE))
        return FolderClaim(self.kind, files, by_rule=BY_RULE.get())

    def _spares(self, source: Path) -> bool:
        if not same(self.path, source) and source.resolve().is_relative_to(self.path.resolve()):
            name = source.resolve().relative_to(self.path.resolve()).as_posix()
            begins = tuple(f"{part}/" for part in self.parts)
            return not (self._claim().owns(name) or f"{name}/".startswith(begins))
        return False

    def _strangers(self, folder: Path, claim: FolderClaim | None) -> list[str]:
        unknown = []
        beside = FolderClaim("", dict.fromkeys(self.neighbours))
        own = claim or FolderClaim(self.kind, {})
        for place in files_below(folder, claimed=False):
            name, inner = place.as_posix(), read_claim(folder / place)
            if inner is not None:
                if inner.kind == self.parts.get(place.parent.as_posix()):
                    unknown += [f"{name}/{file}" for file in strangers(folder / place, inner)]
            elif not (own.owns(name) or beside.owns(name) or is_unborn((folder / place).parent)):
                unknown.append(name)
        return unknown

    def hold(self) -> None:
        """Claim the folder, beside what an earlier job of the kind has left there."""
        self.check()
        self.path.mkdir(parents=True, exist_ok=True)
        earlier = read_claim(self.path)
        claim = self._claim()
        if earlier is not None:
            claim = replace(claim, files={**earlier.files, **claim.files})
        if claim != earlier:
            claim.write(self.path)
        keep_job(self.path)
        for file in [*files_below(self.path, claimed=False)]:
            if TEMPORARY.fullmatch(file.name) and claim.owns(file.as_posix()):
                (self.path / file).unlink()
        for folder in self.parts:
            if (self.path / folder).is_dir():
                clear_leftovers(self.path / folder)

    def remove(self, *names: str) -> None:
        """Remove some of ``names`` and ``parts``, as far as they are this job's own."""
        for name in names:
            if name in self.parts and (self.path / name).is_dir():
                for folder in sorted((self.path / name).iterdir()):
                    claim = read_claim(folder)
                    if claim is not None and claim.kind == self.parts[name]:
                        remove_own(folder)
                remove_empty(self.path / name)
        chosen = FolderClaim(self.kind, dict.fromkeys(set(names) - {*self.parts}))
        if self.path.is_dir():
            for file in [*files_below(self.path, claimed=False)]:
                if file != Path(CLAIM) and chosen.owns(file.as_posix()):
                    (self.path / file).unlink(missing_ok=True)
                    remove_empty((self.path / file).parent)

    def finish(self) -> None:
        """Remove files of an earlier job that this one has not written again; name the rest."""
        earlier = read_claim(self.path)
        if earlier is not None:
            self.remove(*(earlier.files.keys() - {*self.names, JOB_FILE}))
        self._claim().write(self.path)


@contextmanager
def asked_for(command: str, job: Job, *, by_rule: bool = False) -> Iterator[None]:
    asked = ASKED.set({"command": command, "job": job.model_dump(mode="json")})
    rule = BY_RULE.set(by_rule)
    try:
        yield
    finally:
        ASKED.reset(asked)
        BY_RULE.reset(rule)


def keep_job(folder: Path) -> None:
    """Write what the command was asked for into ``folder``; nothing in a call from Python."""
    asked = ASKED.get()
    if asked is not None:
        write_json(folder / JOB_FILE, asked)


def check_files(*paths: str | Path, inputs: Sequence[str | Path | None] = ()) -> None:
    """Raise :class:`RevocabError` unless single files may be written to ``paths``.

    A file that is there is written again, but never an input, a folder, a link, or a file that a
    claimed folder counts as its own.
    """
    problems: list[str] = []
    for path in map(Path, paths):
        problems += node_problems(path, folder=False)
        problems += [
            f"{path}: is the input {source}; give another file"
            for source in inputs
            if source and same(path, Path(source))
        ]
        claim = read_claim(path.parent)
        if claim is not None and claim.owns(path.name):
            problems.append(
                f"{path}: is part of the {claim.kind} there; give another file, or remove "
                f"{path.parent} if what it holds is no longer wanted"
            )
    if problems:
        raise RevocabError(problems)


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
