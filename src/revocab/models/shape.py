"""Models on the meta device: their layers and shapes, without memory for weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Which code computes attention and experts is never the folder's choice: of a name with a slash in
#: ``config.json``, transformers fetches a kernel from the Hub and runs it. None: its own code.
OWN_CODE: dict[str, Any] = {"attn_implementation": None, "experts_implementation": None}


def load_shape(folder: str | Path) -> Any:
    """Return a folder's causal language model on the meta device: its shapes, without weights."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return shape_of(config)


def shape_of(config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        shape = AutoModelForCausalLM.from_config(config, **OWN_CODE)
        shape.tie_weights()
    return shape
