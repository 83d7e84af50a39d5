"""Scores for pieces added to a Unigram vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

#: How much better than the path through old pieces a new piece is scored, where its frequency alone
#: would not do: enough to survive rounding, small enough to change nothing else.
MARGIN = 1e-3


def best_path(text: str, scores: Mapping[str, float], unknown: float) -> float:
    """Return the score of the best segmentation of ``text``: Viterbi over pieces.

    A character that is no piece costs ``unknown``.
    """
    best = [0.0]
    for end in range(1, len(text) + 1):
        value = best[end - 1] + scores.get(text[end - 1], unknown)
        for start in range(end - 1):
            piece = scores.get(text[start:end])
            if piece is not None:
                value = max(value, best[start] + piece)
        best.append(value)
    return best[-1]


def new_scores(
    scores: Mapping[str, float], uses: Mapping[str, int], total: int, tokens: Iterable[str]
) -> dict[str, float]:
    """Return a score for each new piece: its log frequency, raised so far that it is used.

    The text of a new piece is encoded as that piece only where its score beats every path through
    others. Shorter ones first: longer ones do not occur in them, so what is settled stays so.
    """
    lowest = min(scores.values())
    known = dict(scores)
    found: dict[str, float] = {}
    for token in sorted(tokens, key=lambda one: (len(one), one)):
        frequency = math.log(max(uses.get(token, 0), 1) / max(total, 1))
        path = best_path(token, known, lowest - 10.0)  # the library's cost of an unknown character
        # Never below the lowest score: the cost of an unknown character hangs on it.
        found[token] = max(frequency, path + MARGIN, lowest)
        known[token] = found[token]
    return found
