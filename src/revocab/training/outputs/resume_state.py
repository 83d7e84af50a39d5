"""Resume state: what a killed run needs to go on as if nothing had happened.

``state/`` holds ``fingerprint.json`` and one folder per kept step, each the Trainer's own
checkpoint (weights as safetensors; optimizer, schedule and generators loaded ``weights_only``) with
copies of the loss tables and, written last, ``checksums.json``. A folder without it, or with a
file that does not match, is not used.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from revocab import io

PREFIX = "checkpoint-"
CHECKSUMS = "checksums.json"
FINGERPRINT = "fingerprint.json"
#: The newest state, and the one before in case the newest turns out damaged.
KEPT = 2


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix(PREFIX))


def states(root: Path) -> list[Path]:
    """Return the state folders under ``root``, whole or not, newest first."""
    folders = [path for path in root.glob(PREFIX + "*") if path.name[len(PREFIX) :].isdigit()]
    return sorted(folders, key=step_of, reverse=True)


def seal(folder: Path) -> None:
    sums = {}
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        if path.name != CHECKSUMS:
            with path.open("rb") as handle:
                os.fsync(handle.fileno())
            sums[path.relative_to(folder).as_posix()] = io.sha256(path)
    io.write_json(folder / CHECKSUMS, sums)


def is_whole(folder: Path) -> bool:
    if not (folder / CHECKSUMS).is_file():
        return False
    try:
        sums = io.read_json(folder / CHECKSUMS)
        return all(io.sha256(folder / name) == value for name, value in sums.items())
    except Exception:  # any unreadable file means: damaged
        return False


def prune(root: Path) -> None:
    for folder in states(root)[KEPT:]:
        shutil.rmtree(folder)


def belongs(root: Path, fingerprint: str) -> bool:
    recorded = root / FINGERPRINT
    return recorded.is_file() and io.read_json(recorded).get("fingerprint") == fingerprint


def find(root: Path, fingerprint: str, tell: Callable[[str], None] | None) -> Path | None:
    """Return the newest usable state for this fingerprint, or ``None``.

    Damaged states are deleted; a fingerprint that differs means that settings or inputs have
    changed, and that no state is usable. ``tell`` is called with a line on each.
    """
    if not belongs(root, fingerprint):
        if states(root) and tell:
            tell(f"{root}: was made with other settings or inputs; discarded, starting at step 0")
        return None
    for folder in states(root):
        if is_whole(folder):
            return folder
        if tell:
            tell(f"{folder}: unfinished or damaged; discarded")
        shutil.rmtree(folder)
    return None


def discarded(root: Path) -> Path:
    """Return the name under which a state root is deleted; nothing reads it."""
    return root.with_name(f".{root.name}.discarded")


def discard(root: Path) -> None:
    """Delete a state root: at one moment it is whole, at the next gone, wherever a kill comes."""
    gone = discarded(root)
    shutil.rmtree(gone, ignore_errors=True)
    if root.is_dir():
        root.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def begin(root: Path, fingerprint: str) -> None:
    discard(root)
    root.mkdir(parents=True)
    io.write_json(root / FINGERPRINT, {"fingerprint": fingerprint})
