"""Commands as forks of a process that has loaded what they load, but nothing that asks for a Hub.

What stands in ``HF_HOME`` and its like is read when `huggingface_hub` is imported, so a fork
imports that anew. A fork is a process as any other: with its own memory, streams and exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from waiting import wait_until

from revocab.workflow import warm

LIBRARIES = (
    "numpy", "pandas", "pyarrow.dataset", "pyarrow.json", "pyarrow.parquet", "aiohttp", "httpx2",
    "requests", "dill", "multiprocess", "xxhash", "jinja2", "revocab.config", "revocab.plan.plan",
)  # fmt: skip
HUB = {"HF_ENDPOINT", "HF_HOME", "HF_TOKEN", "HF_HUB_DISABLE_XET", "PYTEST_CURRENT_TEST"}


_processes: list[subprocess.Popen] = []


@cache
def start() -> str:
    """Start the process; return the path at which it listens."""
    path = Path(tempfile.mkdtemp(prefix="loaded-"), "s")
    environment = {**os.environ, **warm.ONE_THREAD, **warm.FORKS, warm.SOCKET: str(path)}
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, env=environment)
    wait_until(path.exists, process)
    assert path.exists(), "the process has ended"
    _processes.append(process)
    return str(path)


def stop() -> None:
    for process in _processes:
        process.stdin.close()
        process.wait()


def variables() -> dict[str, str]:
    """Return what a command's environment has so that it is a fork; on Linux alone it can be."""
    if not hasattr(os, "pidfd_open"):
        return {}
    return {**warm.ONE_THREAD, warm.SOCKET: start()}


if __name__ == "__main__":
    warm.SLOW = LIBRARIES
    warm.OWN |= HUB
    for library in LIBRARIES:
        import_module(library)
    assert "huggingface_hub" not in sys.modules
    warm.main()
