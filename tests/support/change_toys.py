"""Small models of many architectures, and changes of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from jobs import job_of

from revocab.models.change import ChangeJob, change_model
from revocab.models.folder import ModelFolder

#: A text with every token of a toy tokenizer that is no special one, longer than any window here.
TEXT = torch.arange(3, 60)[None]
SHAPE = {
    "vocab_size": 289,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}


def write_architecture(tokenizer: Path, out: Path, kind: str, **settings: Any) -> Path:
    """Write a model of any architecture of transformers, with random weights everywhere."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(kind, **{**SHAPE, **settings})
    model = AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():  # norms and biases too
        parameter.data.normal_(std=0.1, generator=generator)
    model.save_pretrained(out)
    for file in tokenizer.iterdir():
        shutil.copyfile(file, out / file.name)
    return out


def changed(change: str, model: Path, out: Path, **option: Any) -> Path:
    change_model(job_of(ChangeJob, change=change, **option), model, out)
    return out


def tensors_of(folder: Path) -> dict[str, torch.Tensor]:
    model = ModelFolder(folder)
    return {name: model.read(name) for name in model.tensors}


def logits(folder: Path, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    with torch.no_grad():
        return model(TEXT).logits
