"""GPT-2's alphabet: every byte as one printable character."""

from __future__ import annotations

from functools import cache


@cache
def _byte_of_character() -> dict[str, int]:
    """Return the alphabet: printable Latin-1 stands for itself, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + number): byte for number, byte in enumerate(others)
    }


@cache
def _byte_level_table() -> dict[int, str]:
    return {ord(character): chr(byte) for character, byte in _byte_of_character().items()}


@cache
def _character_of_byte() -> dict[int, str]:
    return {byte: character for character, byte in _byte_of_character().items()}


def from_byte_level(string: str) -> bytes | None:
    """Return the bytes a byte-level token stands for; None if it is not in that alphabet."""
    try:
        return string.translate(_byte_level_table()).encode("latin-1")
    except UnicodeEncodeError:
        return None


def to_byte_level(data: bytes) -> str:
    return data.decode("latin-1").translate(_character_of_byte())
