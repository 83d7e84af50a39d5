"""Whose ids a folder of tokens holds: a hash of what decides the ids of text, and of nothing else.

Two tokenizers have the same hash where they have the same vocabulary, merges or scores, added
tokens, normaliser, splitter and places of bos and eos, however their files are written. What is put
around a text, decoding, chat templates and padding are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revocab.heavy_types import Tokenizer
from revocab.io import sha256
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_file

_PARTS = ("added_tokens", "normalizer", "pre_tokenizer")
#: Hashes by those of the files: checkpoints of a run share a tokenizer.
_known: dict[tuple[str, ...], str] = {}


def ids_hash(backend: Tokenizer, start_id: int | None, end_id: int | None) -> str:
    """Return the SHA-256 of what decides the ids of text and of its beginning and end."""
    state = json.loads(backend.to_str())
    # What is off is left out: a library of another version may write it or not.
    model = {key: value for key, value in state["model"].items() if value not in (None, False, "")}
    parts = {**{key: state[key] for key in _PARTS}, "model": model, "ends": [start_id, end_id]}
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def folder_hash(folder: Path) -> str | None:
    """Return the hash of a model folder's tokenizer; None where it has none."""
    from revocab.models.folder import files_of

    if not tokenizer_file(folder).is_file():
        return None
    files = [tokenizer_file(folder), *(folder / name for name in files_of(folder, "tokenizer"))]
    key = tuple(sha256(path) if path.is_file() else "" for path in files)
    if key not in _known:
        tokenizer = load_tokenizer(folder)
        ends = tokenizer.bos_token_id, tokenizer.eos_token_id
        _known[key] = ids_hash(tokenizer.backend_tokenizer, *ends)
    return _known[key]


def foreign_ids(
    model: Path, folders: Mapping[Path, tuple[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """Yield the folders whose tokens are of another tokenizer than a model's.

    ``folders`` says of each what it holds, and its manifest. Nothing is known of a model folder
    without a tokenizer, and of tokens that an earlier version wrote.
    """
    ours = folder_hash(model)
    for folder, (what, manifest) in folders.items():
        theirs = manifest.get("tokenizer")
        if ours is not None and theirs is not None and theirs != ours:
            yield (
                f"{folder}: {what} of another tokenizer (SHA-256 {theirs[:12]}…) than that of"
                f" {model} ({ours[:12]}…), so that ids are other tokens; pack with the model's own"
            )
