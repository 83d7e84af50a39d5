"""Packed token rows as a dataset that is read front to back from a memory map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from revocab import io
from revocab.errors import RevocabError


@dataclass(frozen=True)
class PackedRows:
    """The first ``rows`` rows of a packed folder, as a torch dataset fetched by whole batches."""

    tokens: np.ndarray
    manifest: dict[str, Any]
    rows: int

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> np.ndarray:
        return self.tokens[index]

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        """Return one batch, ``input_ids`` int64 [B, L]; torch's fetcher calls this first."""
        return {"input_ids": torch.from_numpy(self.tokens[indices].astype(np.int64))}

    @property
    def sequence_length(self) -> int:
        """Tokens per row."""
        return self.manifest["sequence_length"]


def as_collated(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Collate function for :class:`PackedRows`, which makes whole batches itself."""
    return batch


def open_packed(folder: str | Path, rows: int) -> PackedRows:
    """Open a folder written by ``pack_tokens`` for ``rows`` rows of training.

    Raises :class:`RevocabError` if the file is damaged or holds too few rows.
    """
    folder = Path(folder)
    manifest = io.read_json(folder / "manifest.json")
    if manifest["rows"] < rows:
        raise RevocabError(
            f"{folder}: {manifest['rows']} rows, {rows} needed (steps x batch size); "
            f"pack again with --rows {rows}"
        )
    found = io.sha256(folder / "tokens.npy")
    if found != manifest["sha256"]:
        raise RevocabError(
            f"{folder / 'tokens.npy'}: SHA-256 {found[:12]}…, manifest says "
            f"{manifest['sha256'][:12]}…; the file is damaged: delete the folder and pack again"
        )
    return PackedRows(np.load(folder / "tokens.npy", mmap_mode="r"), manifest, rows)


def check_fit(packed: PackedRows, config: Any, model_folder: Path, heldout: dict[str, Any]) -> None:
    """Raise :class:`RevocabError` unless ids and lengths of the data suit the model."""
    problems = []
    largest = packed.manifest["largest_id"]
    if largest >= config.vocab_size:
        problems.append(
            f"{model_folder}: {config.vocab_size} vocabulary rows, but packed tokens hold id"
            f" {largest}; pack with the model's own tokenizer"
        )
    vocabulary = heldout["vocabulary_size"]
    if vocabulary > config.vocab_size:
        problems.append(
            f"{model_folder}: {config.vocab_size} vocabulary rows, but held-out text was tokenised "
            f"with {vocabulary} tokens; use the model's own tokenizer"
        )
    allowed = getattr(config, "max_position_embeddings", None)
    lengths = {
        "packed rows": packed.sequence_length,
        "held-out windows": heldout["sequence_length"],
    }
    for what, length in lengths.items():
        if allowed is not None and length > allowed:
            problems.append(
                f"{what}: sequence length {length}, but {model_folder} allows at most {allowed} "
                "(max_position_embeddings); pack shorter rows"
            )
    if problems:
        raise RevocabError(problems)
