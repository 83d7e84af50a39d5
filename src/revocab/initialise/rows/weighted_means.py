"""Rows as weighted means of source rows, weighted by similarity in another space, block by block.

The shared ground of clp, wechsel, focus, ofa and similarity. Suffixes: N tokens to fill, K
candidates whose source rows are combined, A width of the space in which tokens are compared.
Memory beyond inputs and result is bounded by :data:`BLOCK_ELEMENTS`, whatever the vocabularies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from revocab.heavy_types import Tensor

#: Floats of similarity (or of gathered source rows) held at once: 256 MiB.
BLOCK_ELEMENTS = 1 << 26
#: Floats of similarity that elementwise passes work on at once: 4 MiB stay in the cache.
CACHE_ELEMENTS = 1 << 20


def unit_rows(matrix_NA: Tensor) -> Tensor:
    import torch

    return torch.nn.functional.normalize(matrix_NA, dim=1)


def blocks(rows: int, width: int, elements: int | None = None) -> Iterator[slice]:
    """Yield slices of ``rows`` with at most ``elements`` values each (but at least one row)."""
    step = max(1, (BLOCK_ELEMENTS if elements is None else elements) // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def sparsemax(scores_NK: Tensor) -> Tensor:
    """Return the projection of each row on the simplex (Martins & Astudillo 2016, eq. 2).

    Michelot's algorithm: the threshold only rises and the support only shrinks; once it no longer
    does, the threshold is exact. So no sort of a 16,000-wide row is needed.
    """
    import torch

    width = scores_NK.shape[1]
    threshold_N1 = (scores_NK.sum(1, keepdim=True) - 1) / width
    count_N1 = torch.full_like(threshold_N1, width)
    while True:
        excess_NK = (scores_NK - threshold_N1).clamp_(min=0)
        kept_N1 = excess_NK.sign().sum(1, keepdim=True)  # faster than a comparison
        # Rounding may let the support grow again; it must not, or the loop might not end.
        kept_N1 = torch.minimum(kept_N1, count_N1).clamp_(min=1)
        if torch.equal(kept_N1, count_N1):
            break
        threshold_N1 += (excess_NK.sum(1, keepdim=True) - 1) / kept_N1
        count_N1 = kept_N1
    return excess_NK.div_(excess_NK.sum(1, keepdim=True))


def sparsemax_weights(scores_NK: Tensor) -> Tensor:
    for block in blocks(len(scores_NK), scores_NK.shape[1], CACHE_ELEMENTS):
        scores_NK[block] = sparsemax(scores_NK[block])
    return scores_NK


def share_weights(scores_NK: Tensor) -> Tensor:
    """Return the scores divided by their row's sum, in place; equal weights where that is 0."""
    # ASSUME: a row of similarities that cancels exactly has no published meaning; equal weights.
    total_N1 = scores_NK.sum(1, keepdim=True)
    impossible_N1 = total_N1 == 0
    scores_NK.div_(total_N1.masked_fill(impossible_N1, 1.0))
    return scores_NK.masked_fill_(impossible_N1, 1.0 / scores_NK.shape[1])


def softmax_weights(temperature: float) -> Callable[[Tensor], Tensor]:
    def weigh(scores_NK: Tensor) -> Tensor:
        return (scores_NK / temperature).softmax(dim=1)

    return weigh


def combine(
    query_NA: Tensor,
    key_KA: Tensor,
    source_VD: Tensor,
    source_K: Tensor,
    weigh: Callable[[Tensor], Tensor],
    top_k: int | None = None,
) -> Tensor:
    """Return ``weigh(cos(query, key)) @ source_VD[source_K]``, or so over the ``top_k`` best keys.

    ``weigh`` turns a block of cosines (which it may overwrite) into weights. The best keys are
    found in float64, so that rounding does not choose between near ones. Result: float32, one row
    per query.
    """
    import torch

    every = top_k is None or top_k >= len(key_KA)
    query_NA, key_KA = (unit_rows(rows if every else rows.double()) for rows in (query_NA, key_KA))
    rows_ND = source_VD.new_empty(len(query_NA), source_VD.shape[1])
    for block in blocks(len(query_NA), len(key_KA) * (1 if every else 2)):
        scores_NK = query_NA[block] @ key_KA.T
        if every:
            weights_NK = weigh(scores_NK)
            rows_ND[block] = 0  # the rows of all candidates are never gathered at once
            for part in blocks(len(key_KA), source_VD.shape[1]):
                rows_ND[block].addmm_(weights_NK[:, part], source_VD[source_K[part]])
        else:
            best_NK, index_NK = scores_NK.topk(top_k or 1, dim=1)
            weights_NK = weigh(best_NK).to(source_VD.dtype)
            # k rows a token, not all of them: the product with every row would be mostly 0.
            rows_ND[block] = torch.nn.functional.embedding_bag(
                source_K[index_NK], source_VD, mode="sum", per_sample_weights=weights_NK
            )
    return rows_ND
