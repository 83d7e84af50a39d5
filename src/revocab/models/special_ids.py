"""Special token ids in ``config.json`` and ``generation_config.json`` for a new vocabulary.

Chat models end at several tokens (``eos_token_id: [128001, 128008, 128009]``). Each has to be found
again in the new vocabulary, or the adapted model talks past the end of its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from revocab.models.token_rows import TOKEN_ROWS
from revocab.vocabulary.tokenizers.canonical import (
    CHAT_ROLES,
    ROLE_ORDER,
    special_and_added,
    token_roles,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

_ROLES = ("bos", "eos", "pad", "unk")
#: Settings that name token ids of the old vocabulary and have no counterpart in a tokenizer.
STALE = (
    "bad_words_ids", "begin_suppress_tokens", "cls_token_id", "constraints",
    "decoder_start_token_id", "force_words_ids", "forced_bos_token_id", "forced_decoder_ids",
    "forced_eos_token_id", "mask_token_id", "sep_token_id", "sequence_bias", "suppress_tokens",
)  # fmt: skip


def special_ids(tokenizer: PreTrainedTokenizerBase) -> dict[str, int | None]:
    return {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in _ROLES}


def config_ids(ids: dict[str, int | None]) -> dict[str, int | None]:
    """Return the ids for ``config.json``: no pad where bos or eos doubles as pad.

    transformers turns ``pad_token_id`` into the embedding's ``padding_idx``, whose row starts at
    zero and is kept from training; that of ``generation_config.json`` has no such effect.
    """
    shared = ids["pad_token_id"] in (ids["bos_token_id"], ids["eos_token_id"])
    return {**ids, "pad_token_id": None} if shared else dict(ids)


class _Side:
    """The special and added tokens of one tokenizer, by id and spelling, with their roles."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, roles: Mapping[str, str]):
        numbers = sorted(special_and_added(tokenizer))
        self.spellings: dict[int, Any] = {n: tokenizer.convert_ids_to_tokens(n) for n in numbers}
        self.roles = token_roles(tokenizer, roles)
        #: What they do in a chat, also where they are padding or bos as well.
        spellings = self.spellings.items()
        self.chat_roles = {n: CHAT_ROLES[text] for n, text in spellings if text in CHAT_ROLES}

    def by_role(self, role: str | None) -> int | None:
        named = {*self.roles.items(), *self.chat_roles.items()}
        return min((number for number, own in named if own == role and role), default=None)


@dataclass(frozen=True)
class Counterparts:
    """Special tokens of a source tokenizer, found again in a target tokenizer.

    ``source_roles`` and ``target_roles`` declare roles by spelling, as for an intersection.
    """

    source: PreTrainedTokenizerFast
    target: PreTrainedTokenizerFast
    source_roles: Mapping[str, str] = field(default_factory=dict)
    target_roles: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        return _Side(self.source, self.source_roles), _Side(self.target, self.target_roles)

    def find(self, number: int, role: str) -> int | None:
        """Return the target id for a source id that a setting for ``role`` names, or None.

        A chat token that the target has, too, stays itself. Otherwise the source's own token of
        ``role`` becomes the target's own; chat tokens go by their well-known or declared role,
        others (bos, unk, pad …) by that role, then by spelling. Only special and added tokens have
        counterparts: text that is spelled like one is text.
        """
        source, target = self._sides
        key = f"{role}_token_id"
        own = getattr(self.target, key) if number == getattr(self.source, key) else None
        known, chat = source.roles.get(number), source.chat_roles.get(number)
        spelling = source.spellings.get(number, ())  # no token is spelled so
        spelled = next((own for own, text in target.spellings.items() if text == spelling), None)
        configured = target.by_role(known)
        if chat is not None:
            candidates = [spelled, own, target.by_role(chat), configured]
        elif known in ROLE_ORDER:
            candidates = [own, configured, spelled]
        else:
            candidates = [own, spelled, configured]
        return next((candidate for candidate in candidates if candidate is not None), None)

    def name(self, number: Any) -> str:
        is_id = isinstance(number, int) and 0 <= number < len(self.source)
        spelling = self.source.convert_ids_to_tokens(number) if is_id else None
        return str(number) if spelling is None else f"{number} ({spelling})"


def with_ids(
    settings: dict[str, Any], ids: dict[str, int | None], counterparts: Counterparts
) -> tuple[dict[str, Any], list[str]]:
    """Return settings with the tokenizer's ids, and the names of what was dropped.

    A role that the tokenizer lacks becomes null where it was set, and stays absent where it was
    absent: an id of the old vocabulary would name an unrelated token, or none. One id stays one id,
    a list stays a list of all counterparts. Dropped are stale settings (their key) and ids of a
    list without a counterpart (key, id and spelling).
    """
    dropped = [key for key in STALE if settings.get(key) is not None]
    changed = {key: value for key, value in settings.items() if key not in STALE}
    for key, own in ids.items():
        old = changed.get(key)
        if not isinstance(old, list):
            if own is not None or key in changed:
                changed[key] = own
            continue
        carried: list[int] = []
        for number in old:
            is_id = isinstance(number, int) and not isinstance(number, bool)
            role = key.removesuffix("_token_id")
            if (counterpart := counterparts.find(number, role) if is_id else None) is None:
                dropped.append(f"{key} {counterparts.name(number)}")
            else:
                carried.append(counterpart)
        own_ids = [] if own is None else [own]
        changed[key] = list(dict.fromkeys([*carried, *own_ids])) or None
    return changed, dropped


def _with_config_ids(
    config: dict[str, Any], ids: dict[str, int | None], counterparts: Counterparts
) -> tuple[dict[str, Any], list[str]]:
    """As :func:`with_ids`; no pad either where a carried end token doubles as pad."""
    config = {key: value for key, value in config.items() if key != TOKEN_ROWS}  # of the old rows
    changed, dropped = with_ids(config, config_ids(ids), counterparts)
    ends = changed.get("eos_token_id")
    if isinstance(ends, list) and changed.get("pad_token_id") in ends:
        changed["pad_token_id"] = None
    return changed, dropped


def new_config(
    config: dict[str, Any],
    tokens: int,
    rows: int,
    ids: dict[str, int | None],
    counterparts: Counterparts,
    more_sizes: Mapping[str, int],
) -> tuple[dict[str, Any], list[str]]:
    """Return ``config.json`` for ``tokens``, of ``rows`` rows, and what was dropped."""
    sizes = {"vocab_size": rows, **({TOKEN_ROWS: tokens} if rows != tokens else {}), **more_sizes}
    changed, dropped = _with_config_ids(config, ids, counterparts)
    nested = changed.get("text_config")
    if isinstance(nested, dict) and "vocab_size" in nested:
        nested, more = _with_config_ids(nested, ids, counterparts)
        changed["text_config"] = {**nested, **sizes}
        dropped += more
    if "vocab_size" in changed or not isinstance(nested, dict):
        changed |= sizes
    return changed, sorted(set(dropped))


def new_generation_config(
    settings: dict[str, Any] | None,
    config: dict[str, Any],
    padding: list[int],
    ids: dict[str, int | None],
    counterparts: Counterparts,
) -> tuple[dict[str, Any], list[str]]:
    """Return ``generation_config.json``, without one made to follow the source's ``config``."""
    if settings and (old := config.get(TOKEN_ROWS)):
        others = [number for number in settings.get("suppress_tokens") or () if number < old]
        settings = {**settings, "suppress_tokens": others or None}
    # Generation knows no unknown token.
    ids = {key: value for key, value in ids.items() if key != "unk_token_id"}
    lists = {key: config[key] for key in ids if isinstance(config.get(key), list)}
    changed, dropped = with_ids(
        settings or {"_from_model_config": True, **lists}, ids, counterparts
    )
    changed.pop("unk_token_id", None)
    return changed | ({"suppress_tokens": padding} if padding else {}), dropped
