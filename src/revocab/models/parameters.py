"""Parameter counts from configurations alone: built on the meta device, without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from revocab.config.schema import Architecture


def model_config(
    architecture: Architecture, vocabulary_size: int, **keys: object
) -> PretrainedConfig:
    """Return the transformers configuration of an architecture; ``keys`` go through to it."""
    from transformers import LlamaConfig, MistralConfig

    shape = {
        "vocab_size": vocabulary_size,
        "hidden_size": architecture.hidden_size,
        "intermediate_size": architecture.intermediate_size,
        "num_hidden_layers": architecture.layers,
        "num_attention_heads": architecture.heads,
        "num_key_value_heads": architecture.kv_heads,
        "tie_word_embeddings": architecture.tied,
        **keys,
    }
    if architecture.family == "mistral":
        # Full attention, as in Mistral-7B from v0.2 on; contexts here are shorter than the window.
        return MistralConfig(sliding_window=None, **shape)
    return LlamaConfig(**shape)


def count_parameters(architecture: Architecture, vocabulary_size: int) -> int:
    """Return the number of parameters; a tied matrix counts once."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(model_config(architecture, vocabulary_size))
        model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())
