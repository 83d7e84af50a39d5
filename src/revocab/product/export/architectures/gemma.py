"""Gemma: norms around one, and one matrix for embedding and head.

Gemma 2 caps logits and has a window in every second layer; of Gemma 3, which is exported for text,
five layers of six have a window and a rotation of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.errors import RevocabError
from revocab.models.parameters import head_width
from revocab.product.export.architecture import Architecture, check_llama3, rotations, shifted_norms

#: llama.cpp divides scores by the root of a head's width, but for these many layers.
BY_WIDTH_PER_HEAD = {"gemma2": 46, "gemma3": 62}
#: Of so many layers of Gemma 3 the last sees all positions.
PERIOD = 6


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


def refuses_gemma2(settings: Any) -> Iterator[str]:
    yield from check_llama3(settings)
    yield from check_scale(settings, BY_WIDTH_PER_HEAD["gemma2"])
    expected = ["sliding_attention", "full_attention"] * settings.num_hidden_layers
    if list(settings.layer_types) != expected[: settings.num_hidden_layers]:
        yield "layer_types: llama.cpp's gemma2 has a window in the first of every two layers"


def both_rotations(settings: Any) -> dict[str, Any]:
    """Return both rotations' keys; :class:`RevocabError` for scalings other than linear."""
    by_layer = rotations(settings)
    whole, window = by_layer["full_attention"], by_layer["sliding_attention"]
    keys: dict[str, Any] = {
        "rope.freq_base": float(whole["rope_theta"]),
        "rope.freq_base_swa": float(window["rope_theta"]),
    }
    kinds = whole.get("rope_type", "default"), window.get("rope_type", "default")
    if kinds[0] == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(whole["factor"])}
    if kinds not in (("default", "default"), ("linear", "default")):
        raise RevocabError(f"config.json: rope_type {kinds}; only default and linear are exported")
    return keys


def refuses_gemma3(settings: Any) -> Iterator[str]:
    yield from check_scale(settings, BY_WIDTH_PER_HEAD["gemma3"])
    expected = [
        "sliding_attention" if (layer + 1) % PERIOD else "full_attention"
        for layer in range(settings.num_hidden_layers)
    ]
    if list(settings.layer_types) != expected:
        yield f"layer_types: llama.cpp's gemma3 has a window in all layers but every {PERIOD}th"


ARCHITECTURE = (
    Architecture(
        name="gemma",
        model_types=("gemma",),
        stored=shifted_norms,
        only={"tie_word_embeddings": (True,)},
        refuses=check_llama3,
    ),
    Architecture(
        name="gemma2",
        model_types=("gemma2",),
        settings=(
            ("sliding_window", "attention.sliding_window", int),
            ("attn_logit_softcapping", "attn_logit_softcapping", float),
            ("final_logit_softcapping", "final_logit_softcapping", float),
        ),
        stored=shifted_norms,
        only={"tie_word_embeddings": (True,)},
        refuses=refuses_gemma2,
    ),
    Architecture(
        name="gemma3",
        model_types=("gemma3_text",),
        settings=(
            ("sliding_window", "attention.sliding_window", int),
            ("final_logit_softcapping", "final_logit_softcapping", float),
        ),
        stored=shifted_norms,
        refuses=refuses_gemma3,
        keys=both_rotations,
    ),
)
