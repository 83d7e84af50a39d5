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
