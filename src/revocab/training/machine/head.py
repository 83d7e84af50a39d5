"""What is known of a model's head without torch: whether its loss is chunked, and the chunk."""

from __future__ import annotations

from typing import Any

#: Logits held at once (elements). 512 Ki floats are 2 MiB: about a CPU core's second-level cache.
CPU_CHUNK_ELEMENTS = 1 << 19
#: A GPU wants large products: 64 Mi floats are 256 MiB.
GPU_CHUNK_ELEMENTS = 1 << 26

#: Architectures whose logits are exactly ``hidden @ lm_head.weight.T`` (no bias, cap or scale).
PLAIN_HEADS = frozenset({"llama", "mistral", "qwen2", "qwen3"})


def has_plain_head(model: Any) -> bool:
    """Say whether ``model`` may be trained with chunks of logits
    (:func:`revocab.training.loop.loss.linear_cross_entropy`).
    """
    head = getattr(model, "lm_head", None)
    return model.config.model_type in PLAIN_HEADS and getattr(head, "bias", head) is None
