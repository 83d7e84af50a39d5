"""Ids in ``config.json`` and ``generation_config.json`` after tokens were renumbered.

Every id that a setting names keeps its row, so nothing is looked for by its role, as it is for a
new vocabulary (:mod:`.special_ids`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from revocab.heavy_types import ndarray
from revocab.models.vocabulary.padding import TOKEN_ROWS

_ROLE = re.compile(r"_token_ids?$|_token_index$")
_LISTS = ("bad_words_ids", "begin_suppress_tokens", "suppress_tokens")
#: Settings that have ids among other numbers; they are dropped, and that is told.
_MIXED = ("constraints", "force_words_ids", "forced_decoder_ids", "sequence_bias")


def _ids_in(value: Any) -> Iterator[int]:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _ids_in(inner)


def named_ids(settings: dict[str, Any], lists: bool = True) -> set[int]:
    """Return the ids that settings name; without ``lists``, those alone that have a role."""
    named = [value for key, value in settings.items() if _ROLE.search(key)]
    named += [settings.get(key) for key in _LISTS] if lists else []
    return {*_ids_in(named)}


def _with_new_ids(value: Any, new_id: Callable[[int], int | None]) -> Any:
    if isinstance(value, list):
        inner = [_with_new_ids(entry, new_id) for entry in value]
        return [entry for entry in inner if entry is not None] or None
    return new_id(value) if [*_ids_in(value)] else value


def renumbered(settings: dict[str, Any], kept_N: ndarray) -> tuple[dict[str, Any], list[str]]:
    """Return settings for the rows ``kept_N`` alone (ascending), and the keys that were dropped.

    Every ``vocab_size`` becomes the number of kept rows below it, and no row is padding.
    """
    new_ids = {old: new for new, old in enumerate(kept_N.tolist())}
    changed: dict[str, Any] = {}
    for key, value in settings.items():
        if key in (*_MIXED, TOKEN_ROWS):
            continue
        if key == "text_config" and isinstance(value, dict):
            changed[key] = renumbered(value, kept_N)[0]
        elif "vocab_size" in key and isinstance(value, int):
            changed[key] = int((kept_N < value).sum())
        else:
            names = key in _LISTS or _ROLE.search(key)
            changed[key] = _with_new_ids(value, new_ids.get) if names else value
    return changed, [key for key in _MIXED if settings.get(key) is not None]
