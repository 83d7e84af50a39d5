"""Auxiliary embeddings: the space in which a method asks which tokens are alike.

Either the helper's input rows (target tokens only, so that a source token is known through the
target token it is shared with), or fastText vectors trained on text cut by the target tokenizer
(:mod:`.reading.fasttext`), which spell source tokens by their character n-grams, or
vectors from a file, found by the tokens' text (:mod:`.reading.token_vectors`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Auxiliary, Method, MethodInputs, MethodOptions, RowsOptions
from revocab.initialise.rows.means import normal_rows
from revocab.initialise.rows.weighted_means import combine


class AuxiliaryOptions(RowsOptions):
    """Which auxiliary embeddings a method compares tokens in."""

    auxiliary: Literal["helper", "fasttext", "file"] = Field(
        default="helper",
        description="helper: the helper's input rows; fasttext: vectors trained on target-tokenised"
        " text; file: vectors by token text",
    )


#: A note: how many new tokens have no auxiliary embedding.
TOKENS_WITHOUT_AUXILIARY = "tokens_without_auxiliary"


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
        """Return, per missing token, the mean of the candidates' source rows (:func:`combine`).

        Without an auxiliary embedding it is a seeded draw from the source's, as in FOCUS, WECHSEL
        and OFA.
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
        kept_K = has_V[inputs.overlap_target_N]
        source_K = inputs.overlap_source_N[kept_K]
        key_KA = target_VA[inputs.overlap_target_N[kept_K]]
        offered = len(kept_K)
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
