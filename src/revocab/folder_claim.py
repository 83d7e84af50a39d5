"""Claims: a small file in a folder that says what wrote it, and which of its files are its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.temporary import TEMPORARY, may_be_written

CLAIM = ".revocab.json"
#: What the command was asked for, in every folder that a command has written.
JOB_FILE = "job.json"


@dataclass(frozen=True)
class FolderClaim:
    """What a folder is, and its own files: no path of one machine in it, and no time."""

    kind: str
    #: Paths below the folder and their bytes (None: any number). One that ends in ``*`` stands for
    #: every path that begins so.
    files: Mapping[str, int | None] = field(default_factory=dict)
    #: What a job that can be resumed is told from another one by.
    job: Any = None
    #: Whether somebody is still writing, or was killed: everything there is the claim's own.
    unfinished: bool = False
    #: Whether a job of the workflow wrote it, which no command by hand replaces.
    by_rule: bool = False

    def write(self, folder: Path) -> None:
        content: dict[str, Any] = {"kind": self.kind}
        if self.job is not None:
            content["job"] = self.job
        if self.unfinished:
            content["writer"] = True
        if self.by_rule:
            content["by_rule"] = True
        write_json(folder / CLAIM, {**content, "files": dict(sorted(self.files.items()))})

    def owns(self, name: str, size: int | None = None) -> bool:
        """Return whether a path below the folder is the claim's own, at this size if given."""
        if name == CLAIM or self.unfinished:
            return True
        if name in self.files:
            return size is None or self.files[name] in (None, size)
        if any(pattern.endswith("*") and name.startswith(pattern[:-1]) for pattern in self.files):
            return True
        parent, _, last = name.rpartition("/")
        unfinished = TEMPORARY.fullmatch(last)
        if not unfinished:
            return False
        meant = f"{parent}/{unfinished['name']}".lstrip("/")
        return meant == CLAIM or meant in self.files


def read_claim(folder: Path) -> FolderClaim | None:
    """Return a folder's claim; None where there is none, or none that can be read."""
    path = folder / CLAIM
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    try:
        content = read_json(path)
        return FolderClaim(
            str(content["kind"]),
            {str(name): size for name, size in content["files"].items()},
            content.get("job"),
            bool(content.get("writer")),
            bool(content.get("by_rule")),
        )
    except (RevocabError, OSError, AttributeError, KeyError, TypeError):
        return None


def is_whole(folder: Path) -> bool:
    claim = read_claim(folder)
    return claim is not None and all((folder / name).is_file() for name in claim.files)


def is_unborn(folder: Path) -> bool:
    """Return whether a folder was made for a job that was killed before its claim stood there.

    It has a temporary name and holds nothing, or nothing but the claim under a temporary name.
    """
    match = TEMPORARY.fullmatch(folder.name)
    if match is None or match["state"] != "part" or folder.is_symlink() or not folder.is_dir():
        return False
    inside = [(TEMPORARY.fullmatch(file.name), file) for file in folder.iterdir()]
    return all(
        match is not None and match["name"] == CLAIM and file.is_file() and not file.is_symlink()
        for match, file in inside
    )


def files_below(folder: Path, *, claimed: bool = True) -> Iterator[Path]:
    """Yield every file and link below ``folder``, in order, relative to it; links are not followed.

    Without ``claimed``, a folder below it that has a claim of its own is yielded, not entered.
    """
    for entry in sorted(folder.iterdir()):
        name = entry.relative_to(folder)
        if entry.is_symlink() or not entry.is_dir() or (not claimed and read_claim(entry)):
            yield name
        else:
            yield from (name / below for below in files_below(entry, claimed=claimed))


def sizes_below(folder: Path, varying: tuple[str, ...] = ()) -> dict[str, int | None]:
    """Return the files below ``folder`` with their bytes; None for those named in ``varying``."""
    names = [file.as_posix() for file in files_below(folder)]
    return {
        name: None if name in varying else (folder / name).lstat().st_size
        for name in names
        if name != CLAIM
    }


def strangers(folder: Path, claim: FolderClaim) -> list[str]:
    """Return the files below ``folder`` that are not the claim's own, or not as it left them."""
    foreign = []
    for file in files_below(folder):
        name, path = file.as_posix(), folder / file
        if not claim.owns(name):
            foreign.append(name)
        elif path.is_symlink() or not claim.owns(name, path.lstat().st_size):
            foreign.append(f"{name} (changed since it was written)")
    return foreign


def remove_own(folder: Path) -> None:
    """Remove a claimed folder's own files, the claim last; the folder goes if nothing is left."""
    claim = read_claim(folder)
    if claim is None:
        return
    if claim.unfinished:
        shutil.rmtree(folder)
        return
    for file in files_below(folder):
        if claim.owns(file.as_posix()) and file != Path(CLAIM):
            (folder / file).unlink()
    (folder / CLAIM).unlink()
    remove_empty(folder)


def remove_empty(folder: Path) -> None:
    for root, _, _ in os.walk(folder, topdown=False):
        try:
            Path(root).rmdir()
        except OSError:  # not empty, or a link
            continue


def make_room(temporary: Path) -> None:
    """Make an empty folder; of one that is there nothing but a claim's own files goes."""
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
    """Remove what killed jobs left in ``parent`` beside the folder ``name``, if it has a claim.

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
        elif read_claim(left) is not None:
            left.rename(parent / match["name"])  # killed between two renames
