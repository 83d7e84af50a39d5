"""Which device work runs on."""

from __future__ import annotations

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
