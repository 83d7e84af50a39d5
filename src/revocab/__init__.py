"""Revocab: swap the vocabulary of a pretrained language model; measure what it gains and costs.

Shape suffixes used in tensor names throughout the package:

    V  vocabulary rows      D  hidden size       N  selected tokens (anchors, missing, ...)
    B  batch                L  sequence length   K  neighbours

so ``source_VD`` is a vocabulary-by-hidden matrix. No suffix where only one shape is possible.
"""

__version__ = "0.1.0"
