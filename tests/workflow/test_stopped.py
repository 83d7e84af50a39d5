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
from revocab.training.outputs import resume_state
from revocab.workflow.progress import Progress

pytestmark = pytest.mark.long

#: Seconds that a signal may take.
MOST = 5.0
LINE = [
    "adapt",
    "my-model",
    "--text",
    "sw=sw.txt",
    "--tokens",
    "2000000",
    "--cores",
    "2",
    "--anyway",
    "--out",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stopped")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "my-model")
    rows = documents(build(17), "it", 90, 17)
    text = "\n\n".join(row["text"].replace("\n", " ") for row in rows)
    (folder / "sw.txt").write_text(text, encoding="utf-8")
    return folder


def runs_of(out: Path) -> list[Path]:
    return [*out.glob("results/adapt/runs/adapted-*")]


def started_by(first: psutil.Process) -> list[psutil.Process]:
    return [process for process in first.children(recursive=True) if process.is_running()]


@pytest.mark.parametrize(
    ("number", "to_group", "status"),
    [(signal.SIGINT, True, 130), (signal.SIGINT, False, 130), (signal.SIGTERM, False, 143)],
)
def test_a_signal_ends_everything_and_says_what_is_kept(folder, number, to_group, status):
    out = folder / f"{number.name}-{to_group}"
    log = folder / f"{out.name}.log"
    with log.open("w") as stream:
        first = subprocess.Popen(
            [sys.executable, "-m", "revocab", *LINE, out.name],
            cwd=folder, stdout=stream, stderr=stream, start_new_session=True,
        )  # fmt: skip
    wait_until(lambda: any(steps_made(run) >= 5 for run in runs_of(out)), first)
    assert first.poll() is None, log.read_text()[-3000:]
    others = started_by(psutil.Process(first.pid))
    assert len(others) >= 3  # Snakemake, the process that jobs are forks of, the training
    begin = time.monotonic()
    (os.killpg if to_group else os.kill)(first.pid, number)
    assert first.wait() == status
    assert time.monotonic() - begin < MOST
    assert not [each for each in others if each.is_running() and each.status() != "zombie"]
    said = log.read_text(encoding="utf-8")
    (line,) = [line for line in said.splitlines() if line.startswith(f"stopped by {number.name}")]
    assert "revocab adapt my-model" in line
    assert "Traceback" not in said and "WorkflowError" not in said
    (run,) = runs_of(out)
    step = max(map(resume_state.step_of, resume_state.states(run / "state")))
    assert step >= 5 and f"up to step {step}" in line
    assert all(map(resume_state.is_whole, resume_state.states(run / "state")))
    assert not [*(out / ".snakemake/locks").glob("*")]


def test_a_line_for_each_stage_and_the_reason_of_a_failure(tmp_path, capsys):
    import sys as system

    log = tmp_path / "job.log"
    log.write_text("noise\nerror: it.txt: too short; give more\n", encoding="utf-8")
    progress = Progress(tmp_path, system.stderr)
    job = {"event": "job_info", "wildcards": {"corpus": "it"}, "output": [], "log": ["job.log"]}
    stats = {"prepare_corpus": 1, "adapt_model": 1, "all": 1, "total": 3}
    for event in (
        {"event": "run_info", "stats": stats},
        {**job, "rule_name": "prepare_corpus", "jobid": 1},
        {"event": "job_finished", "job_id": 1},
        {**job, "rule_name": "adapt_model", "jobid": 2},
        {"event": "job_error", "rule_name": "adapt_model", "jobid": 2},
    ):
        progress.take(event)
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[2] for line in said[:2]] == ["jobs", "text"]
    assert "it.txt: too short" in said[2] and str(log) in said[3]
    assert progress.kept() == "kept: 1 of 2 jobs"
