"""Which device work runs on, in which number type, and what of that decides numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError


def choose_device(device: str) -> str:
    """Return ``device``, or for ``auto`` cuda where there is one, else cpu.

    Raises :class:`RevocabError` for a device that is not here.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    check_device(device)
    return device


def divided(device: str, gpus: int) -> list[str]:
    """Return the devices over which a model's layers are divided: the first ``gpus``; on a CPU it.

    Raises :class:`RevocabError` where there are fewer, and for a device that names one of them.
    """
    import torch

    if gpus == 1 or not device.startswith("cuda"):
        return [device]
    if ":" in device:
        raise RevocabError(f"--device {device}: one GPU, and --gpus is {gpus}; leave one out")
    count = torch.cuda.device_count()
    if count < gpus:
        raise RevocabError(
            f"--gpus {gpus}: this job has {count}; give at most {count}, or the job more in the"
            f" profile (resource gpu)"
        )
    return [f"{device}:{number}" for number in range(gpus)]


def check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        present = "cpu, cuda" if torch.cuda.is_available() else "cpu"
        reason = str(error).split("\n", maxsplit=1)[0]
        raise RevocabError(
            f"--device {device}: not available here ({reason}); present: {present}"
        ) from None


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
    #: Over how many GPUs the model is divided.
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


def deciding(device: str, dtype: str, batch_size: int) -> dict[str, Any]:
    """Return what of a machine's options decides numbers: whatever keeps finished work asks here.

    The number type always, as ``auto`` is on that device. In float32 device and batch move a result
    by rounding only; in half precision so much that texts differ, so that they count there, too.
    """
    checkpoint = checkpoint_on(Path(), device, dtype, batch_size)
    if checkpoint.dtype == "float32":
        return {"dtype": checkpoint.dtype}
    kind = checkpoint.device.partition(":")[0]
    return {"dtype": checkpoint.dtype, "device": kind, "batch_size": batch_size}
