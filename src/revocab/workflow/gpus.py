"""GPUs of this machine: how many there are, and which of them a local job has to itself.

    python -m revocab.workflow.gpus 2 COMMAND …

waits until two GPUs are free, sets ``CUDA_VISIBLE_DEVICES`` to them and becomes the command. A GPU
is taken by a lock on a file that stands for it, in a folder that all runs of a user on this machine
share. The process that the job is holds the lock for its life, so that the operating system gives
the GPU back however the job ends. Jobs wait one after another, and only the first of those that
wait takes GPUs: two that need several never hold parts of what the other waits for.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

#: What CUDA lets a process see, by number or name.
VISIBLE = "CUDA_VISIBLE_DEVICES"
#: So many GPUs are taken to be here, for tests: jobs take turns by them.
PRETENDED = "REVOCAB_PRETEND_GPUS"
DEV = Path("/dev")
#: Of AMD's driver: a folder for each processor; of one that is no GPU the number is 0.
KFD = Path("/sys/class/kfd/kfd/topology/nodes")
SECONDS = 0.2
#: Who takes GPUs next holds the lock on this file.
TURN = "turn"
#: Of Linux's ``prctl``.
PR_SET_PDEATHSIG = 1


def devices() -> list[str]:
    """Return the GPUs that jobs may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    if PRETENDED in os.environ:
        return [str(number) for number in range(int(os.environ[PRETENDED] or 0))]
    if (visible := os.environ.get(VISIBLE)) is not None:
        return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number in range(_count())]


def _count() -> int:
    """Return how many GPUs drivers show, without a library that takes seconds to load."""
    nvidia = [file for file in DEV.glob("nvidia*") if re.fullmatch(r"nvidia\d+", file.name)]
    if nvidia:
        return len(nvidia)
    if KFD.is_dir():
        numbers = [file.read_text().strip() for file in KFD.glob("*/gpu_id")]
        return sum(number != "0" for number in numbers)
    if shutil.which("nvidia-smi") is None:  # with it alone where Windows has the driver
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def memory() -> float | None:
    """Return the bytes of the smallest GPU of this machine, if a tool is here that tells."""
    if PRETENDED in os.environ or shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    output = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    sizes = [float(line) * 2**20 for line in output.split() if line.isdigit()]
    return min(sizes, default=None)


def lock_folder() -> Path:
    # Two allocations of Slurm on a node may call different GPUs by the same number.
    names = ["revocab-gpus", str(os.getuid()), os.environ.get("SLURM_JOB_ID", "")]
    folder = Path(tempfile.gettempdir()) / "-".join(filter(None, names))
    folder.mkdir(exist_ok=True)
    return folder


def words(count: int) -> list[str]:
    """Return the words before a job's own that give it ``count`` GPUs, as far as there are any."""
    most = min(count, len(devices()))
    return [sys.executable, "-m", __name__, str(most)] if most > 0 else []


def take(count: int, names: Sequence[str]) -> list[str]:
    """Return ``count`` of the named GPUs, which this process and what it becomes then hold."""
    folder = lock_folder()
    turn = _locked(folder / TURN, wait=True)
    said = False
    while True:
        tried = {name: _locked(folder / re.sub(r"\W", "-", name)) for name in names}
        free = {name: handle for name, handle in tried.items() if handle is not None}
        chosen = list(free)[:count] if len(free) >= count else []
        for name, handle in free.items():
            if name in chosen:
                os.set_inheritable(handle, True)
            else:
                os.close(handle)
        if chosen:
            break
        if not said:
            print(f"waiting for {count} free of {len(names)} GPUs ({folder})", file=sys.stderr)
        said = True
        time.sleep(SECONDS)
    assert turn is not None
    os.close(turn)
    return chosen


def _locked(file: Path, *, wait: bool = False) -> int | None:
    """Return a handle whose lock on the file is ours, or None where another process has it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def end_with_parent() -> None:
    """Have this process killed when the one that forked it ends, which waits for it otherwise."""
    import ctypes

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str]) -> None:
    names = devices()
    chosen = take(min(int(arguments[0]), len(names)), names) if names else []
    if chosen:
        os.environ[VISIBLE] = ",".join(chosen)
    os.execvp(arguments[1], arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
