"""Qwen2, Qwen2.5 and Qwen3, which has norms of queries and keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.product.export.architecture import Architecture, check_llama3


def refuses(settings: Any) -> Iterator[str]:
    yield from check_llama3(settings)
    if getattr(settings, "use_sliding_window", False):
        yield "use_sliding_window: true; llama.cpp's qwen2 and qwen3 see all positions"


ARCHITECTURE = tuple(
    Architecture(name=name, model_types=(name,), only={"hidden_act": ("silu",)}, refuses=refuses)
    for name in ("qwen2", "qwen3")
)
