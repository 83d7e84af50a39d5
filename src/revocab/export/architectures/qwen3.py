"""Qwen3: Qwen2 with norms of queries and keys."""

from __future__ import annotations

from revocab.export.architecture import Architecture
from revocab.export.architectures.qwen2 import refuses

ARCHITECTURE = Architecture(
    name="qwen3", model_types=("qwen3",), only={"hidden_act": ("silu",)}, refuses=refuses
)
