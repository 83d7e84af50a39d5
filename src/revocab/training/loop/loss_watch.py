"""Stop a training whose loss jumps, while the state before the jump is still there."""

from __future__ import annotations

from collections import deque
from statistics import fmean

from revocab.errors import RevocabError

#: Steps whose mean a loss is compared with, and how many of a stage there must be first.
WINDOW, FIRST = 50, 10


class LossWatch:
    """Compares each step's loss with the mean of the steps before it in the same stage.

    ``rise`` is in nats per token; ``None`` compares nothing.
    """

    def __init__(self, rise: float | None = None):
        self.rise = rise
        self._stage: int | None = None
        self._last: deque[float] = deque(maxlen=WINDOW)

    def check(self, step: int, stage: int, loss: float) -> None:
        """Take the loss of ``step``; raise :class:`RevocabError` if it rose by more than ``rise``.

        A stage may begin with other data and parameters: it is compared with nothing before it.
        """
        if self.rise is None:
            return
        if stage != self._stage:
            self._stage = stage
            self._last.clear()
        if len(self._last) >= FIRST and loss > (mean := fmean(self._last)) + self.rise:
            raise RevocabError(
                f"step {step}: loss {loss:.4f} is {loss - mean:.4f} above the mean of the"
                f" {len(self._last)} steps before, stop_at_rise allows {self.rise:g}; the states"
                " and checkpoints before this step are kept: lower learning_rate, which starts"
                " training over, or raise stop_at_rise and run again to go on"
            )
        self._last.append(loss)
