"""Llama and Mistral: pairs of a head's dimensions are turned side by side, not halves apart."""

from __future__ import annotations

from typing import Any

from revocab.heavy_types import Tensor
from revocab.product.export.architecture import Architecture, rotations, usual_rotation

#: Which heads a projection has, by its name.
TURNED = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}


def stored(tensor: Tensor, name: str, settings: Any) -> Tensor:
    """Return a tensor; of queries and keys with each head's rows in the order of pairs."""
    heads = TURNED.get(name.split(".")[-2])
    if heads is None:
        return tensor
    count = getattr(settings, heads)
    halves = tensor.reshape(count, 2, tensor.shape[0] // count // 2, *tensor.shape[1:])
    return halves.swapaxes(1, 2).reshape(tensor.shape)


def keys(settings: Any) -> dict[str, Any]:
    """Return the keys; llama.cpp's llama has no window, so the context ends where one would."""
    window = getattr(settings, "sliding_window", None) or settings.max_position_embeddings
    length = min(window, settings.max_position_embeddings)
    return {**usual_rotation(settings), "context_length": length}


def tensors(settings: Any) -> dict[str, Tensor]:
    """Return what Llama 3.1 divides the frequencies of positions by."""
    if rotations(settings).get("rope_type") != "llama3":
        return {}
    import torch
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](settings, torch.device("cpu"))
    exponents = torch.arange(len(scaled), dtype=torch.float32) / len(scaled)
    return {"rope_freqs.weight": rotations(settings)["rope_theta"] ** -exponents / scaled}


ARCHITECTURE = Architecture(
    name="llama",
    model_types=("llama", "mistral"),
    stored=stored,
    only={"hidden_act": ("silu",)},
    keys=keys,
    tensors=tensors,
)
