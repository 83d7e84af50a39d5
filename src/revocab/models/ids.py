"""Special token ids in ``config.json`` and ``generation_config.json`` for a new vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


def with_ids(settings: dict[str, Any], ids: dict[str, int | None]) -> tuple[dict[str, Any], list]:
    """Return settings with the tokenizer's ids, and the names of stale settings that were dropped.

    A role that the tokenizer lacks becomes null where it was set, and stays absent where it was
    absent: an id of the old vocabulary would name an unrelated token, or none.
    """
    dropped = [key for key in _STALE if settings.get(key) is not None]
    changed = {key: value for key, value in settings.items() if key not in _STALE}
    for key, value in ids.items():
        if value is not None or key in changed:
            changed[key] = value
    return changed, dropped


def new_config(
    config: dict[str, Any], rows: int, ids: dict[str, int | None]
) -> tuple[dict[str, Any], list[str]]:
    """Return ``config.json`` for ``rows`` tokens, and what was dropped; nested parts included."""
    ids = config_ids(ids)
    changed, dropped = with_ids(config, ids)
    nested = changed.get("text_config")
    if isinstance(nested, dict) and "vocab_size" in nested:
        nested, more = with_ids(nested, ids)
        changed["text_config"] = {**nested, "vocab_size": rows}
        dropped += more
    if "vocab_size" in changed or not isinstance(nested, dict):
        changed["vocab_size"] = rows
    return changed, sorted(set(dropped))


def new_generation_config(
    settings: dict[str, Any] | None, ids: dict[str, int | None]
) -> tuple[dict[str, Any], list[str]]:
    """Return ``generation_config.json``, made anew where the source has none."""
    # Generation knows no unknown token.
    ids = {key: value for key, value in ids.items() if key != "unk_token_id"}
    changed, dropped = with_ids(settings or {"_from_model_config": True}, ids)
    changed.pop("unk_token_id", None)
    return changed, dropped
