"""What every engine settles before it loads a checkpoint: is it one, which device, which dtype."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revocab.device import choose_device


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that an engine loads, and the device that it goes to."""

    folder: Path
    #: cpu, cuda, cuda:1, ...; not auto.
    device: str
    #: The name of a torch dtype; auto: as stored.
    dtype: str
    #: Sequences at a time; an engine may batch by itself.
    batch_size: int
    #: Devices that it is divided among.
    gpus: int = 1


def checkpoint_on(
    folder: Path, device: str, dtype: str, batch_size: int, gpus: int = 1
) -> Checkpoint:
    """Return a checkpoint with its device and dtype; ``auto`` is float32 on a CPU, where halves are
    slow, else as stored.
    """
    device = choose_device(device)
    on_cpu = dtype == "auto" and device == "cpu"
    return Checkpoint(folder, device, "float32" if on_cpu else dtype, batch_size, gpus)
