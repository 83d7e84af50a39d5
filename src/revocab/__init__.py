"""Revocab: swap the vocabulary of a pretrained language model; measure what it gains and costs.

Shape suffixes used in tensor names throughout the package:

    V  vocabulary rows      D  hidden size       N  selected tokens (anchors, missing, ...)
    B  batch                L  sequence length   K  neighbours

so ``source_VD`` is a vocabulary-by-hidden matrix. No suffix where only one shape is possible.
"""

#: What Python programs call (docs/quickstart.md), loaded at first use: importing is instant.
__all__ = [
    "RevocabError", "adapt", "check", "export", "fertility", "init", "intersect", "target_matrix",
    "trim",
]  # fmt: skip


def __getattr__(name: str) -> object:
    # Not import statements: every stage stands on this file, and none on all of the package.
    from importlib import import_module, metadata

    if name == "__version__":  # of the tag that was installed
        return metadata.version("revocab")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    return getattr(import_module("revocab.api"), name)
