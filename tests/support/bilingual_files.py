"""The files that ``config/overlays/bilingual-own.yaml`` expects of a user, empty."""

from __future__ import annotations

from pathlib import Path

FILES = ("instructions-en.jsonl", "instructions-ar.jsonl")


def make_files(folder: Path) -> Path:
    """Make them in a folder; return it."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder
