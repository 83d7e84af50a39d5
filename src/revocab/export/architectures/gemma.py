"""Gemma: one matrix for embedding and head, norms around one."""

from __future__ import annotations

from revocab.export.architecture import Architecture, check_llama3, shifted_norms

ARCHITECTURE = Architecture(
    name="gemma",
    model_types=("gemma",),
    stored=shifted_norms,
    only={"tie_word_embeddings": (True,)},
    refuses=check_llama3,
)
