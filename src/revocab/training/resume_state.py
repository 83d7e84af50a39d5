"""Resume state: what a killed run needs to go on as if nothing had happened, and when it is saved.

``state/`` holds ``fingerprint.json`` and one folder per kept step: weights (safetensors), optimizer
and generators (loaded ``weights_only``) with copies of the loss tables and, written last,
``checksums.json``. A folder without it, or with a file that does not match, is not used.

A state is saved at checkpoints, by time, and at signals: SIGUSR1 saves it at the end of the current
step, and training goes on. SIGTERM saves it, too, and training stops: both are what batch systems
send before a time limit.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab import io

if TYPE_CHECKING:
    import torch
    from accelerate import Accelerator

    from revocab.training.records import LossTables

PREFIX = "checkpoint-"
CHECKSUMS = "checksums.json"
FINGERPRINT = "fingerprint.json"
WEIGHTS, OPTIMIZER, GENERATORS = "model.safetensors", "optimizer.pt", "generators-{}.pt"
STATE_KEPT = "the last good state is kept"
#: The newest state, and the one before in case the newest turns out damaged.
KEPT = 2
#: Seconds of training that a kill may cost where saving a state takes less than an eighth of it.
LOST_AT_MOST, TIMES_SAVING = 60.0, 8


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix(PREFIX))


def states(root: Path) -> list[Path]:
    """Return the state folders under ``root``, whole or not, newest first."""
    folders = [path for path in root.glob(PREFIX + "*") if path.name[len(PREFIX) :].isdigit()]
    return sorted(folders, key=step_of, reverse=True)


def sharding(accelerator: Accelerator) -> Any:
    """Return the plugin by which weights are sharded (FSDP); ``None``: they are whole."""
    return getattr(accelerator.state, "fsdp_plugin", None)


def save(
    root: Path,
    step: int,
    accelerator: Accelerator,
    model: Any,
    optimizer: torch.optim.Optimizer,
    tables: LossTables | None,
) -> None:
    """Save the state of a step, and remove all but the newest; every process calls this."""
    import torch
    from accelerate.utils import save_fsdp_model, save_fsdp_optimizer
    from safetensors.torch import save_model

    folder = root / f"{PREFIX}{step}"
    if tables is not None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    accelerator.wait_for_everyone()
    if plugin := sharding(accelerator):
        save_fsdp_model(plugin, accelerator, model, folder)
        save_fsdp_optimizer(plugin, accelerator, optimizer, model, folder)
    elif tables is not None:
        save_model(model, str(folder / WEIGHTS), metadata={"format": "pt"})
        torch.save(optimizer.state_dict(), folder / OPTIMIZER)
    device = accelerator.device
    generators = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        generators["cuda"] = torch.cuda.get_rng_state(device)
    torch.save(generators, folder / GENERATORS.format(accelerator.process_index))
    accelerator.wait_for_everyone()
    if tables is not None:
        tables.copy_to(folder)
        seal(folder)


def load(
    folder: Path, accelerator: Accelerator, model: Any, optimizer: torch.optim.Optimizer
) -> None:
    """Load what :func:`save` saved, but for weights that are not sharded.

    A run may go on with other processes; those that are new draw other numbers.
    """
    import torch
    from accelerate.utils import load_fsdp_model, load_fsdp_optimizer

    if plugin := sharding(accelerator):
        load_fsdp_model(plugin, accelerator, model, folder)
        load_fsdp_optimizer(plugin, accelerator, optimizer, model, folder)
    else:  # on the CPU first, so that one device does not hold it twice
        state = torch.load(folder / OPTIMIZER, map_location="cpu", weights_only=True)
        optimizer.load_state_dict(state)
    own = folder / GENERATORS.format(accelerator.process_index)
    if own.is_file():
        generators = torch.load(own, map_location="cpu", weights_only=True)
        torch.set_rng_state(generators["cpu"])
        if "cuda" in generators and accelerator.device.type == "cuda":
            torch.cuda.set_rng_state(generators["cuda"], accelerator.device)


def seal(folder: Path) -> None:
    """Write the checksums of a state, and remove all but the newest states beside it."""
    sums = {}
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        if path.name != CHECKSUMS:
            with path.open("rb") as handle:
                os.fsync(handle.fileno())
            sums[path.relative_to(folder).as_posix()] = io.sha256(path)
    io.write_json(folder / CHECKSUMS, sums)
    for old in states(folder.parent)[KEPT:]:
        shutil.rmtree(old)


def is_whole(folder: Path) -> bool:
    try:
        sums = io.read_json(folder / CHECKSUMS)
        return all(io.sha256(folder / name) == value for name, value in sums.items())
    except Exception:  # any file that is missing or unreadable means: damaged
        return False


def belongs(root: Path, fingerprint: str) -> bool:
    recorded = root / FINGERPRINT
    return recorded.is_file() and io.read_json(recorded).get("fingerprint") == fingerprint


def find(root: Path, fingerprint: str, tell: Callable[[str], None] | None) -> Path | None:
    """Return the newest usable state for this fingerprint, or ``None``.

    Damaged states are deleted; a fingerprint that differs means that settings or inputs have
    changed, and that no state is usable. ``tell`` is called with a line on each.
    """
    if not belongs(root, fingerprint):
        if states(root) and tell:
            tell(f"{root}: was made with other settings or inputs; discarded, starting at step 0")
        return None
    for folder in states(root):
        if is_whole(folder):
            return folder
        if tell:
            tell(f"{folder}: unfinished or damaged; discarded")
        shutil.rmtree(folder)
    return None


def discarded(root: Path) -> Path:
    """Return the name under which a state root is deleted; nothing reads it."""
    return root.with_name(f".{root.name}.discarded")


def discard(root: Path) -> None:
    """Delete a state root: at one moment it is whole, at the next gone, wherever a kill comes."""
    gone = discarded(root)
    shutil.rmtree(gone, ignore_errors=True)
    if root.is_dir():
        root.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def begin(root: Path, fingerprint: str) -> None:
    discard(root)
    root.mkdir(parents=True)
    io.write_json(root / FINGERPRINT, {"fingerprint": fingerprint})


class Request(IntEnum):
    """What is to be done after a step; of several requests the greatest holds."""

    NOTHING = 0
    SAVE = 1
    STOP = 2


SIGNALS = {signal.SIGUSR1: Request.SAVE, signal.SIGTERM: Request.STOP}


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
        self._requests: set[Request] = set()
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
        self._requests.add(SIGNALS[signal.Signals(number)])

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

    def own(self) -> Request:
        """Return what this process is asked for; a request to save is returned once."""
        # A signal may come between any two instructions: only what was seen is taken away.
        requests = {*self._requests}
        self._requests -= requests - {Request.STOP}
        if self._is_due():
            self.saved()
            requests.add(Request.SAVE)
        return max(requests, default=Request.NOTHING)

    def agreed(self, device: torch.device) -> Request:
        """Return what all processes do after this step; each calls this once a step.

        Of several processes, the answer is what any of them was asked for by the step before:
        reading a sum that was just requested would make each process wait for its device.
        """
        import torch
        from torch import distributed

        own = self.own()
        if not (distributed.is_initialized() and distributed.get_world_size() > 1):
            return own
        before, self._sent = self._sent, torch.tensor(int(own), device=device)
        distributed.all_reduce(self._sent, op=distributed.ReduceOp.MAX)
        return Request.NOTHING if before is None else Request(int(before))
