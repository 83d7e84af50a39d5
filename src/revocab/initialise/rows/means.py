"""Rows as means and draws: of all source rows, of a token's pieces, of tokens that are like it.

Likeness is the cosine in a space of auxiliary embeddings: the helper's input rows (target tokens
only, so that a source token is known through the target token that it is shared with), fastText
vectors trained on text cut by the target tokenizer (:mod:`.reading.fasttext`), which spell source
tokens by their character n-grams, or vectors by the tokens' text (:mod:`.reading.token_vectors`).
Statistics of large matrices are float64 sums in cache-sized passes; memory beyond inputs and result
is bounded by :data:`BLOCK_ELEMENTS`. Suffixes: N tokens to fill, M all missing ones, K candidates
whose source rows are combined, A width of the space in which tokens are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Auxiliary, Method, MethodInputs, MethodOptions, RowsOptions

Distribution = Literal["uniform", "normal"]

#: Few enough rows that the float64 copy stays in the cache: 5 times faster than torch's reduction.
_ROWS = 256
#: Floats of similarity (or of gathered source rows) held at once: 256 MiB.
BLOCK_ELEMENTS = 1 << 26
#: Floats of similarity that elementwise passes work on at once: 4 MiB stay in the cache.
CACHE_ELEMENTS = 1 << 20
#: A note: how many new tokens have no auxiliary embedding.
TOKENS_WITHOUT_AUXILIARY = "tokens_without_auxiliary"


def column_mean(matrix_VD: Tensor) -> Tensor:
    total_D: Any = sum(part.double().sum(0) for part in matrix_VD.split(_ROWS))
    return total_D / len(matrix_VD)


def zero_mean_rows(inputs: MethodInputs, variance: float, distribution: Distribution) -> Tensor:
    """Return a row per missing token, of draws of mean 0 and the given variance (float32)."""
    import torch

    shape, generator = (len(inputs.missing_N), inputs.source_VD.shape[1]), inputs.generator()
    if distribution == "normal":
        rows_ND = torch.randn(shape, generator=generator).mul_(variance**0.5)
    else:
        bound = (3 * variance) ** 0.5  # a uniform draw from ±a has the variance a² / 3
        rows_ND = torch.rand(shape, generator=generator).mul_(2 * bound).sub_(bound)
    return rows_ND.to(inputs.source_VD.device)


def normal_rows(inputs: MethodInputs, rows: int) -> Tensor:
    """Return ``rows`` draws from N(mean_D, std_D) of the source token rows (float32)."""
    import torch

    source_VD, mean_D = inputs.source_VD, column_mean(inputs.source_VD)
    squares_D: Any = sum((part - mean_D).square().sum(0) for part in source_VD.split(_ROWS))
    std_D = (squares_D / len(source_VD)).sqrt()
    noise_ND = torch.randn(rows, source_VD.shape[1], generator=inputs.generator())
    return noise_ND.to(source_VD.device).mul_(std_D.float()).add_(mean_D.float())


def piece_means(inputs: MethodInputs, pieces: Callable[[int], list[int]]) -> Tensor:
    """Return, per missing token, the mean source row over ``pieces(target id)``.

    A token without any piece gets the mean source row, where the released code would have left NaN.
    """
    import torch

    source_VD = inputs.source_VD
    lists = [pieces(token) for token in inputs.missing_N.tolist()]
    if not lists:
        return source_VD.new_empty(0, source_VD.shape[1])
    rows_ND = means_of(source_VD, lists)
    empty_N = torch.tensor([not ids for ids in lists], device=source_VD.device)
    if empty_N.any():
        rows_ND[empty_N] = column_mean(source_VD).float()
    note_pieces(inputs, lists)
    return rows_ND


def note_pieces(inputs: MethodInputs, lists: Sequence[Sequence[int]]) -> None:
    """Note of the pieces of each missing token how many there are; of no token, nothing."""
    if lists:
        inputs.notes["pieces_per_token"] = round(sum(map(len, lists)) / len(lists), 4)
        inputs.notes["tokens_without_pieces"] = sum(not ids for ids in lists)


def means_of(rows_VD: Tensor, lists: list[list[int]]) -> Tensor:
    """Return the mean row over each list of ids, float32 [lists, D]; zeros for an empty list."""
    import torch

    lengths = torch.tensor([len(ids) for ids in lists], dtype=torch.int64)
    flat = torch.tensor([piece for ids in lists for piece in ids], dtype=torch.int64)
    offsets = (torch.cumsum(lengths, 0) - lengths).to(rows_VD.device)
    flat = flat.to(rows_VD.device)
    if rows_VD.dtype != torch.float32:  # only the rows in use are widened
        used, flat = flat.unique(return_inverse=True)
        rows_VD = rows_VD[used].float()
    return torch.nn.functional.embedding_bag(flat, rows_VD, offsets, mode="mean")


def blocks(rows: int, width: int, elements: int | None = None) -> Iterator[slice]:
    """Yield slices of ``rows`` with at most ``elements`` values each (but at least one row)."""
    step = max(1, (BLOCK_ELEMENTS if elements is None else elements) // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def sparsemax(scores_NK: Tensor) -> Tensor:
    """Return the projection of each row on the simplex (Martins & Astudillo 2016, eq. 2).

    Michelot's algorithm, which sorts no row of 16,000: the threshold only rises and the support
    only shrinks; once it no longer does, the threshold is exact.
    """
    import torch

    width = scores_NK.shape[1]
    threshold_N1 = (scores_NK.sum(1, keepdim=True) - 1) / width
    count_N1 = torch.full_like(threshold_N1, width)
    while True:
        excess_NK = (scores_NK - threshold_N1).clamp_(min=0)
        support_N1 = excess_NK.sign().sum(1, keepdim=True)  # faster than a comparison
        # Rounding may let the support grow again; it must not, or the loop might not end.
        support_N1 = torch.minimum(support_N1, count_N1).clamp_(min=1)
        if torch.equal(support_N1, count_N1):
            break
        threshold_N1 += (excess_NK.sum(1, keepdim=True) - 1) / support_N1
        count_N1 = support_N1
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
    found in float64: rounding does not choose between near ones. Result: float32, a row per query.
    """
    import torch

    every = top_k is None or top_k >= len(key_KA)
    query_NA, key_KA = (
        torch.nn.functional.normalize(rows if every else rows.double(), dim=1)
        for rows in (query_NA, key_KA)
    )
    rows_ND = source_VD.new_empty(len(query_NA), source_VD.shape[1])
    for block in blocks(len(query_NA), len(key_KA) * (1 if every else 2)):
        scores_NK = query_NA[block] @ key_KA.T
        if every:
            weights_NK = weigh(scores_NK)
            rows_ND[block] = 0  # the rows of all candidates are never gathered at once
            for part in blocks(len(key_KA), source_VD.shape[1]):
                rows_ND[block].addmm_(weights_NK[:, part], source_VD[source_K[part]])
        else:
            best_NK, index_NK = scores_NK.topk(top_k or len(key_KA), dim=1)
            weights_NK = weigh(best_NK).to(source_VD.dtype)
            # k rows a token, not all of them: the product with every row would be mostly 0.
            rows_ND[block] = torch.nn.functional.embedding_bag(
                source_K[index_NK], source_VD, mode="sum", per_sample_weights=weights_NK
            )
    return rows_ND


class AuxiliaryOptions(RowsOptions):
    """Which auxiliary embeddings a method compares tokens in."""

    auxiliary: Literal["helper", "fasttext", "file"] = Field(
        default="helper",
        description="helper: the helper's input rows; fasttext: vectors trained on target-tokenised"
        " text; file: vectors by token text",
    )


def reads_auxiliary(method: Method, options: MethodOptions) -> bool:
    """Tell whether a method reads the same rows for both matrices."""
    return isinstance(options, AuxiliaryOptions) or method.needs(options) in ("fasttext", "file")


@dataclass(frozen=True)
class ComparedTokens:
    """Tokens to fill and candidates to fill them from, as rows in one space."""

    query_NA: Tensor
    #: Which of the missing tokens have a query: true for as many as there are queries.
    known_M: Tensor
    key_KA: Tensor
    #: Source ids of the candidates.
    source_K: Tensor

    def weighted_rows(
        self, inputs: MethodInputs, weigh: Callable[[Tensor], Tensor], top_k: int | None = None
    ) -> Tensor:
        """Return, per missing token, the mean of the candidates' source rows (:func:`combine`), or
        without an embedding a seeded draw from the source's, as in FOCUS, WECHSEL and OFA.
        """
        rows_ND = combine(self.query_NA, self.key_KA, inputs.source_VD, self.source_K, weigh, top_k)
        if bool(self.known_M.all()):
            return rows_ND
        filled_MD = rows_ND.new_empty(len(self.known_M), rows_ND.shape[1])
        filled_MD[self.known_M] = rows_ND
        filled_MD[~self.known_M] = normal_rows(inputs, int((~self.known_M).sum()))
        return filled_MD


def compare(
    inputs: MethodInputs, method: str, *, trained_only: bool = False, source_tokens: bool = True
) -> ComparedTokens:
    """Return the missing tokens and the candidates of ``inputs`` in the auxiliary space.

    Candidates are all source tokens that have an auxiliary embedding, if ``source_tokens`` and the
    space holds source tokens; else the shared tokens, by their target rows. ``trained_only`` leaves
    out target tokens whose vector was only spelled out of n-grams. Tokens without an auxiliary
    embedding are neither asked for nor offered, and are counted in the notes. Raises
    :class:`RevocabError` when no candidate is left.
    """
    auxiliary = inputs.auxiliary or Auxiliary(inputs.guide_VX)
    target_VA = auxiliary.target_VA
    has_V = target_VA.any(dim=1)
    if trained_only and auxiliary.target_trained_V is not None:
        has_V = has_V & auxiliary.target_trained_V
    if source_tokens and auxiliary.source_VA is not None:
        source_K = auxiliary.source_VA.any(dim=1).nonzero()[:, 0]
        key_KA = auxiliary.source_VA[source_K]
        offered = len(auxiliary.source_VA)
    else:
        inputs.require_overlap(method, "builds new rows from shared ones")
        known_K = has_V[inputs.overlap_target_N]
        source_K = inputs.overlap_source_N[known_K]
        key_KA = target_VA[inputs.overlap_target_N[known_K]]
        offered = len(known_K)
    if not len(source_K):
        raise RevocabError(
            f"method {method!r}: none of the {offered} tokens that new rows could be made of has "
            "an auxiliary embedding; train fastText on more text or with a lower min_count, or "
            "take another helper or file"
        )
    known_M = has_V[inputs.missing_N]
    inputs.notes["candidates"] = len(source_K)
    inputs.notes[TOKENS_WITHOUT_AUXILIARY] = int((~known_M).sum())
    return ComparedTokens(target_VA[inputs.missing_N[known_M]], known_M, key_KA, source_K)
