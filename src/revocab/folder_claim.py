"""Claims: a small file in a folder that says what wrote it, and which of its files are its own."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.temporary import TEMPORARY, is_alive

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
    #: Host and number of the process that is still writing: everything there is its own.
    writer: tuple[str, int] | None = None
    #: Whether a job of the workflow wrote it, which no command by hand replaces.
    by_rule: bool = False

    def write(self, folder: Path) -> None:
        content: dict[str, Any] = {"kind": self.kind}
        if self.job is not None:
            content["job"] = self.job
        if self.writer is not None:
            content["writer"] = list(self.writer)
        if self.by_rule:
            content["by_rule"] = True
        write_json(folder / CLAIM, {**content, "files": dict(sorted(self.files.items()))})

    def owns(self, name: str, size: int | None = None) -> bool:
        """Return whether a path below the folder is the claim's own, at this size if given."""
        if name == CLAIM or self.writer is not None:
            return True
        if name in self.files:
            return size is None or self.files[name] in (None, size)
        if any(one.endswith("*") and name.startswith(one[:-1]) for one in self.files):
            return True
        parent, _, last = name.rpartition("/")
        unfinished = TEMPORARY.fullmatch(last)
        if not unfinished:
            return False
        meant = f"{parent}/{unfinished['name']}".lstrip("/")
        return meant == CLAIM or meant in self.files

    @property
    def abandoned(self) -> bool:
        """Return whether its writer ran on this machine and has ended."""
        if self.writer is None or self.writer[0] != socket.gethostname():
            return False
        return self.writer[1] == os.getpid() or not is_alive(self.writer[1])


def this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def read_claim(folder: Path) -> FolderClaim | None:
    """Return a folder's claim; None where there is none, or none that can be read."""
    path = folder / CLAIM
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    try:
        content = read_json(path)
        writer = content.get("writer")
        return FolderClaim(
            str(content["kind"]),
            {str(name): size for name, size in content["files"].items()},
            content.get("job"),
            (str(writer[0]), int(writer[1])) if writer else None,
            bool(content.get("by_rule")),
        )
    except (RevocabError, OSError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


def is_whole(folder: Path) -> bool:
    """Return whether a folder has a claim, and every file that it names."""
    claim = read_claim(folder)
    return claim is not None and all((folder / name).is_file() for name in claim.files)


def is_unborn(folder: Path) -> bool:
    """Return whether a folder was made for a job that was killed before its claim stood there.

    It has a temporary name and holds nothing, or nothing but the claim under a temporary name.
    """
    match = TEMPORARY.fullmatch(folder.name)
    if match is None or match["state"] != "part" or folder.is_symlink() or not folder.is_dir():
        return False
    inside = [(TEMPORARY.fullmatch(one.name), one) for one in folder.iterdir()]
    return all(
        found is not None and found["name"] == CLAIM and one.is_file() and not one.is_symlink()
        for found, one in inside
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
    found = {one.as_posix(): one for one in files_below(folder)}
    return {
        name: None if name in varying else (folder / one).lstat().st_size
        for name, one in found.items()
        if name != CLAIM
    }


def strangers(folder: Path, claim: FolderClaim) -> list[str]:
    """Return the files below ``folder`` that are not the claim's own, or not as it left them."""
    found = []
    for one in files_below(folder):
        name, path = one.as_posix(), folder / one
        if not claim.owns(name):
            found.append(name)
        elif path.is_symlink() or not claim.owns(name, path.lstat().st_size):
            found.append(f"{name} (changed since it was written)")
    return found


def remove_own(folder: Path) -> None:
    """Remove a claimed folder's own files, the claim last; the folder goes if nothing is left."""
    claim = read_claim(folder)
    if claim is None:
        return
    if claim.writer is not None:
        shutil.rmtree(folder)
        return
    for one in files_below(folder):
        if claim.owns(one.as_posix()) and one != Path(CLAIM):
            (folder / one).unlink()
    (folder / CLAIM).unlink()
    remove_empty(folder)


def remove_empty(folder: Path) -> None:
    """Remove ``folder`` and the folders below it as far as they are empty."""
    for root, _, _ in os.walk(folder, topdown=False):
        try:
            Path(root).rmdir()
        except OSError:  # not empty, or a link
            continue
