"""When a device's memory runs out beside forward and backward passes: what to do, or to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from revocab.errors import RevocabError

if TYPE_CHECKING:
    import torch

STATE_KEPT = "the last good state is kept"
OPTIMIZER = (
    "out of memory in the optimizer's step, which holds weights, gradients and moments; a smaller"
    " micro_batch will not help: shard them over several devices (fsdp), train fewer parameters"
    " (stages, lora), or use a device with more memory, and run the same command again;"
    f" {STATE_KEPT}"
)
HELDOUT = (
    "out of memory with a single window of held-out text beside weights and moments; use a device"
    " with more memory, or fsdp on several, or shorter windows (sequence_length of the recipe)"
)


@contextmanager
def explained(line: str) -> Iterator[None]:
    """Turn a lack of memory into :class:`RevocabError` with ``line``."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise RevocabError(line) from error


def in_halves(compute: Callable[[slice], torch.Tensor], begin: int, end: int) -> torch.Tensor:
    """Return what ``compute`` sums over rows ``begin`` to ``end``, half by half where memory ends.

    The sum of two halves is that of the whole but for rounding. Raises :class:`RevocabError` where
    a single row is too much.
    """
    import torch

    if end - begin == 1:
        with explained(HELDOUT):
            return compute(slice(begin, end))
    try:
        return compute(slice(begin, end))
    except torch.OutOfMemoryError:
        pass  # what the error holds of the failed pass is free only outside of this block
    torch.cuda.empty_cache()
    middle = (begin + end) // 2
    return in_halves(compute, begin, middle) + in_halves(compute, middle, end)
