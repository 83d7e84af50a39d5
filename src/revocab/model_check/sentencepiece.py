"""Pieces of a SentencePiece model, the one thing that is read of such a file.

It is a protocol buffer (https://protobuf.dev/programming-guides/encoding): its field 1 is repeated,
one for each piece, and has the piece's text as its own field 1.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each field that has a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        length = {_FIXED64: 8, _FIXED32: 4}.get(key & 7)
        if key & 7 == _VARINT:
            _, at = _varint(data, at)
            continue
        if length is None:
            if key & 7 != _BYTES:
                raise ValueError(f"no wire type {key & 7}")
            length, at = _varint(data, at)
        if at + length > len(data):
            raise ValueError("ends within a field")
        if key & 7 == _BYTES:
            yield key >> 3, data[at : at + length]
        at += length


def pieces_of(data: bytes) -> list[str] | None:
    """Return a model's pieces by id; none for what is no SentencePiece model."""
    try:
        return [
            next(text for inner, text in _fields(content) if inner == 1).decode()
            for number, content in _fields(data)
            if number == 1
        ] or None
    except (ValueError, IndexError, StopIteration, RuntimeError):
        return None
