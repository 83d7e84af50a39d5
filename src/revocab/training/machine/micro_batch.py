"""How many sequences a forward pass takes, and what to do, or to say, when memory runs out.

The micro batch is chosen once, halved when a forward or backward pass has no memory, recorded.

A step's loss is the mean over its sequences however they are divided, so this changes rounding and
nothing else. The record stands beside the resume states, so that a run that goes on divides its
steps as before, and ends with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from revocab import io
from revocab.errors import RevocabError

if TYPE_CHECKING:
    import torch

    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.run import TrainingRun

FILE = "micro_batch.json"
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


def largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of a number from 1 to ``most``."""
    return next((divisor for divisor in range(most, 1, -1) if number % divisor == 0), 1)


def halved(size: int, share: int) -> int | None:
    return largest_divisor(share, size // 2) if size > 1 else None


@dataclass
class MicroBatch:
    """The micro batch of one process."""

    #: Sequences of a step that this process has.
    share: int
    #: Of these, how many at once.
    size: int
    #: What the machine's options say; another value makes the record void.
    asked: int | None
    processes: int
    #: Where the record is kept: the folder of resume states.
    root: Path

    def recorded(self) -> int | None:
        """Return the size that an earlier start of this training ended with, if that applies."""
        path = self.root / FILE
        record = io.read_json(path) if path.is_file() else {}
        same = (record.get("asked"), record.get("processes")) == (self.asked, self.processes)
        return record["micro_batch"] if same and "micro_batch" in record else None

    def record(self) -> None:
        record = {"asked": self.asked, "processes": self.processes, "micro_batch": self.size}
        io.write_json(self.root / FILE, record)

    def halve(self) -> str:
        """Halve the size, record it, and return a line that says so.

        Raises :class:`RevocabError` where there is nothing to halve, and among several processes:
        those that still have memory wait for this one, so all have to start again.
        """
        before, smaller = self.size, halved(self.size, self.share)
        if smaller is None:
            raise RevocabError(
                "out of memory with one sequence per forward pass; set activation_checkpointing,"
                " or fsdp on several devices, or use a device with more memory"
            )
        self.size = smaller
        self.record()
        line = f"out of memory with {before} sequences per forward pass"
        if self.processes > 1:
            raise RevocabError(
                f"{line}; run the same command again: it goes on from the last state with {smaller}"
            )
        return f"{line}; going on with {smaller}"


def largest_micro_batch(trainer: RecipeTrainer, run: TrainingRun) -> int | None:
    """Return as many sequences as should fit the free memory of a GPU; None without one."""
    import torch

    from revocab.costs.model import Memory

    args, device = trainer.args, trainer.args.device
    adapters = trainer.vocabulary_adapters.values()
    memory = Memory.of(
        trainer.model, trainer.groups, trainer.settings, trainer.packed.sequence_length,
        trainer.work.inputs.dtype.itemsize,
        source_rows=max((adapter.weights.source_rows for adapter in adapters), default=0),
        recomputed=run.activation_checkpointing,
        shards=args.world_size if args.fsdp else 1,
    )  # fmt: skip
    if device.type != "cuda":  # after the memory, so that what it is made of is missed anywhere
        return None
    # As if the model, which may be on the device already, were not there.
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    return memory.largest(free, trainer.micro.share)


@contextmanager
def explained(line: str) -> Iterator[None]:
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
