"""Signals to `revocab adapt`, alone and with its group: one line within seconds, no orphan."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from toy_models import SOURCE_WORDS, build_model, build_tokenizer
from waiting import steps_made, wait_until

from revocab.demoworld.build import documents
from revocab.demoworld.stories import build
from revocab.training import resume_state

pytestmark = pytest.mark.long

#: Seconds that a signal may take, where no more runs than there are cores.
MOST = 5.0
LINE = ["adapt", "my-model", "--text", "sw=sw.txt", "--tokens", "600000", "--anyway"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stopped")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "my-model")
    rows = documents(build(17), "it", 90, 17)
    text = "\n\n".join(row["text"].replace("\n", " ") for row in rows)
    (folder / "sw.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_signal_ends_everything_says_what_is_kept_and_the_same_command_goes_on(folder):
    out, step = folder / "adapted", 0

    def trained() -> list[Path]:
        return [*out.glob("results/adapt/runs/adapted-ext*")]

    for number, to_group in (
        (signal.SIGINT, True),
        (signal.SIGTERM, False),
        (signal.SIGINT, False),
    ):
        log = folder / f"{number.name}-{to_group}.log"
        with log.open("w") as stream:
            first = subprocess.Popen(
                [sys.executable, "-m", "revocab", *LINE],
                cwd=folder, stdout=stream, stderr=stream, start_new_session=True,
            )  # fmt: skip
        wanted = step + 3
        wait_until(lambda more=wanted: any(steps_made(run) >= more for run in trained()), first)
        assert first.poll() is None, log.read_text()[-3000:]
        processes = psutil.Process(first.pid).children(recursive=True)
        assert len(processes) >= 3  # Snakemake, the process that jobs are forks of, the training
        begin = time.monotonic()
        (os.killpg if to_group else os.kill)(first.pid, number)
        assert first.wait() == 128 + number
        crowded = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert time.monotonic() - begin < MOST * crowded
        assert not [each for each in processes if each.is_running() and each.status() != "zombie"]
        said = log.read_text(encoding="utf-8")
        begins = f"stopped by {number.name}"
        (line,) = [each for each in said.splitlines() if each.startswith(begins)]
        assert "revocab adapt my-model" in line
        assert "Traceback" not in said and "WorkflowError" not in said
        (run,) = trained()
        states = filter(resume_state.is_whole, resume_state.states(run / "state"))
        reached = max(map(resume_state.step_of, states))
        assert reached > step or (crowded > 1 and reached == step)  # no time for the step's state
        assert f"up to step {reached}" in line
        step = reached
        assert not [*(out / ".snakemake/locks").glob("*")]
