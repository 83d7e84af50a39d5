"""Encode a lot of text: batch by batch, on every core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

#: Characters encoded at a time: encodings are some forty times larger than their text.
BATCH_CHARACTERS = 1_000_000


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in documents:
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def encode_batches(
    backend: Tokenizer, documents: Iterable[str], *, ids_only: bool = True
) -> Iterator[list[Encoding]]:
    """Yield the encodings batch by batch, without special tokens; the next is encoded meanwhile."""
    # The fast call gives no offsets, strings and word numbers.
    fast = getattr(backend, "encode_batch_fast", backend.encode_batch)
    encode = fast if ids_only else backend.encode_batch
    with ThreadPoolExecutor(1) as thread:
        waiting = None
        for batch in _batches(documents):
            started = thread.submit(encode, batch, add_special_tokens=False)
            if waiting is not None:
                yield waiting.result()
            waiting = started
        if waiting is not None:
            yield waiting.result()
