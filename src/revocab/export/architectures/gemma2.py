"""Gemma 2: capped logits, and every second layer with a window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.export.architecture import Architecture, check_llama3, shifted_norms
from revocab.models.parameters import head_width

#: llama.cpp divides scores by the root of a head's width, but for this many layers.
BY_WIDTH_PER_HEAD = 46


def check_scale(settings: Any, layers: int) -> Iterator[str]:
    """Yield a problem unless attention is scaled as llama.cpp does it, by the number of layers."""
    computed = head_width(settings)
    if settings.num_hidden_layers == layers:
        computed = settings.hidden_size // settings.num_attention_heads
    if settings.query_pre_attn_scalar != computed:
        yield (
            f"query_pre_attn_scalar: {settings.query_pre_attn_scalar}; llama.cpp computes with"
            f" {computed}"
        )


def refuses(settings: Any) -> Iterator[str]:
    yield from check_llama3(settings)
    yield from check_scale(settings, BY_WIDTH_PER_HEAD)
    expected = ["sliding_attention", "full_attention"] * settings.num_hidden_layers
    if list(settings.layer_types) != expected[: settings.num_hidden_layers]:
        yield "layer_types: llama.cpp's gemma2 has a window in the first of every two layers"


ARCHITECTURE = Architecture(
    name="gemma2",
    model_types=("gemma2",),
    settings=(
        ("sliding_window", "attention.sliding_window", int),
        ("attn_logit_softcapping", "attn_logit_softcapping", float),
        ("final_logit_softcapping", "final_logit_softcapping", float),
    ),
    stored=shifted_norms,
    only={"tie_word_embeddings": (True,)},
    refuses=refuses,
)
