"""Held-out loss of a model on the windows that ``pack_heldout`` wrote."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from revocab import io
from revocab.errors import RevocabError
from revocab.training.loss import summed_loss

#: Tokens (with padding) put through the model at once.
CPU_BATCH_TOKENS = 8192
GPU_BATCH_TOKENS = 65536


@dataclass(frozen=True)
class HeldoutCorpus:
    """Windows of one corpus, longest first: ``input_ids`` [W, L], ``lengths`` [W], int32."""

    name: str
    language: str
    bytes: int
    tokens: int
    input_ids: torch.Tensor
    lengths: torch.Tensor


def open_heldout(folder: str | Path) -> tuple[list[HeldoutCorpus], dict[str, Any]]:
    """Load a held-out folder: its corpora in manifest order, and the manifest.

    Windows are sorted by length, so that batches carry little padding. Raises
    :class:`RevocabError` if a file is damaged.
    """
    folder = Path(folder)
    manifest = io.read_json(folder / "manifest.json")
    corpora = []
    for name, described in manifest["corpora"].items():
        file = folder / f"{name}.safetensors"
        if io.sha256(file) != described["sha256"]:
            raise RevocabError(
                f"{file}: checksum differs from the manifest; delete {folder} and pack again"
            )
        arrays = load_file(file)
        order = torch.argsort(arrays["lengths"], descending=True, stable=True)
        corpora.append(
            HeldoutCorpus(
                name,
                described["language"],
                described["bytes"],
                described["tokens"],
                arrays["input_ids"][order],
                arrays["lengths"][order],
            )
        )
    return corpora, manifest


def heldout_loss(model: Any, corpus: HeldoutCorpus) -> float:
    """Return the summed loss of ``corpus`` in nats, computed in float32 for every precision."""
    device = next(model.parameters()).device
    budget = CPU_BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS
    training = model.training
    model.eval()
    total = torch.zeros((), dtype=torch.float64, device=device)
    begin = 0
    while begin < len(corpus.lengths):
        size = max(1, budget // int(corpus.lengths[begin]))
        batch = slice(begin, begin + size)
        ids = corpus.input_ids[batch, : int(corpus.lengths[begin])].to(device, torch.int64)
        total += summed_loss(model, ids, corpus.lengths[batch].to(device))
        begin += size
    model.train(training)
    return float(total)


def heldout_rows(model: Any, corpora: list[HeldoutCorpus], step: int) -> list[tuple]:
    """Return the rows of ``heldout.csv`` for ``step``: loss per token (nats) and bits per byte."""
    rows = []
    for corpus in corpora:
        nats = heldout_loss(model, corpus)
        rows.append(
            (
                step,
                corpus.name,
                corpus.language,
                nats / corpus.tokens,
                nats / (corpus.bytes * math.log(2)),
                corpus.tokens,
                corpus.bytes,
            )
        )
    return rows
