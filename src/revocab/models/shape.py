"""Models on the meta device: their layers and shapes, without memory for weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load_config(folder: str | Path) -> Any:
    """Return a folder's configuration as transformers reads it, without names of code to run.

    Which code computes attention and experts is never the folder's choice: of a name with a slash
    in ``config.json`` transformers would fetch a kernel from the Hub and run it.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return with_own_code(config)


def with_own_code(config: Any) -> Any:
    """Let transformers choose what computes attention and experts, in all parts, in place."""
    config._attn_implementation = config._experts_implementation = None
    return config


def load_shape(folder: str | Path) -> Any:
    """Return a folder's causal language model on the meta device: its shapes, without weights."""
    return shape_of(load_config(folder))


def shape_of(config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        shape = AutoModelForCausalLM.from_config(with_own_code(config))
        shape.tie_weights()
    return shape
