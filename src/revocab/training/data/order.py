"""The order in which a training reads packed rows: as they were packed, or drawn by a seed.

Rows are packed once, in the order of the experiment's seed. A run with another seed reads the same
rows in another order: corpora take turns as packing with that seed would have them, each in its
share at every point (:func:`revocab.training.data.mixture.interleave`), and the rows of each corpus
come in an order of their own. Rows of a stage with a mixture of its own stay in that stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from revocab.training.data.mixture import interleave


def stages_of(manifest: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    """Yield the rows of each corpus, stage by stage, of a packed folder's manifest."""
    for part in manifest.get("stages", [manifest]):
        yield {corpus: one["rows"] for corpus, one in part["corpora"].items()}


def drawn_order(manifest: Mapping[str, Any], rows: int, seed: int) -> np.ndarray:
    """Return the packed row (int64) that is read at each place of a training on the first ``rows``.

    ``manifest`` is that of the packed folder, ``seed`` draws the order.
    """
    order, begin = np.empty(rows, dtype=np.int64), 0
    for stage, counts in enumerate(stages_of(manifest)):
        packed = interleave(counts, manifest["seed"], stage)
        used = {name: one[one < rows - begin] for name, one in packed.items()}
        places = interleave({name: len(one) for name, one in used.items()}, seed, stage)
        for number, name in enumerate(used):
            own = np.random.default_rng([seed, number, stage, 2]).permutation(used[name])
            order[begin + places[name]] = begin + own
        begin += sum(counts.values())
    return order
