"""Models on the meta device: their layers and shapes, without memory for weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load_shape(folder: str | Path) -> Any:
    """Return a folder's causal language model on the meta device: its shapes, without weights."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return shape_of(config)


def shape_of(config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        shape = AutoModelForCausalLM.from_config(config)
        shape.tie_weights()
    return shape
