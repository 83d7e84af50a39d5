"""Likelihoods of chunks like the source model's: approximate likelihood matching (Minixhofer et al.
2025, section 3).

Student and source model read the same rows, each in its own tokens. With l the log-likelihood of a
chunk (the sum over its tokens, whatever they are) and p = exp(l / temperature), that the text goes
on with this chunk or not is one binary outcome, and

    L = mean over chunks of p_T log(p_T / p_S) + (1 - p_T) log((1 - p_T) / (1 - p_S))

with T the source model and S the student: the binarised Kullback-Leibler divergence. As a power
near 0 of the likelihoods is compared, a chunk of many tokens counts about as much as it differs in
nats. The result is about 1 / temperature of a divergence in nats.

Suffixes: B rows, N tokens of the student, M of the source model, C chunks of all rows, T tokens
that are predicted, V vocabulary, D width.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.nn import functional

from revocab.models.vocabulary.padding import token_rows
from revocab.training.loop.loss import Lesson, chunk_rows, product_dtype
from revocab.training.machine.head import has_plain_head
from revocab.training.stage import LikelihoodMatching

#: Nats below which a chunk counts as certain, so that the logarithm of 1 - p stays finite.
CERTAIN = 1e-6


def likelihoods_lesson(
    teacher: Any, batch: dict[str, torch.Tensor], options: LikelihoodMatching
) -> Lesson:
    """Return the loss of a batch of rows: see
    :meth:`revocab.training.data.chunks.ChunkedText.step`.
    """
    with torch.no_grad():
        source_BM = token_log_likelihoods(teacher, batch["source_ids"], batch["source_sizes"])
    return partial(
        matching_loss,
        targets_C=chunk_sums(source_BM, batch["source_chunk"]),
        chunk_BN=batch["chunk"],
        sizes_B=batch["sizes"],
        following=batch["following"][0],
        options=options,
    )


def matching_loss(
    model: Any,
    input_ids_BN: torch.Tensor,
    chunks_B: torch.Tensor,
    *,
    targets_C: torch.Tensor,
    chunk_BN: torch.Tensor,
    sizes_B: torch.Tensor,
    following: torch.Tensor,
    options: LikelihoodMatching,
) -> torch.Tensor:
    """Return a micro batch's part (float32) of the mean divergence over a step's chunks.

    ``chunks_B`` has the chunks of the whole step in each of its numbers, ``following`` the tokens
    that follow another in it, over which the cross-entropy is a mean.
    """
    own_BN = token_log_likelihoods(model, input_ids_BN, sizes_B)
    own_C = chunk_sums(own_BN, chunk_BN)
    loss = binary_divergence(targets_C, own_C, options.temperature).sum() / chunks_B[0]
    if options.cross_entropy:
        loss = loss - options.cross_entropy * (own_BN.sum() / following)
    return loss


def binary_divergence(
    target_C: torch.Tensor, own_C: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Return the Kullback-Leibler divergence of each chunk's binary outcome, from log-likelihoods
    in nats (all float32).
    """
    target_C, own_C = (logs.clamp(max=-CERTAIN) / temperature for logs in (target_C, own_C))
    others = [torch.log(-torch.expm1(logs)) for logs in (target_C, own_C)]
    return target_C.exp() * (target_C - own_C) - torch.expm1(target_C) * (others[0] - others[1])


def chunk_sums(values_BN: torch.Tensor, chunk_BN: torch.Tensor) -> torch.Tensor:
    """Return the sum [C] over each chunk's tokens, row by row; -1 is no chunk.

    A chunk's tokens stand side by side, so that sums do not depend on the device's order.
    """
    row_B = torch.arange(len(chunk_BN), device=chunk_BN.device)
    kept_BN = chunk_BN >= 0
    key_BN = row_B[:, None] * (chunk_BN.max() + 1) + chunk_BN
    values_T = values_BN[kept_BN]
    if not len(values_T):
        return values_T  # segment_reduce takes no empty ones
    _, lengths_C = torch.unique_consecutive(key_BN[kept_BN], return_counts=True)
    return torch.segment_reduce(values_T, "sum", lengths=lengths_C)


# --- tokens ---------------------------------------------------------------------------------------


def token_log_likelihoods(model: Any, ids_BN: torch.Tensor, sizes_B: torch.Tensor) -> torch.Tensor:
    """Return the log-likelihood (float32 [B, N], nats) of each token of rows after those before it.

    0 for a row's first token, and for padding behind its ``sizes_B`` tokens: attention is causal,
    so that no mask is needed.
    """
    places_N = torch.arange(1, ids_BN.shape[1], device=ids_BN.device)
    kept_BN = places_N < sizes_B[:, None]
    labels_T, tokens = ids_BN[:, 1:][kept_BN], token_rows(model.config)
    if has_plain_head(model):
        states = model.model(input_ids=ids_BN, use_cache=False).last_hidden_state
        known_T = linear_log_likelihoods(
            states[:, :-1][kept_BN], model.lm_head.weight, labels_T, tokens
        )
    else:
        # Through the class: the instance's forward may be that to the loss.
        outputs = type(model).forward(model, input_ids=ids_BN, use_cache=False)
        logits_TV = outputs.logits[:, :-1][kept_BN][:, :tokens].float()
        known_T = -functional.cross_entropy(logits_TV, labels_T, reduction="none")
    own_BN = torch.zeros(kept_BN.shape, device=ids_BN.device).masked_scatter(kept_BN, known_T)
    return functional.pad(own_BN, (1, 0))


class _LinearLogLikelihoods(torch.autograd.Function):
    """log softmax(hidden_TD weight_VD^T)[labels_T]; see :func:`linear_log_likelihoods`."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_TD: torch.Tensor,
        weight_VD: torch.Tensor,
        labels_T: torch.Tensor,
        tokens: int | None,
    ) -> torch.Tensor:
        ctx.dtype = product_dtype(hidden_TD)
        known_T = torch.zeros(len(labels_T), device=hidden_TD.device)
        sums_T = torch.zeros_like(known_T)
        with torch.autocast(hidden_TD.device.type, enabled=False):
            head_VD = weight_VD.to(ctx.dtype)
            for chunk in _chunks(len(labels_T), head_VD):
                logits_CV = _logits(hidden_TD[chunk].to(ctx.dtype), head_VD, tokens)
                sums_T[chunk] = logits_CV.logsumexp(1)
                known_T[chunk] = logits_CV.gather(1, labels_T[chunk, None])[:, 0] - sums_T[chunk]
        ctx.save_for_backward(hidden_TD, weight_VD, labels_T, sums_T)
        ctx.tokens = tokens
        return known_T

    @staticmethod
    def backward(ctx: Any, grad_T: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden_TD, weight_VD, labels_T, sums_T = ctx.saved_tensors
        need_hidden, need_weight = ctx.needs_input_grad[:2]
        grad_hidden_TD = torch.zeros_like(hidden_TD) if need_hidden else None
        grad_weight_VD = torch.zeros_like(weight_VD, dtype=torch.float32) if need_weight else None
        with torch.autocast(hidden_TD.device.type, enabled=False):
            head_VD = weight_VD.to(ctx.dtype)
            for chunk in _chunks(len(labels_T), head_VD):
                hidden_CD = hidden_TD[chunk].to(ctx.dtype)
                # d log p / d logits = one-hot - softmax, made in place of the logits.
                grad_CV = _logits(hidden_CD, head_VD, ctx.tokens)
                grad_CV = grad_CV.sub_(sums_T[chunk, None]).exp_().neg_()
                ones_C1 = torch.ones(len(grad_CV), 1, device=grad_CV.device)
                grad_CV.scatter_add_(1, labels_T[chunk, None], ones_C1)
                grad_CV = grad_CV.mul_(grad_T[chunk, None]).to(ctx.dtype)
                if grad_hidden_TD is not None:
                    grad_hidden_TD[chunk] = (grad_CV @ head_VD).to(hidden_TD.dtype)
                if grad_weight_VD is not None:
                    grad_weight_VD += grad_CV.T @ hidden_CD
        weight = None if grad_weight_VD is None else grad_weight_VD.to(weight_VD.dtype)
        return grad_hidden_TD, weight, None, None


def _chunks(rows: int, head_VD: torch.Tensor) -> list[slice]:
    size = chunk_rows(len(head_VD), head_VD.device)
    return [slice(begin, begin + size) for begin in range(0, rows, size)]


def _logits(hidden_CD: torch.Tensor, head_VD: torch.Tensor, tokens: int | None) -> torch.Tensor:
    logits_CV = (hidden_CD @ head_VD.T).float()
    if tokens is not None:
        logits_CV[:, tokens:] = -torch.inf
    return logits_CV


def linear_log_likelihoods(
    hidden_TD: torch.Tensor,
    weight_VD: torch.Tensor,
    labels_T: torch.Tensor,
    tokens: int | None = None,
) -> torch.Tensor:
    """Return log softmax of ``hidden_TD @ weight_VD.T`` at the labels (float32 [T], nats).

    Logits are made chunk by chunk, and again in the backward pass. Rows from ``tokens`` on are
    padding, as in :func:`revocab.training.loop.loss.linear_cross_entropy`.
    """
    return _LinearLogLikelihoods.apply(hidden_TD, weight_VD, labels_T, tokens)
