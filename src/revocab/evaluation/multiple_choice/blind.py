"""How guesses that see no question score on multiple choice: near chance, if all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

#: File beside items that are made here.
BASELINES = "baselines.json"


def blind_baselines(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the accuracy of guessing the longest, the shortest, and the commonest position.

    Beside ``items`` and ``chance``, the accuracy of drawing one of an item's choices.
    """
    total = len(rows)
    hits = {"longest": 0, "shortest": 0}
    for row in rows:
        lengths = list(map(len, row["choices"]))
        hits["longest"] += lengths.index(max(lengths)) == row["answer"]
        hits["shortest"] += lengths.index(min(lengths)) == row["answer"]
    position = Counter(row["answer"] for row in rows).most_common(1)[0][1]
    return {
        "items": total,
        "chance": sum(1 / len(row["choices"]) for row in rows) / total,
        **{name: count / total for name, count in hits.items()},
        "majority_position": position / total,
    }
