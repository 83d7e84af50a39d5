"""What an adapted model was made of: hashes, counts, versions; no times, no paths."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from revocab.io import sha256
from revocab.models.folder import ModelFolder
from revocab.models.weights.files import BLOCK_BYTES, stored_parts


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that the numbers depend on."""
    return {name: version(name) for name in ("revocab", "safetensors", "torch", "transformers")}


def tokenizer_hash(folder: Path) -> str:
    """Return the hash of what a tokenizer does: its ``tokenizer.json``."""
    return sha256(folder / "tokenizer.json")


def _tensor_hash(model: ModelFolder, name: str) -> str:
    parts, _ = stored_parts(model.path / model.tensors[name][0])
    digest = hashlib.sha256()
    for block in parts[name].blocks(BLOCK_BYTES):
        digest.update(block)
    return digest.hexdigest()


def fingerprint(model: ModelFolder, tokenizer: Path) -> dict[str, Any]:
    """Return the hashes of a model's configuration, vocabulary matrices and tokenizer.

    Only what initialisation reads is hashed: hashing 15 GB of other weights would cost more than
    the conversion itself.
    """
    matrices = {
        which: _tensor_hash(model, name) for which, name in model.vocabulary_tensors.items()
    }
    return {
        "config.json": sha256(model.path / "config.json"),
        "matrices": matrices,
        "tokenizer.json": tokenizer_hash(tokenizer),
    }
