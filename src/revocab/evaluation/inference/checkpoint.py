"""What every engine settles before it loads a checkpoint: is it one, which device, which dtype."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from revocab.models.folder import TOKENIZER_FILES


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that an engine loads, and the device that it goes to."""

    folder: Path
    #: cpu, cuda, cuda:1, ...; not auto.
    device: str
    #: The name of a torch dtype; auto: as stored.
    dtype: str
    #: Sequences at a time; an engine may batch by itself.
    batch_size: int


def tokenizer_fingerprint(folder: str | Path) -> str:
    """Return a hash of the tokenizer files in a model folder: equal means equal token ids."""
    digest = hashlib.sha256()
    folder = Path(folder)
    named = {folder / name for name in TOKENIZER_FILES}
    for path in sorted(named | {*folder.glob("*token*"), *folder.glob("*.model")}):
        if not path.is_file():
            continue
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def choose_device(device: str) -> str:
    """Return ``device``, or for ``auto`` cuda where there is one, else cpu."""
    import torch

    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def choose_dtype(dtype: str, device: str) -> str:
    """Return ``dtype``, or for ``auto`` float32 on CPU, where halves are slow, else as stored."""
    return "float32" if dtype == "auto" and device == "cpu" else dtype
