"""Next-token cross-entropy from hidden states, without ever holding all logits.

The LM head, the softmax and the gradients of both are computed chunk by chunk, while the chunk's
logits are in cache; the backward pass only scales. Memory for logits is one chunk, whatever the
vocabulary, and nothing is computed twice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from revocab.models.shape import CPU_CHUNK_ELEMENTS, GPU_CHUNK_ELEMENTS, has_plain_head
from revocab.models.token_rows import token_rows


def chunk_rows(vocabulary: int, device: torch.device) -> int:
    """Return how many rows of logits to hold at once.

    Each chunk adds to the gradient of the whole head, so that few rows of a large vocabulary are
    slower than no chunks at all: at least 512 on a CPU, where the head is not in cache anyway.
    """
    if device.type == "cpu":
        return max(512, CPU_CHUNK_ELEMENTS // vocabulary)
    return max(64, GPU_CHUNK_ELEMENTS // vocabulary)


class _LinearCrossEntropy(torch.autograd.Function):
    """Mean of -log softmax(hidden_ND weight_VD^T)[labels_N]; see :func:`linear_cross_entropy`."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: torch.Tensor,
        weight_VD: torch.Tensor,
        labels_N: torch.Tensor,
        tokens: int | None,
    ) -> torch.Tensor:
        rows, vocabulary = len(labels_N), len(weight_VD)
        need_hidden, need_weight = ctx.needs_input_grad[:2]
        device, dtype = hidden_ND.device.type, hidden_ND.dtype
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        with torch.autocast(device, enabled=False):
            head_VD = weight_VD.to(dtype)
            total = torch.zeros((), dtype=torch.float32, device=hidden_ND.device)
            grad_hidden_ND = torch.empty_like(hidden_ND) if need_hidden else None
            grad_weight_VD = (
                torch.zeros_like(weight_VD, dtype=torch.float32) if need_weight else None
            )
            size = chunk_rows(vocabulary, hidden_ND.device)
            for begin in range(0, rows, size):
                chunk = slice(begin, begin + size)
                hidden_CD = hidden_ND[chunk].to(dtype)
                labels_C1 = labels_N[chunk, None]
                logits_CV = (hidden_CD @ head_VD.T).float()
                if tokens is not None:
                    logits_CV[:, tokens:] = -torch.inf
                normaliser_C1 = logits_CV.logsumexp(1, keepdim=True)
                total += (normaliser_C1 - logits_CV.gather(1, labels_C1)).sum()
                if not (need_hidden or need_weight):
                    continue
                # d loss / d logits = (softmax - one-hot) / N, made in place of the logits.
                grad_CV = logits_CV.sub_(normaliser_C1).exp_()
                grad_CV.scatter_add_(1, labels_C1, torch.full_like(normaliser_C1, -1.0))
                grad_CV = grad_CV.mul_(1.0 / rows).to(dtype)
                if grad_hidden_ND is not None:
                    grad_hidden_ND[chunk] = grad_CV @ head_VD
                if grad_weight_VD is not None and dtype == torch.float32:
                    grad_weight_VD.addmm_(grad_CV.T, hidden_CD)
                elif grad_weight_VD is not None:
                    grad_weight_VD += grad_CV.T @ hidden_CD
        ctx.save_for_backward(grad_hidden_ND, grad_weight_VD)
        ctx.weight_dtype = weight_VD.dtype
        return total / max(1, rows)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        grad_hidden_ND, grad_weight_VD = ctx.saved_tensors
        # In place: the gradients are of this loss alone, and go backward once.
        return (
            None if grad_hidden_ND is None else grad_hidden_ND.mul_(grad),
            None if grad_weight_VD is None else grad_weight_VD.mul_(grad).to(ctx.weight_dtype),
            None,
            None,
        )


def linear_cross_entropy(
    hidden_ND: torch.Tensor,
    weight_VD: torch.Tensor,
    labels_N: torch.Tensor,
    tokens: int | None = None,
) -> torch.Tensor:
    """Return the mean cross-entropy (float32 scalar) of ``hidden_ND @ weight_VD.T`` against labels.

    Rows from ``tokens`` on are padding: no part of the softmax, and their gradient is 0.
    Equal to ``functional.cross_entropy`` on full logits, with gradients for both inputs. Under
    autocast the products run in its dtype; softmax and sums are float32.
    """
    if not torch.is_grad_enabled():  # else gradients would be made, and thrown away
        hidden_ND, weight_VD = hidden_ND.detach(), weight_VD.detach()
    return _LinearCrossEntropy.apply(hidden_ND, weight_VD, labels_N, tokens)


def next_token_loss(
    model: Any,
    input_ids: torch.Tensor,
    position_ids: torch.Tensor | None = None,
    predicted: torch.Tensor | None = None,
    lengths: torch.Tensor | None = None,
    learned: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the mean loss over the ``B (L - 1)`` predicted tokens of [B, L] ids, no padding.

    With ``position_ids`` [B, L] that begin at 0 with each conversation, attention does not cross
    them (transformers makes the block mask from them); with ``learned`` [B, L], booleans, those
    tokens are predicted and no others, none of which is a conversation's first. With ``predicted``
    [B], the tokens predicted in the whole step, the sum is divided by that number, so that micro
    batches add up to the step's mean. With ``lengths`` [B] it is :func:`summed_loss`. A model in
    training has this as its ``forward``.
    """
    if lengths is not None:
        return summed_loss(model, input_ids, lengths, learned)
    keep_BL = None if learned is None else learned[:, 1:]
    mean, count = _mean_loss(model, input_ids, keep_BL, position_ids)
    return mean if predicted is None else mean * (count / predicted[0])


def _mean_loss(
    model: Any,
    input_ids_BL: torch.Tensor,
    keep_BL: torch.Tensor | None,
    position_ids_BL: torch.Tensor | None = None,
) -> tuple[torch.Tensor, int]:
    """Return the mean loss over the predicted tokens where ``keep_BL`` [B, L - 1] is true (None:
    all), and their number.
    """

    def chosen(values_BLX: torch.Tensor) -> torch.Tensor:
        values_BLX = values_BLX.to(input_ids_BL.device)  # layers may lie on several
        return values_BLX.flatten(0, 1) if keep_BL is None else values_BLX[keep_BL]

    labels_N, tokens = chosen(input_ids_BL[:, 1:]), token_rows(model.config)
    inputs = {"input_ids": input_ids_BL, "use_cache": False}
    if position_ids_BL is not None:
        inputs["position_ids"] = position_ids_BL
    if has_plain_head(model):
        hidden_ND = chosen(model.model(**inputs).last_hidden_state[:, :-1])
        head_VD = model.lm_head.weight
        at_head = hidden_ND.to(head_VD.device), head_VD, labels_N.to(head_VD.device)
        return linear_cross_entropy(*at_head, tokens), len(labels_N)
    # Through the class: the instance's forward may be that to the loss.
    logits_NV = chosen(type(model).forward(model, **inputs).logits[:, :-1])
    return functional.cross_entropy(logits_NV[:, :tokens].float(), labels_N), len(labels_N)


@torch.no_grad()
def summed_loss(
    model: Any,
    input_ids_BL: torch.Tensor,
    lengths_B: torch.Tensor,
    learned_BL: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the summed loss (float64, nats) over positions 1 … length-1 of right-padded windows;
    with ``learned_BL``, booleans, over those of them where it is true.

    No attention mask is needed: attention is causal and padding comes last. Works in the model's
    own dtype with float32 softmax.
    """
    input_ids_BL = input_ids_BL[:, : int(lengths_B.max())]
    positions_L = torch.arange(1, input_ids_BL.shape[1], device=input_ids_BL.device)
    valid_BL = positions_L < lengths_B[:, None]
    if learned_BL is not None:
        valid_BL &= learned_BL[:, 1 : input_ids_BL.shape[1]]
    mean, count = _mean_loss(model, input_ids_BL, valid_BL)
    return mean.double() * count
