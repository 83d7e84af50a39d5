"""What is done around each training step: clock, progress bar, loss watch, and when to save.

A training saves its resume state besides at checkpoints by time, and at signals: SIGUSR1 saves the
state at the end of the current step, and training goes on. SIGTERM saves it, too, and training
stops: both are what batch systems send before a time limit.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed
from tqdm import tqdm
from transformers import TrainerCallback

from revocab.errors import RevocabError

if TYPE_CHECKING:
    from revocab.training.loop.trainer import RecipeTrainer

#: Steps whose mean a loss is compared with, and how many of a stage there must be first.
WINDOW, FIRST = 50, 10


class Asked(IntEnum):
    """What is to be done after a step; of several requests the greatest holds."""

    NOTHING = 0
    SAVE = 1
    STOP = 2


SIGNALS = {signal.SIGUSR1: Asked.SAVE, signal.SIGTERM: Asked.STOP}


#: Seconds of training that a kill may cost where saving a state takes less than an eighth of it.
LOST_AT_MOST, TIMES_SAVING = 60.0, 8


class Saving:
    """Collects what time and signals ask for; every process of a training has one.

    ``minutes`` between states counts from the last state of any kind; by default a state is saved
    before a step would end later than :data:`LOST_AT_MOST` after the last, or :data:`TIMES_SAVING`
    times as long as saving takes. Only one process ``keeps_time``, so that there is one clock.
    """

    def __init__(
        self,
        minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        keeps_time: bool = True,
    ):
        self.minutes = minutes
        self.keeps_time = keeps_time
        self._clock = clock
        self._asked: set[Asked] = set()
        self._since = self._last = clock()
        self._saving_seconds = 0.0
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

    def saved(self, seconds: float = 0.0) -> None:
        """Count from now; saving took so many seconds."""
        self._since = self._last = self._clock()
        self._saving_seconds = seconds

    def _is_due(self) -> bool:
        """Return whether a state is due after a step that ends now."""
        now, before = self._clock(), self._last
        self._last = now
        if not self.keeps_time:
            return False
        if self.minutes is not None:
            return now - self._since >= 60 * self.minutes
        next_end = now + (now - before)
        return next_end - self._since > max(LOST_AT_MOST, TIMES_SAVING * self._saving_seconds)

    def own(self) -> Asked:
        """Return what this process is asked for; a request to save is returned once."""
        # A signal may come between any two instructions: only what was seen is taken away.
        requests = {*self._asked}
        self._asked -= requests - {Asked.STOP}
        if self._is_due():
            self.saved()
            requests.add(Asked.SAVE)
        return max(requests, default=Asked.NOTHING)

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


@dataclass
class Clock:
    """Seconds spent on training steps, fetching data included and checkpoints not."""

    first_step: float | None = None
    training: float = 0.0
    steps: int = 0
    _since: float = field(default=0.0, repr=False)

    def start(self) -> None:
        """Count from now; the first call notes when training began (seconds since the epoch)."""
        self._since = time.perf_counter()
        self.first_step = self.first_step or time.time()

    def step(self) -> None:
        """Add the time since the last call of :meth:`start` or :meth:`step`, for one step."""
        now = time.perf_counter()
        self.training += now - self._since
        self._since = now
        self.steps += 1


class StepCallback(TrainerCallback):
    """Clock, progress bar and table rows."""

    def __init__(self, trainer: RecipeTrainer):
        self.trainer = trainer
        self.bar: tqdm[Any] | None = None
        self.rate = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.bar = tqdm(
            total=state.max_steps,
            initial=state.global_step,
            disable=not state.is_world_process_zero,
            desc="training",
            bar_format="{l_bar}{bar:20}| {n_fmt}/{total_fmt} steps [{elapsed}{postfix}]",
            mininterval=1.0,
            maxinterval=60.0,
        )
        if state.global_step == 0:
            self.measure(0)
        self.trainer.saving.saved()
        self.trainer.clock.start()

    def measure(self, step: int) -> None:
        assert self.bar is not None  # on_train_begin was called
        self.bar.set_postfix_str("measuring held-out text")
        self.trainer.work(self.trainer, step)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.trainer.enter_stage(state.global_step)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.rate = self.trainer.shown_rate()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note the loss and the time, move the bar; decide whether to save the state, and stop.

        The end of a stage is a checkpoint.
        """
        asked = self.trainer.saving.agreed(self.trainer.args.device)
        control.should_save |= asked > Asked.NOTHING or state.global_step in self.trainer.plan.ends
        control.should_training_stop |= asked == Asked.STOP
        self.trainer.finish_step(state.global_step, self.rate)
        self.trainer.clock.step()
        if state.global_step in self.trainer.between:
            self.trainer.write_rows()
            self.measure(state.global_step)
            self.trainer.clock.start()
        assert self.bar is not None  # on_train_begin was called
        self.bar.set_postfix_str(self.in_words(state.global_step), refresh=False)
        self.bar.update()

    def in_words(self, step: int) -> str:
        """Return loss, speed, and the time that is left with what is measured and saved in it."""
        trainer, clock = self.trainer, self.trainer.clock
        settings, work = trainer.settings, trainer.work
        each = clock.training / clock.steps
        left = each * (settings.steps - step)
        for steps, seconds, number in (
            (settings.heldout_steps, work.evaluation_seconds, work.evaluations),
            (settings.checkpoint_steps, work.export_seconds, work.exports),
        ):
            left += sum(later > step for later in steps) * seconds / max(1, number)
        states = trainer.state_seconds
        left *= 1 + (fmean(states) / LOST_AT_MOST if states else 0.0)
        speed = settings.batch_size * trainer.packed.sequence_length / each
        minutes, rest = divmod(round(left), 60)
        time_left = f"{minutes} min {rest} s" if minutes else f"{rest} s"
        # On a GPU the first losses are read after some steps.
        loss = "" if trainer.last_loss is None else f"loss {trainer.last_loss:.3f}, "
        return f"{loss}{speed:,.0f} tokens/s, {time_left} left"

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        assert self.bar is not None
        self.bar.close()


class LossWatch:
    """Stops a training whose loss jumps, while the state before the jump is still there.

    Compares each step's loss with the mean of the steps before it in the same stage.

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
