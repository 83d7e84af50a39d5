"""Gemma 3 for text: five layers of six with a window and a rotation of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.errors import RevocabError
from revocab.export.architecture import Architecture, rotations, shifted_norms
from revocab.export.architectures.gemma2 import check_scale

#: The model with so many layers is scaled otherwise.
BY_WIDTH_PER_HEAD = 62
PERIOD = 6


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


def refuses(settings: Any) -> Iterator[str]:
    yield from check_scale(settings, BY_WIDTH_PER_HEAD)
    expected = [
        "sliding_attention" if (layer + 1) % PERIOD else "full_attention"
        for layer in range(settings.num_hidden_layers)
    ]
    if list(settings.layer_types) != expected:
        yield f"layer_types: llama.cpp's gemma3 has a window in all layers but every {PERIOD}th"


ARCHITECTURE = Architecture(
    name="gemma3",
    model_types=("gemma3_text",),
    settings=(
        ("sliding_window", "attention.sliding_window", int),
        ("final_logit_softcapping", "final_logit_softcapping", float),
    ),
    stored=shifted_norms,
    refuses=refuses,
    keys=both_rotations,
)
