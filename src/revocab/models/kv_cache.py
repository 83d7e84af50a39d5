"""How much memory attention keeps for each token it has read: the keys and values of all layers."""

from __future__ import annotations

from typing import Any


def head_width(config: Any) -> int:
    """Return the width of one attention head of a transformers configuration."""
    text = config.get_text_config()
    return getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads


def cache_bytes_per_token(config: Any, dtype: str) -> int:
    """Return the bytes of keys and values that one token takes in all layers.

    ``dtype`` is a torch name; ``auto`` stands for the one that the configuration stores.
    """
    import torch

    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    stored = dtype if dtype != "auto" else str(text.dtype or "float32").removeprefix("torch.")
    size = getattr(torch, stored).itemsize
    return 2 * text.num_hidden_layers * heads * head_width(config) * size
