"""Special token ids in ``config.json`` and ``generation_config.json`` for a new vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from revocab.models.vocabulary.padding import TOKEN_ROWS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from revocab.models.vocabulary.counterparts import Counterparts

_ROLES = ("bos", "eos", "pad", "unk")
#: Settings that name token ids of the old vocabulary and have no counterpart in a tokenizer.
_STALE = (
    "bad_words_ids",
    "begin_suppress_tokens",
    "cls_token_id",
    "constraints",
    "decoder_start_token_id",
    "force_words_ids",
    "forced_bos_token_id",
    "forced_decoder_ids",
    "forced_eos_token_id",
    "mask_token_id",
    "sep_token_id",
    "sequence_bias",
    "suppress_tokens",
)


def special_ids(tokenizer: PreTrainedTokenizerBase) -> dict[str, int | None]:
    """Return ``bos_token_id`` and so on, as the tokenizer has them."""
    return {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in _ROLES}


def config_ids(ids: dict[str, int | None]) -> dict[str, int | None]:
    """Return the ids for ``config.json``: no pad where bos or eos doubles as pad.

    transformers turns ``pad_token_id`` into the embedding's ``padding_idx``, which starts that row
    at zero and keeps it from training; ``generation_config.json`` may name it without that effect.
    """
    shared = ids["pad_token_id"] in (ids["bos_token_id"], ids["eos_token_id"])
    return {**ids, "pad_token_id": None} if shared else dict(ids)


def _carried(
    key: str, old: list[Any], own: int | None, counterparts: Counterparts
) -> tuple[list[int] | None, list[str]]:
    """Return a list of ids in the new vocabulary, and the names of those that it lacks.

    The tokenizer's ``own`` token of that role is always among them: it ends the text that the
    model will be trained on.
    """
    kept, lost = counterparts.carry(old, key.removesuffix("_token_id"))
    if own is not None and own not in kept:
        kept.append(own)
    return kept or None, [f"{key} {counterparts.name(number)}" for number in lost]


def with_ids(
    settings: dict[str, Any], ids: dict[str, int | None], counterparts: Counterparts
) -> tuple[dict[str, Any], list[str]]:
    """Return settings with the tokenizer's ids, and the names of what was dropped.

    A role that the tokenizer lacks becomes null where it was set, and stays absent where it was
    absent: an id of the old vocabulary would name an unrelated token, or none. One id stays one id,
    a list stays a list of all counterparts. Dropped are stale settings (their key) and ids of a
    list without a counterpart (key, id and spelling).
    """
    dropped = [key for key in _STALE if settings.get(key) is not None]
    changed = {key: value for key, value in settings.items() if key not in _STALE}
    for key, value in ids.items():
        old = changed.get(key)
        if isinstance(old, list):
            changed[key], lost = _carried(key, old, value, counterparts)
            dropped += lost
        elif value is not None or key in changed:
            changed[key] = value
    return changed, dropped


def _with_config_ids(
    config: dict[str, Any], ids: dict[str, int | None], counterparts: Counterparts
) -> tuple[dict[str, Any], list[str]]:
    """As :func:`with_ids`; no pad either where a carried end token doubles as pad."""
    config = {key: value for key, value in config.items() if key != TOKEN_ROWS}  # of the old rows
    changed, dropped = with_ids(config, config_ids(ids), counterparts)
    ends, pad = changed.get("eos_token_id"), changed.get("pad_token_id")
    if isinstance(ends, list) and pad in ends:
        changed["pad_token_id"] = None
    return changed, dropped


def new_config(
    config: dict[str, Any],
    tokens: int,
    rows: int,
    ids: dict[str, int | None],
    counterparts: Counterparts,
) -> tuple[dict[str, Any], list[str]]:
    """Return ``config.json`` for ``tokens``, of ``rows`` rows, and what was dropped; nested parts
    included.
    """
    sizes = {"vocab_size": rows, **({TOKEN_ROWS: tokens} if rows != tokens else {})}
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
    """Return ``generation_config.json``, made anew where the source has none.

    Generation then follows the source's ``config``, whose lists of ids are taken over. The ids of
    ``padding`` are suppressed; the source's own are forgotten.
    """
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
