"""CLP: a new row is a weighted mean of shared source rows, weighted by likeness in the helper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.errors import RevocabError
from revocab.initialise.method import Inputs, Method, Options

if TYPE_CHECKING:
    import torch

#: Floats of similarity held at once: 256 MiB, whatever the vocabulary.
BLOCK_ELEMENTS = 1 << 26
#: Floats of similarity that elementwise passes work on at once: 4 MiB stay in the cache.
CACHE_ELEMENTS = 1 << 20


class ClpOptions(Options):
    """How similarities become weights."""

    #: Use only the k most similar shared tokens; none: all, as published.
    top_k: int | None = Field(default=None, ge=1)
    weights: Literal["cosine", "sparsemax"] = "cosine"


def unit_rows(matrix_ND: torch.Tensor) -> torch.Tensor:
    """Return the rows at L2 norm 1; zero rows stay zero."""
    import torch

    return torch.nn.functional.normalize(matrix_ND, dim=1)


def sparsemax(scores_NK: torch.Tensor) -> torch.Tensor:
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


def _weights(scores_NK: torch.Tensor, kind: str) -> torch.Tensor:
    """Turn similarities into weights that sum to 1, in place; equal where that is impossible."""
    width = scores_NK.shape[1]
    if kind == "sparsemax":
        for block in _blocks(len(scores_NK), width, CACHE_ELEMENTS):
            scores_NK[block] = sparsemax(scores_NK[block])
        return scores_NK
    # ASSUME: a row of similarities that cancels exactly has no published meaning; equal weights.
    total_N1 = scores_NK.sum(1, keepdim=True)
    impossible_N1 = total_N1 == 0
    scores_NK.div_(total_N1.masked_fill(impossible_N1, 1.0))
    return scores_NK.masked_fill_(impossible_N1, 1.0 / width)


def _blocks(rows: int, width: int, elements: int) -> Iterator[slice]:
    step = max(1, elements // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def weighted_rows(inputs: Inputs, top_k: int | None, kind: str) -> torch.Tensor:
    """Return ``weights(cos(H_missing, H_overlap)) @ E_source[overlap]``, block by block."""
    import torch

    if not len(inputs.overlap_target_N):
        raise RevocabError(
            "method 'clp': no token is shared by source and target vocabulary, and clp builds new "
            "rows from shared ones; use fvt or mean, or check --identity"
        )
    missing_ND = unit_rows(inputs.helper_VD[inputs.missing_N])
    overlap_ND = unit_rows(inputs.helper_VD[inputs.overlap_target_N])
    shared_ND = inputs.source_VD[inputs.overlap_source_N]
    rows_ND = shared_ND.new_empty(len(missing_ND), shared_ND.shape[1])
    for block in _blocks(len(missing_ND), len(overlap_ND), BLOCK_ELEMENTS):
        scores_NK = missing_ND[block] @ overlap_ND.T
        if top_k is None or top_k >= len(overlap_ND):
            rows_ND[block] = _weights(scores_NK, kind) @ shared_ND
        else:
            best_NK, index_NK = scores_NK.topk(top_k, dim=1)
            # k rows a token, not all of them: the product with every shared row would be mostly 0.
            rows_ND[block] = torch.nn.functional.embedding_bag(
                index_NK,
                shared_ND,
                mode="sum",
                per_sample_weights=_weights(best_NK, kind),
            )
    return rows_ND


def initialise(inputs: Inputs, options: Any) -> torch.Tensor:
    """Return one weighted mean of shared source rows per missing token."""
    return weighted_rows(inputs, options.top_k, options.weights)


METHOD = Method(
    name="clp",
    summary="shared rows copied; new rows are means of shared ones, weighted by helper cosine",
    citation="Ostendorff & Rehm 2023, Efficient Language Model Training through Cross-Lingual and "
    "Progressive Transfer Learning",
    options=ClpOptions,
    initialise=initialise,
    needs_helper=True,
)
