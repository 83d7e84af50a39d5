"""Wait for a process without a limit of time: how long it takes depends on the machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path


def wait_until(reached: Callable[[], bool], process: subprocess.Popen | BaseProcess) -> None:
    runs = process.is_alive if isinstance(process, BaseProcess) else lambda: process.poll() is None
    while not reached() and runs():
        time.sleep(0.001)


def steps_made(training: Path) -> int:
    table = training / "losses.csv"
    return max(0, table.read_bytes().count(b"\n") - 1) if table.exists() else 0
