"""When a training saves its resume state besides at checkpoints: by time, and at signals.

SIGUSR1 saves the state at the end of the current step, and training goes on. SIGTERM saves it, too,
and training stops: both are what batch systems send before a time limit.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import torch
from torch import distributed


class Asked(IntEnum):
    """What is to be done after a step; of several requests the greatest holds."""

    NOTHING = 0
    SAVE = 1
    STOP = 2


SIGNALS = {signal.SIGUSR1: Asked.SAVE, signal.SIGTERM: Asked.STOP}


class Saving:
    """Collects what time and signals ask for; every process of a training has one.

    ``minutes`` between states counts from the last state of any kind; ``None`` in all processes but
    the first, so that there is one clock.
    """

    def __init__(self, minutes: float | None = None, clock: Callable[[], float] = time.monotonic):
        self.minutes = minutes
        self._clock = clock
        self._asked: set[Asked] = set()
        self._since = clock()
        self._sent: torch.Tensor | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals within the block; Python allows this in the main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._note) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _note(self, number: int, frame: Any) -> None:
        self._asked.add(SIGNALS[signal.Signals(number)])

    def saved(self) -> None:
        self._since = self._clock()

    def own(self) -> Asked:
        """Return what this process is asked for; a request to save is returned once."""
        # A signal may come between any two instructions: only what was seen is taken away.
        found = {*self._asked}
        self._asked -= found - {Asked.STOP}
        due = self.minutes is not None and self._clock() - self._since >= 60 * self.minutes
        if due:
            self.saved()
            found.add(Asked.SAVE)
        return max(found, default=Asked.NOTHING)

    def agreed(self, device: torch.device) -> Asked:
        """Return what all processes do after this step; each calls this once a step.

        Of several processes, the answer is what any of them was asked for by the step before:
        reading a sum that was just requested would make each process wait for its device.
        """
        own = self.own()
        if not (distributed.is_initialized() and distributed.get_world_size() > 1):
            return own
        before, self._sent = self._sent, torch.tensor(int(own), device=device)
        distributed.all_reduce(self._sent, op=distributed.ReduceOp.MAX)
        return Asked.NOTHING if before is None else Asked(int(before))
