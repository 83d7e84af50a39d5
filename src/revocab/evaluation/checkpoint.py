"""What every engine asks before it loads a checkpoint: is it one, where to, in which dtype."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from revocab.errors import RevocabError


def tokenizer_fingerprint(folder: str | Path) -> str:
    """Return a hash of the tokenizer files in a model folder: equal means equal token ids."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*token*")) + sorted(Path(folder).glob("*.model")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def check_model_folder(folder: str | Path) -> None:
    """Raise :class:`RevocabError` unless ``folder`` is a Hugging Face model folder."""
    if not (Path(folder) / "config.json").is_file():
        raise RevocabError(f"{folder}: not a model folder (it has no config.json)")


@contextmanager
def loading(folder: str | Path) -> Iterator[None]:
    """Turn what a library says of a model that it cannot load into a :class:`RevocabError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(f"{folder}: the model could not be loaded ({reason})") from error


def quiet_loading() -> None:
    """Keep transformers' progress bars off: models here load by the dozen."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def choose_device(device: str) -> str:
    """Return ``device``, or for ``auto`` cuda where there is one, else cpu."""
    import torch

    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def choose_dtype(dtype: str, device: str) -> str:
    """Return ``dtype``, or for ``auto`` float32 on CPU, where halves are slow, else as stored."""
    return "float32" if dtype == "auto" and device == "cpu" else dtype
