"""When a device's memory runs out in a command: one line that names the key which helps.

Training is not concerned: it halves its micro batch itself
(:mod:`revocab.training.machine.micro_batch`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from revocab.closed import Closed, Job
from revocab.errors import RevocabError

#: What CUDA's libraries say where torch has no error of its own for it.
SIGNS = ("CUDA error: out of memory", "STATUS_ALLOC_FAILED")
#: Sentences of torch's message that say how much was asked for, and how much was there.
SENTENCES = 3
#: Numbers of 16 bits.
HALVES = ("bfloat16", "float16")
#: Where no key helps.
ELSE = "end other processes that use the device, take one with more memory, or device: cpu"


@contextmanager
def explained(command: str, job: Job, machine: Closed) -> Iterator[None]:
    """Turn a lack of a device's memory in a command into a :class:`RevocabError`.

    Errors of a command that has no choice of a device, and all other errors, pass.
    """
    try:
        yield
    except RuntimeError as error:
        if not (ran_out(error) and "device" in type(machine).model_fields):
            raise
        raise RevocabError(
            f"out of memory on the device ({beginning(error)}); {advice(command, job, machine)}"
        ) from error


def ran_out(error: RuntimeError) -> bool:
    """Return whether an error says that a device has no memory left; torch is not imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    return isinstance(error, torch.OutOfMemoryError) or any(sign in str(error) for sign in SIGNS)


def beginning(error: RuntimeError) -> str:
    """Return the sentences of an error that say how much memory there is, on one line."""
    text = " ".join(str(error).split())
    return ". ".join(re.split(r"\.\s", text)[:SENTENCES]).rstrip(".")


def batches_itself(engine: str | None) -> bool:
    """Return whether no batch size of ours changes what an engine holds."""
    if engine is None:
        return False
    from revocab.evaluation.inference.engine import engines

    return engine in engines() and engines()[engine].environment is not None


def advice(command: str, job: Job, machine: Closed) -> str:
    key, size = "batch_size", getattr(machine, "batch_size", None)
    if batches_itself(getattr(job, "engine", None)):
        return f"give --dtype {HALVES[0]}, --gpus with more devices, or {ELSE}"
    if size is not None and size > 1:
        return (
            f"{key} is {size}: give less in the profile (set-resources: {{{command}: {{{key}:"
            f" {size // 2}}}}}) or with --batch-size {size // 2}, and run the same command again;"
            " what is finished is kept"
        )
    measured = getattr(job, "batch_size", 1)
    if measured > 1:
        return f"lower {key} of evaluation.efficiency in the experiment ({measured} now), or {ELSE}"
    narrow = getattr(machine, "dtype", HALVES[0]) in HALVES
    half = "" if narrow else f"set dtype: {HALVES[0]} for {command} in the profile, or "
    return f"{'' if size is None else f'{key} is 1 already: '}{half}{ELSE}"
