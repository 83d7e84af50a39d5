"""Which source tokens are the same as a target token, and which of several is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Literal

from revocab.errors import RevocabError
from revocab.tokenizers.canonical import CanonicalToken

Identity = Literal["bytes", "marker"]


def marker_keys(tokens: list[CanonicalToken]) -> list[Hashable]:
    """Return each token's spelling as the released code compares it; bos and eos by role."""
    return [
        ("role", token.role)
        if token.role in ("bos", "eos")
        else ("string", token.string.replace("Ġ", "▁"))
        for token in tokens
    ]


def _keys(tokens: list[CanonicalToken], identity: Identity) -> list[Hashable | None]:
    if identity == "bytes":
        return [token.identity for token in tokens]
    return marker_keys(tokens)


def choose(
    target: CanonicalToken, candidates: list[int], source: list[CanonicalToken], byte: bool
) -> int:
    """Return one of several source ids: of the wanted sort (``byte`` or plain), else the lowest.

    A byte token is wanted where the target has a plain token of the same text, too, which makes a
    vocabulary's intersection with itself the identity. Else the plain one, as the source writes it.
    """
    return min(
        candidates,
        key=lambda number: (
            (source[number].kind == "byte") != byte,
            source[number].string != target.string,
            number,
        ),
    )


def match(
    source: list[CanonicalToken], target: list[CanonicalToken], identity: Identity
) -> list[list[int]]:
    """Return, for each target id, the source ids that are the same token, ascending."""
    if identity not in ("bytes", "marker"):  # as a Python program may ask for
        raise RevocabError(f"identity {identity!r}: allowed are bytes and marker")
    by_key: dict[Hashable, list[int]] = defaultdict(list)
    for number, key in enumerate(_keys(source, identity)):
        if key is not None:
            by_key[key].append(number)
    nothing: list[int] = []
    return [by_key.get(key, nothing) for key in _keys(target, identity)]


def unequal_pairs(
    source: list[CanonicalToken],
    target: list[CanonicalToken],
    identity: Identity,
    pairs: Iterable[tuple[int, int]],
) -> list[tuple[str, str]]:
    first, second = _keys(source, identity), _keys(target, identity)
    return [
        (source[source_id].string, target[target_id].string)
        for source_id, target_id in pairs
        if first[source_id] is None or first[source_id] != second[target_id]
    ]
