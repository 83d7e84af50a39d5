"""Models with rows of padding that would be written all the time if nothing held them back."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from revocab.initialise.rows.source_weights import FILE, read_source_weights, write_source_weights
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.token_rows import TOKEN_ROWS


def pad(folder: Path, out: Path, rows: int, value: float = 9.0) -> Path:
    """Copy a model of one file with ``rows`` rows.

    Those after its tokens' have, in turn, minus and plus ``value`` everywhere: whatever the hidden
    state, the logit of one of them is likely the largest.
    """
    shutil.copytree(folder, out)
    tensors = load_file(out / "model.safetensors")
    config = read_json(out / "config.json")
    tokens = config["vocab_size"]
    for name in ModelFolder(folder).vocabulary_tensors.values():
        more_PD = torch.full((rows - tokens, tensors[name].shape[1]), value)
        more_PD[::2] *= -1
        tensors[name] = torch.cat([tensors[name], more_PD.to(tensors[name].dtype)])
    save_file(tensors, out / "model.safetensors", {"format": "pt"})
    write_json(out / "config.json", {**config, "vocab_size": rows, TOKEN_ROWS: tokens})
    if (folder / FILE).is_file():
        weights = read_source_weights(folder)
        write_source_weights(out, {which: sparse.padded(rows) for which, sparse in weights.items()})
    return out
