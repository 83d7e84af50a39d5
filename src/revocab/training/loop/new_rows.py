"""Training of new rows alone: all other rows of a matrix keep every bit.

A row whose gradient is zero from the first step on has moments of zero, and AdamW moves it by zero;
without decay, which new rows have none of, nothing else touches it.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from revocab.training.adapters.vocabulary_adapter import own_part, own_rows


def drop_other_rows(parameters: Iterable[torch.Tensor], new_V: torch.Tensor) -> None:
    """Make the gradient of all rows zero but of the new ones, in each process of its own part."""
    for parameter in parameters:
        if parameter.grad is not None:
            others_N = ~new_V[own_rows(parameter)].to(parameter.device)
            own_part(parameter.grad)[others_N] = 0
