"""What a command takes: time, processor time, peak memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: A small process between: a child's peak starts at that of the process which it was forked from.
LAUNCH = """
import json, resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump([used.ru_utime + used.ru_stime, used.ru_maxrss], file)
sys.exit(status)
"""


def measure(command: list[str], log: Path | None = None) -> tuple[float, float, float]:
    """Run a command; return its seconds, processor seconds and peak resident memory in GiB.

    Raises :class:`subprocess.CalledProcessError` if it fails. What it prints goes to ``log``.
    """
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder) / "used.json"
        launched = [sys.executable, "-c", LAUNCH, str(peak), *command]
        started = time.perf_counter()
        if log is None:
            subprocess.run(launched, check=True)
        else:
            with log.open("w") as handle:
                subprocess.run(launched, check=True, stdout=handle, stderr=subprocess.STDOUT)
        seconds = time.perf_counter() - started
        processor, kilobytes = json.loads(peak.read_text())
    return seconds, processor, kilobytes / 2**20
