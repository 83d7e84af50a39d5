"""Qwen2 and Qwen2.5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.export.architecture import Architecture, check_llama3


def refuses(settings: Any) -> Iterator[str]:
    yield from check_llama3(settings)
    if getattr(settings, "use_sliding_window", False):
        yield "use_sliding_window: true; llama.cpp's qwen2 and qwen3 see all positions"


ARCHITECTURE = Architecture(
    name="qwen2", model_types=("qwen2",), only={"hidden_act": ("silu",)}, refuses=refuses
)
