"""Learning from the source model: Token Distillation (Dobler et al. 2025).

The student reads a snippet in its own tokens, the frozen source model the same text in the old
ones. Where both have come to the same character, from the first new token on, the student's hidden
state after a layer is to be the source model's:

    L = mean over positions and dimensions of (h_student[p] - h_source[a(p)])^2

with a(p) the source model's position there. Of several layers it is the mean. Only new rows move. A
head of its own has no part in this loss: its new rows learn by cross-entropy on the same snippets,
through which nothing else gets a gradient.

Suffixes: B rows, K snippets to a row, S = B K snippets, N tokens of the student, M of the source
model, P positions that are compared, L layers, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from revocab.models.vocabulary.padding import token_rows
from revocab.training.loop.loss import Lesson, linear_cross_entropy
from revocab.training.stage import Distil


def hidden_states_lesson(teacher: Any, batch: dict[str, torch.Tensor], options: Distil) -> Lesson:
    """Return the loss of a batch of snippets: see
    :meth:`revocab.training.data.snippets.StageText.step`.
    """
    aligned_SN = batch["aligned"].flatten(0, 1)
    with torch.no_grad():
        ids_SM, places_SN = batch["source_ids"].flatten(0, 1), aligned_SN.clamp(min=0)
        targets_PLD = compared_states(teacher, ids_SM, places_SN, aligned_SN >= 0, options.layers)
    return partial(
        distillation_loss,
        targets_PLD=targets_PLD,
        chosen_SN=aligned_SN >= 0,
        sizes_S=batch["sizes"].flatten(),
        following=batch["following"][0],
        layers=options.layers,
    )


def states_of(model: Any, ids_SN: torch.Tensor) -> Any:
    """Return the outputs of a model without its head; no mask: attention is causal, and padding
    comes last.
    """
    return model.base_model(input_ids=ids_SN, use_cache=False, output_hidden_states=True)


def compared_states(
    model: Any,
    ids_SM: torch.Tensor,
    place_SN: torch.Tensor,
    chosen_SN: torch.Tensor,
    layers: Sequence[int],
) -> torch.Tensor:
    """Return the hidden states [P, L, D] after ``layers`` at the chosen of some places."""
    states = states_of(model, ids_SM).hidden_states
    snippet_P = chosen_SN.nonzero()[:, 0]
    return torch.stack([states[layer][snippet_P, place_SN[chosen_SN]] for layer in layers], dim=1)


def distillation_loss(
    model: Any,
    input_ids_BKN: torch.Tensor,
    compared_B: torch.Tensor,
    *,
    targets_PLD: torch.Tensor,
    chosen_SN: torch.Tensor,
    sizes_S: torch.Tensor,
    following: torch.Tensor,
    layers: Sequence[int],
) -> torch.Tensor:
    """Return a micro batch's part (float32) of the mean squared error over a step's positions.

    ``compared_B`` has the positions of the whole step in each of its numbers, ``following`` the
    tokens that follow another in it. Of a head of its own the cross-entropy over these is added.
    """
    ids_SN = input_ids_BKN.flatten(0, 1)
    outputs = states_of(model, ids_SN)
    states = [outputs.hidden_states[layer][chosen_SN] for layer in layers]
    error_PLD = torch.stack(states, dim=1).float() - targets_PLD.float()
    loss: torch.Tensor = error_PLD.square().mean((1, 2)).sum() / compared_B[0]
    if not has_own_head(model):
        return loss
    columns_N = torch.arange(1, ids_SN.shape[1], device=ids_SN.device)
    kept_SN = columns_N < sizes_S[:, None]
    hidden_TD = outputs.last_hidden_state.detach()[:, :-1][kept_SN]
    labels_T = ids_SN[:, 1:][kept_SN]
    head = linear_cross_entropy(hidden_TD, model.lm_head.weight, labels_T, token_rows(model.config))
    return loss + head * (len(labels_T) / following)


def has_own_head(model: Any) -> bool:
    head = model.get_output_embeddings()
    return head is not None and head.weight is not model.get_input_embeddings().weight
