"""``revocab run`` after a SIGKILL of Snakemake: refused while a job goes on, then as ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from run_snakemake import copy_checkout

from revocab.workflow.run import LOCKS, Holder, records

TARGET = "results/demo/parameters.csv"
RUN = [sys.executable, "-m", "revocab", "run", "--cores", "1", TARGET]


def started_jobs(locks, run: subprocess.Popen) -> tuple[Holder, list[int]]:
    """Wait for a run's record and its first job; return both."""
    while run.poll() is None:
        for holder in records(locks).values():
            if jobs := holder.jobs():
                return holder, jobs
        time.sleep(0.02)
    raise AssertionError("no job has begun")


@pytest.mark.long
def test_the_same_command_goes_on_after_a_kill(repository, tmp_path):
    copy_checkout(repository, tmp_path)
    given = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path / "src")}}
    said = {**given, "capture_output": True, "text": True}
    first = subprocess.Popen(RUN, **given, stderr=subprocess.DEVNULL)
    holder, jobs = started_jobs(tmp_path / LOCKS, first)
    assert psutil.Process(holder.process).ppid() == first.pid
    for job in jobs:
        os.kill(job, signal.SIGSTOP)
    first.kill()
    first.wait()
    while holder.is_alive:  # Snakemake, which dies with its parent
        time.sleep(0.02)
    refused = subprocess.run(RUN, check=False, **said)
    assert refused.returncode == 1 and "not all of its jobs" in refused.stderr
    for job in holder.jobs():
        os.kill(job, signal.SIGKILL)
    second = subprocess.run(RUN, check=False, **said)
    assert second.returncode == 0, second.stderr
    assert "Reason:" not in second.stderr and "host:" not in second.stderr
    assert f"removed the lock of a run that has ended (process {holder.process})" in second.stderr
    assert (tmp_path / TARGET).is_file()
    assert not [*tmp_path.glob("results/**/*.part")] and not [*(tmp_path / LOCKS).glob("*")]
