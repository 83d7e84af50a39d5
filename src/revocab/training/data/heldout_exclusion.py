"""Keep held-out text out of training, also where it stands in another corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from revocab.io import read_jsonl


def heldout_keys(folders: Iterable[Path]) -> tuple[set[str], set[bytes]]:
    """Return the first words and the hashes of all held-out documents of corpus folders.

    A hash is of the text with runs of whitespace made one space, so that copies which differ in
    that alone are met too.
    """
    texts = [row["text"] for folder in folders for row in read_jsonl(folder / "heldout.jsonl.gz")]
    return {first_word(text) for text in texts}, {text_key(text) for text in texts}


def first_word(text: str) -> str:
    """Return the first word: cheap, and nearly always enough to see that a text is another."""
    return next(iter(text.split(None, 1)), "")


def text_key(text: str) -> bytes:
    """Return a hash of a text's words."""
    return hashlib.blake2b(" ".join(text.split()).encode(errors="replace"), digest_size=16).digest()


def without_heldout(
    rows: Iterable[dict[str, Any]],
    keys: tuple[set[str], set[bytes]],
    skipped: Callable[[], None],
) -> Iterator[dict[str, Any]]:
    """Yield the rows whose text is in no held-out set; call ``skipped`` for each of the others."""
    words, hashes = keys
    for row in rows:
        text = row["text"]
        if isinstance(text, str) and first_word(text) in words and text_key(text) in hashes:
            skipped()
        else:
            yield row
