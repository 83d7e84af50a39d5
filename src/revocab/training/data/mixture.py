"""Shares of corpora, rows for each, and where in training they come, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from revocab.errors import RevocabError, refuse

if TYPE_CHECKING:
    from revocab.training.data.packing import PackingJob, Share


def resolved_shares(
    manifests: Mapping[str, Mapping[str, Any]], options: PackingJob
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Return each corpus' share of every stage, and the bytes of those drawn by size.

    ``manifests`` are the corpora's. Raises :class:`RevocabError` where a corpus has not one share
    per stage.
    """
    stages = len(options.parts)
    alone: list[Share] = [1.0] * stages if len(manifests) == 1 else []
    shares = {name: options.shares.get(name, alone) for name in manifests}
    problems = [
        f"shares.{name}: no corpus folder of this id is given"
        for name in options.shares
        if name not in manifests
    ]
    problems += [
        f"shares.{name}: {len(own)} shares for {stages} stages; give one each"
        if own
        else f"--shares: none for {name!r}; for two corpora: --shares sw=0.5 el=0.5"
        for name, own in shares.items()
        if len(own) != stages
    ]
    refuse(problems)
    sizes = {
        name: manifests[name]["train"]["bytes"] for name, own in shares.items() if "size" in own
    }
    by_stage = [
        shares_by_size({name: own[stage] for name, own in shares.items()}, sizes)
        for stage in range(stages)
    ]
    return {name: [stage[name] for stage in by_stage] for name in shares}, sizes


def shares_by_size(shares: Mapping[str, Share], sizes: Mapping[str, int]) -> dict[str, float]:
    """Fill in the shares that are ``size``: what the others leave, in proportion to size.

    Fixed shares stay as they are, as VocADT (appendix A) keeps English at 1/n.
    """
    left = 1.0 - sum(share for share in shares.values() if share != "size")
    weights = {name: sizes[name] for name, share in shares.items() if share == "size"}
    if weights and (left <= 0 or min(weights.values()) <= 0):
        raise RevocabError(
            f"shares: {left:g} is left for the corpora drawn by size ({', '.join(weights)}); lower"
            " the fixed shares, and give corpora with text"
        )
    total = sum(weights.values())
    return {
        name: left * weights[name] / total if share == "size" else share
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
    places, owners = [], []
    for number, count in enumerate(counts.values()):
        random = np.random.default_rng([seed, number, stage] if stage else [seed, number])
        places.append((np.arange(count) + random.random(count)) / count)
        owners.append(np.full(count, number))
    order = np.argsort(np.concatenate(places), kind="stable")
    owner_of_row = np.concatenate(owners)[order]
    return {name: np.flatnonzero(owner_of_row == number) for number, name in enumerate(counts)}


def layout(
    shares: Mapping[str, Sequence[float]], stages: Sequence[tuple[str, int]], seed: int
) -> dict[str, list[np.ndarray]]:
    """Return for each corpus, stage by stage, the positions (int64) of its rows in the whole run.

    ``shares`` has one share per stage for every corpus (0: it has no part in that one), ``stages``
    are names and rows; the rows of a stage lie after those of the one before it. Raises
    :class:`RevocabError` as :func:`rows_by_share` does, for all stages at once.
    """
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


def drawn_order(manifest: Mapping[str, Any], rows: int, seed: int) -> np.ndarray:
    """Return the packed row (int64) that is read at each place of a training on the first ``rows``.

    Rows were packed once, by the seed in ``manifest``. A run with another ``seed`` reads the same
    ones in another order: corpora take turns as packing with that seed would have them, each in its
    share at every point (:func:`interleave`), and the rows of each corpus come in an order of their
    own. Rows of a stage with a mixture of its own stay in that stage.
    """
    order, begin = np.empty(rows, dtype=np.int64), 0
    for stage, part in enumerate(manifest.get("stages", [manifest])):
        counts = {corpus: entry["rows"] for corpus, entry in part["corpora"].items()}
        packed = interleave(counts, manifest["seed"], stage)
        used = {name: places[places < rows - begin] for name, places in packed.items()}
        places = interleave({name: len(own) for name, own in used.items()}, seed, stage)
        for number, name in enumerate(used):
            own = np.random.default_rng([seed, number, stage, 2]).permutation(used[name])
            order[begin + places[name]] = begin + own
        begin += sum(counts.values())
    return order
