"""Model folders with weights that are missing, too many, of another shape, NaN or infinite."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

Tensors = dict[str, torch.Tensor]
UP, DOWN = "model.layers.1.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight"
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


def without(name: str) -> Callable[[Tensors], object]:
    return lambda tensors: tensors.pop(name)


def with_value(name: str, place: object, value: float) -> Callable[[Tensors], object]:
    return lambda tensors: tensors[name].__setitem__(place, value)


#: What is done to the tensors of an untied Mistral, and what the error says of it.
DAMAGES = {
    "no mlp": (without(UP), f"are missing: {UP}; they would be initialised at random"),
    "no head": (without(HEAD), f"are missing: {HEAD};"),
    "unexpected": (
        lambda tensors: tensors.update({"model.layers.7.mlp.up_proj.weight": torch.ones(2, 2)}),
        "MistralForCausalLM does not have: model.layers.7.mlp.up_proj.weight;",
    ),
    "shape": (
        lambda tensors: tensors.update({UP: tensors[UP][:-1].clone()}),
        f"whose shapes differ from config.json: {UP} [",
    ),
    "nan": (with_value(DOWN, (3, 5), torch.nan), f"NaN or infinite: {DOWN}, 1 of "),
    "inf": (with_value(EMBEDDING, slice(7, 9), -torch.inf), f"{EMBEDDING}, 2 of "),
}


def damaged(source: Path, out: Path, change: Callable[[Tensors], object]) -> Path:
    """Copy a one-file model folder with its tensors changed in place."""
    shutil.copytree(source, out)
    tensors = load_file(out / "model.safetensors")
    change(tensors)
    save_file(tensors, out / "model.safetensors", {"format": "pt"})
    return out
