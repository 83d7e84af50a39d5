"""P-values of several comparisons: their adjustment, and how finely it must be able to tell them.

Apart from :mod:`revocab.evaluation.resampling`, which imports numpy: tables need this much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Below this adjusted p-value a difference is called significant.
LEVEL = 0.05
#: So many exchanges of a permutation test must be able to lie beyond a difference at ``LEVEL``.
FEW = 10


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm, 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def most_exchanges(resamples: int, comparisons: int) -> int:
    """Return how many exchanges tell a p-value that is adjusted for so many comparisons."""
    return max(resamples, math.ceil(FEW * comparisons / LEVEL))
