"""Which source tokens are the same as a target token, and which of several is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Literal

from revocab.errors import RevocabError
from revocab.vocabulary.tokenizers.canonical import CanonicalToken

Identity = Literal["bytes", "marker"]


def marker_keys(tokens: list[CanonicalToken]) -> list[Hashable]:
    """Return each token's spelling as the released code compares it; bos and eos by role."""
    return [
        ("role", token.role)
        if token.role in ("bos", "eos")
        else ("string", token.string.replace("Ġ", "▁"))
        for token in tokens
    ]


def _keys(tokens: list[CanonicalToken], identity: Identity) -> Iterator[tuple[Hashable, ...]]:
    """Yield what each token may be matched by, best first.

    A special token is the one of the same spelling, whatever its role (pad here, eos there); where
    there is none, or the user has declared its role, the one of its role.
    """
    if identity == "marker":
        yield from ((key,) for key in marker_keys(tokens))
        return
    for token in tokens:
        keys = () if token.identity is None else (token.identity,)
        if token.kind == "special":
            spelling = ("special", token.string)
            yield (*keys, spelling) if token.declared else (spelling, *keys)
        else:
            yield keys


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
    for number, keys in enumerate(_keys(source, identity)):
        for key in keys:
            by_key[key].append(number)
    nothing: list[int] = []
    return [
        next((by_key[key] for key in keys if key in by_key), nothing)
        for keys in _keys(target, identity)
    ]


def unequal_pairs(
    source: list[CanonicalToken],
    target: list[CanonicalToken],
    identity: Identity,
    source_ids: Mapping[int, int],
) -> list[str]:
    """Return how pairs (source id by target id) differ from what :func:`match` finds, in words."""
    matches = match(source, target, identity)
    unequal = [
        f"{source[own].string!r} and {target[number].string!r} are paired"
        for number, own in source_ids.items()
        if own not in matches[number]
    ]
    return unequal + [
        f"{target[number].string!r} is in both and not paired"
        for number, own in enumerate(matches)
        if own and number not in source_ids
    ]
