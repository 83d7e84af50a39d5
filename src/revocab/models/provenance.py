"""What an adapted model was made of: hashes, counts, versions; no times, no paths."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from revocab.io import sha256
from revocab.models.folder import ModelFolder


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that the numbers depend on."""
    return {name: version(name) for name in ("revocab", "safetensors", "torch", "transformers")}


def tokenizer_hash(folder: Path) -> str:
    """Return the hash of what a tokenizer does: its ``tokenizer.json``."""
    return sha256(folder / "tokenizer.json")


def fingerprint(model: ModelFolder) -> dict[str, Any]:
    """Return the hashes of a model's configuration and of its vocabulary matrices.

    Only what initialisation reads is hashed: hashing 15 GB of other weights would cost more than
    the conversion itself.
    """
    import torch

    matrices = {
        which: hashlib.sha256(
            model.read(name).contiguous().flatten().view(torch.uint8).numpy().data
        ).hexdigest()
        for which, name in model.vocabulary_tensors.items()
    }
    return {"config.json": sha256(model.path / "config.json"), "matrices": matrices}
