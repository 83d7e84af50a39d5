"""The manifest of a folder that a command wrote, read by another command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.folder_claim import read_claim
from revocab.io import read_json

#: Kinds of folders that several commands read, as their claims say them.
CORPUS, PACKED_TOKENS, HELDOUT_TOKENS = "corpus", "packed tokens", "held-out tokens"


def read_manifest(
    folder: str | Path, kind: str, keys: tuple[str, ...], command: str
) -> dict[str, Any]:
    """Return what ``manifest.json``, which is written last, says of a folder of one kind.

    Raises :class:`RevocabError` for a folder without one, and for one of another kind: by its claim
    or, where it has none, by ``keys`` that its manifest lacks.
    """
    folder = Path(folder)
    if not (folder / "manifest.json").is_file():
        raise RevocabError(f"{folder}: no {kind} (no manifest.json); run {command}")
    content, claim = read_json(folder / "manifest.json"), read_claim(folder)
    fits = isinstance(content, dict) and content.keys() >= {*keys}
    other = claim.kind if claim is not None and claim.kind != kind else None
    if other or not fits:
        what = f"{kind}, but {other}" if other else kind
        raise RevocabError(f"{folder}: holds no {what}; give a folder that {command} wrote")
    return content
