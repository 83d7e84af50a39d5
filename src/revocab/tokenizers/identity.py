"""Whose ids a folder of tokens holds: a hash of what decides the ids of text, and of nothing else.

Two tokenizers have the same hash where they have the same vocabulary, merges or scores, added
tokens, normaliser, splitter and places of bos and eos, however their files are written. What is put
around a text, decoding, chat templates and padding are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revocab.heavy_types import Tokenizer

_PARTS = ("added_tokens", "normalizer", "pre_tokenizer")


def ids_hash(backend: Tokenizer, start_id: int | None, end_id: int | None) -> str:
    """Return the SHA-256 of what decides the ids of text and of its beginning and end."""
    state = json.loads(backend.to_str())
    # What is off is left out: a library of another version may write it or not.
    model = {key: value for key, value in state["model"].items() if value not in (None, False, "")}
    parts = {**{key: state[key] for key in _PARTS}, "model": model, "ends": [start_id, end_id]}
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def folder_hash(folder: Path) -> str | None:
    """Return the hash of a model folder's tokenizer; None where it has none that loads."""
    from revocab.tokenizers.load import load_tokenizer, tokenizer_file

    if not tokenizer_file(folder).is_file():
        return None
    tokenizer = load_tokenizer(folder)
    return ids_hash(tokenizer.backend_tokenizer, tokenizer.bos_token_id, tokenizer.eos_token_id)


def foreign_ids(
    what: str, folder: Path, manifest: dict[str, Any], model: Path, ours: str | None
) -> Iterator[str]:
    """Yield that a folder's tokens are of another tokenizer than a model's, whose hash is ``ours``.

    Nothing is known of a model folder without a tokenizer, and of tokens that an earlier version
    wrote.
    """
    theirs = manifest.get("tokenizer")
    if ours is not None and theirs is not None and theirs != ours:
        yield (
            f"{folder}: {what} of another tokenizer (SHA-256 {theirs[:12]}…) than that of {model}"
            f" ({ours[:12]}…), so that its ids are other tokens; pack with the model's own"
            " tokenizer"
        )
