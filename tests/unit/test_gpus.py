"""Which GPUs a local job has to itself: of real processes, on devices that are pretended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from revocab.workflow import gpus

#: Claims each GPU that it sees with a file that nobody else may have, works, and gives them back.
CLAIM = """
import os, pathlib, sys, time
names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
files = [pathlib.Path(sys.argv[1], name) for name in names]
for file in files: file.touch(exist_ok=False)
time.sleep(float(sys.argv[2]))
for file in files: file.unlink()
print(len({*names}))
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Four GPUs on a machine of our own."""
    monkeypatch.setenv(gpus.PRETENDED, "4")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    (tmp_path / "claims").mkdir()
    return tmp_path / "claims"


def start(count: int, here: Path, seconds: float) -> subprocess.Popen[str]:
    job = [sys.executable, "-c", CLAIM, str(here), str(seconds)]
    words = [sys.executable, "-m", gpus.__name__, str(count), *job]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_jobs_beside_each_other_have_different_gpus_and_none_waits_for_ever(here):
    """More at once than fit, some for several GPUs and one for all."""
    counts = (1, 3, 1, 2, 4, 3, 1, 2)
    jobs = [start(count, here, 0.2) for count in counts]
    for count, job in zip(counts, jobs, strict=True):
        out, errors = job.communicate(timeout=60)
        assert (job.returncode, out) == (0, f"{count}\n"), errors
    assert not [*here.iterdir()]


def test_a_killed_job_gives_its_gpus_back_at_once(here):
    job = start(4, here, 60)
    while len([*here.iterdir()]) < 4:
        assert job.poll() is None
        time.sleep(0.05)
    waiting = start(2, here, 0)
    time.sleep(0.5)
    assert waiting.poll() is None
    job.send_signal(signal.SIGKILL)
    job.communicate()
    for file in here.iterdir():
        file.unlink()
    assert waiting.communicate(timeout=30)[0] == "2\n"


def test_a_job_for_more_than_there_are_gets_all(here):
    assert start(8, here, 0).communicate(timeout=30)[0] == "4\n"


@pytest.mark.parametrize(
    ("pretended", "visible", "expected"),
    [
        ("3", None, ["0", "1", "2"]), ("0", "0,1", []), ("", None, []),
        (None, "2,5", ["2", "5"]), (None, "", []), (None, "-1", []),
        (None, "MIG-a/1, MIG-b/2", ["MIG-a/1", "MIG-b/2"]),
        (None, None, ["0", "1"]),
    ],
)  # fmt: skip
def test_gpus_are_those_that_the_user_leaves_visible(
    tmp_path, monkeypatch, pretended, visible, expected
):
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.setattr(gpus, "DEV", tmp_path)
    for name, value in ((gpus.PRETENDED, pretended), (gpus.VISIBLE, visible)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert gpus.devices() == expected
    words = gpus.words(2)
    assert words[-1:] == ([str(min(2, len(expected)))] if expected else [])


def test_amd_processors_without_a_number_are_no_gpus(tmp_path, monkeypatch):
    for name, number in (("0", "0"), ("1", "4321"), ("2", "8765")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "gpu_id").write_text(f"{number}\n")
    monkeypatch.setattr(gpus, "DEV", tmp_path)
    monkeypatch.setattr(gpus, "KFD", tmp_path)
    for name in (gpus.PRETENDED, gpus.VISIBLE):
        monkeypatch.delenv(name, raising=False)
    assert gpus.devices() == ["0", "1"]


def test_two_allocations_of_slurm_on_a_node_do_not_wait_for_each_other(here, monkeypatch):
    folders = []
    for job in ("1", "2"):
        monkeypatch.setenv("SLURM_JOB_ID", job)
        folders.append(gpus.lock_folder())
    assert len({*folders}) == 2 and all(str(os.getuid()) in folder.name for folder in folders)
