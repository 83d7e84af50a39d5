"""What is done around each training step: clock, progress bar, rows of the tables, loss watch."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tqdm import tqdm
from transformers import TrainerCallback

from revocab.errors import RevocabError
from revocab.training.outputs.saving import Asked

if TYPE_CHECKING:
    from revocab.training.loop.trainer import RecipeTrainer

#: Steps whose mean a loss is compared with, and how many of a stage there must be first.
WINDOW, FIRST = 50, 10


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
            unit="step",
            mininterval=1.0,
            maxinterval=60.0,
        )
        if state.global_step == 0:
            self.trainer.work(self.trainer, 0)
        self.trainer.clock.start()

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
            self.trainer.work(self.trainer, state.global_step)
            self.trainer.clock.start()
        assert self.bar is not None  # on_train_begin was called
        self.bar.set_postfix_str(f"loss {self.trainer.last_loss:.3f}", refresh=False)
        self.bar.update()

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
