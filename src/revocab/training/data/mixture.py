"""Shares of corpora, rows for each, and where in training they come, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from revocab.errors import RevocabError, refuse

if TYPE_CHECKING:
    import numpy as np


def shares_by_size(
    shares: Mapping[str, float | None], sizes: Mapping[str, int]
) -> dict[str, float]:
    """Fill in the shares that are ``None``: what the others leave, in proportion to size.

    Fixed shares stay as they are, as VocADT (appendix A) keeps English at 1/n.
    """
    left = 1.0 - sum(share for share in shares.values() if share is not None)
    weights = {name: sizes[name] for name, share in shares.items() if share is None}
    if not weights:
        return {name: share for name, share in shares.items() if share is not None}
    if left <= 0 or min(weights.values()) <= 0:
        raise RevocabError(
            f"shares: {left:g} is left for the corpora drawn by size ({', '.join(weights)}); lower"
            " the fixed shares, and give corpora with text"
        )
    total = sum(weights.values())
    return {
        name: left * weights[name] / total if share is None else share
        for name, share in shares.items()
    }


def rows_by_share(shares: Mapping[str, float], rows: int) -> dict[str, int]:
    """Split ``rows`` by ``shares`` (sum 1) by largest remainder, ties in the order given.

    Rows have equal length, so this is the split by tokens, exact to one row. Raises
    :class:`RevocabError` when shares do not sum to 1 or a corpus would get no row.
    """
    total = sum(shares.values())
    if abs(total - 1.0) > 1e-6 or min(shares.values(), default=0) <= 0:
        listed = ", ".join(f"{name}={share}" for name, share in shares.items()) or "none"
        raise RevocabError(f"shares: {listed} sum to {total:g}; give positive shares that sum to 1")
    exact = {name: share * rows for name, share in shares.items()}
    counts = {name: int(value + 1e-9) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: rows - sum(counts.values())]:
        counts[name] += 1
    for name, count in counts.items():
        if count == 0:
            raise RevocabError(
                f"share of {name}: {shares[name]} of {rows} rows is less than one row; "
                "raise the share, or the steps or batch size of the recipe"
            )
    return counts


def interleave(counts: Mapping[str, int], seed: int, stage: int = 0) -> dict[str, np.ndarray]:
    """Return for each corpus the sorted positions (int64) of its rows in training order.

    Stratified: row ``i`` of ``n`` falls at a seeded random place in ``[i/n, (i+1)/n)`` of the run,
    so at every point each corpus is within as many rows of its share as there are corpora (a blind
    shuffle strays by about sqrt(rows)), without a rhythm that could beat against the batch size.
    Every ``stage`` has an order of its own.
    """
    import numpy as np

    places, owners = [], []
    for number, count in enumerate(counts.values()):
        random = np.random.default_rng([seed, number, stage] if stage else [seed, number])
        places.append((np.arange(count) + random.random(count)) / count)
        owners.append(np.full(count, number))
    order = np.argsort(np.concatenate(places), kind="stable")
    owner_of_row = np.concatenate(owners)[order]
    return {name: np.flatnonzero(owner_of_row == number) for number, name in enumerate(counts)}


def shuffled(places: Sequence[np.ndarray], seed: int, corpus: int) -> list[np.ndarray]:
    """Return one corpus's positions, stage by stage, each stage's in an order drawn by the seed.

    The rows of a stage stay its own; ``corpus`` is the corpus's number.
    """
    import numpy as np

    return [
        np.random.default_rng([seed, corpus, stage, 1]).permutation(own)
        for stage, own in enumerate(places)
    ]


def layout(
    shares: Mapping[str, Sequence[float]], stages: Sequence[tuple[str, int]], seed: int
) -> dict[str, list[np.ndarray]]:
    """Return for each corpus, stage by stage, the positions (int64) of its rows in the whole run.

    ``shares`` has one share per stage for every corpus (0: it has no part in that one), ``stages``
    are names and rows; the rows of a stage lie after those of the one before it. Raises
    :class:`RevocabError` as :func:`rows_by_share` does, for all stages at once.
    """
    import numpy as np

    nothing = np.zeros(0, dtype=np.int64)
    positions: dict[str, list[np.ndarray]] = {name: [] for name in shares}
    problems, begin = [], 0
    for number, (stage, rows) in enumerate(stages):
        drawn = {name: corpus_shares[number] for name, corpus_shares in shares.items()}
        if len(stages) > 1:
            drawn = {name: share for name, share in drawn.items() if share}
        try:
            counts = rows_by_share(drawn, rows)
        except RevocabError as error:
            where = f"stage {stage}: " if len(stages) > 1 else ""
            problems += [f"{where}{problem}" for problem in error.problems]
            continue
        places = interleave(counts, seed, number)
        for name, stages_places in positions.items():
            stages_places.append(begin + places[name] if name in places else nothing)
        begin += rows
    refuse(problems)
    return positions
