"""Gemma: one matrix for embedding and head, norms around one."""

from __future__ import annotations

from revocab.export.architecture import Architecture, check_llama3, shifted_norms

#: The names of one function.
GELU = ("gelu_pytorch_tanh", "gelu")

ARCHITECTURE = Architecture(
    name="gemma",
    model_types=("gemma",),
    stored=shifted_norms,
    only={"tie_word_embeddings": (True,)},
    untied=False,
    refuses=check_llama3,
)
