"""Status: jobs by their files, trainings by the tables that they write."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from revocab.config import read
from revocab.plan import Plan
from revocab.workflow.status import duration, render, status, status_of, training_in

SMALL = Path("tests/experiments/small.yaml")
NOW = 1_000_000.0
HELDOUT = [
    "step,corpus,language,loss,bits_per_byte,tokens,bytes",
    "0,a,it,9,9.0,1,100",
    "10,a,it,5,2.0,1,300",
    "10,b,it,5,4.0,1,100",
    "10,c,en,5,3.0,1,50",
]


@pytest.fixture
def plan(repository, monkeypatch, tmp_path) -> Plan:
    made = Plan(read(repository / SMALL))
    monkeypatch.chdir(tmp_path)
    return made


def write_training(folder: Path, steps: int) -> Path:
    """Make what a training of 40 steps leaves that has made ``steps``; the last row is half."""
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({"job": {"steps": 40}}))
    rows = [f"{step},{64 * step},{5 - step / 100},3,1e-3,1" for step in range(1, steps + 1)]
    columns = "step,tokens,loss,bits_per_byte,learning_rate,gradient_norm"
    (folder / "losses.csv").write_text("\n".join([columns, *rows, f"{steps + 1},12"]))
    (folder / "heldout.csv").write_text("\n".join([*HELDOUT, ""]))
    os.utime(folder / "losses.csv", (NOW - 7, NOW - 7))
    os.utime(folder / "heldout.csv", (NOW - 27, NOW - 27))
    return folder


def test_a_training_on_its_way(tmp_path):
    found = training_in(write_training(tmp_path / "run", 20), "a", NOW)
    assert (found.step, found.steps, found.loss) == (20, 40, 4.8)
    # Ten steps of 64 tokens in the twenty seconds since the held-out losses of step 10.
    assert found.tokens_per_second == pytest.approx(32)
    assert found.seconds_left == pytest.approx(40) and found.seconds_ago == pytest.approx(7)
    assert found.losses == pytest.approx([5 - step / 100 for step in range(1, 21)])
    assert found.bits_per_byte == pytest.approx({"it": 2.5, "en": 3.0})


def test_a_saved_state_is_the_later_moment(tmp_path):
    folder = write_training(tmp_path / "run", 20)
    state = folder / "state/checkpoint-18"
    state.mkdir(parents=True)
    os.utime(state, (NOW - 11, NOW - 11))
    assert training_in(folder, "a", NOW).tokens_per_second == pytest.approx(2 / 4 * 64)


def test_before_the_next_step_no_speed_is_known(tmp_path):
    found = training_in(write_training(tmp_path / "run", 10), "a", NOW)
    assert found.tokens_per_second is None and found.seconds_left is None


@pytest.mark.parametrize("what", ["finished", "no step", "nothing"])
def test_no_training_is_on_its_way(tmp_path, what):
    folder = write_training(tmp_path / "run", 0 if what == "no step" else 5)
    if what == "finished":
        (folder / "manifest.json").write_text("{}")
    if what == "nothing":
        (folder / "losses.csv").unlink()
    assert training_in(folder, "a", NOW) is None


def test_jobs_are_done_when_their_files_are_there(plan):
    jobs = plan.needed_jobs()
    nothing = status_of(plan, NOW).jobs
    assert all(done == 0 for done, _ in nothing.values())
    assert nothing["adapt_model"] == (0, 2)
    for file in (file for job in jobs.values() for file in job.files):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text("{}")
    assert all(done == of for done, of in status_of(plan, NOW).jobs.values())
    (Path(plan.paths.run("mistral-sava")) / "manifest.json").unlink()
    assert status_of(plan, NOW).jobs["adapt_model"] == (1, 2)


def test_text_and_json_say_the_same(plan, repository):
    write_training(Path(plan.paths.run("mistral-sava")), 20)
    write_training(Path(plan.paths.model("helper")), 10)
    text = render(status_of(plan, NOW))
    assert "small: 0 of 40 jobs done, 40 left" in text
    assert "  step                    20 of 40" in text
    assert "held-out bits per byte  en 3.0000, it 2.5000" in text and "not known yet" in text
    said = json.loads(status(["--json", "--configfile", str(repository / SMALL)]))
    assert said["jobs"]["adapt_model"] == [0, 2]
    assert {one["name"]: one["step"] for one in said["trainings"]} == {
        "mistral-sava": 20, "helper": 10
    }  # fmt: skip


def test_the_logs_are_named_and_at_the_end_the_report(plan):
    logs = Path(".snakemake/log")
    logs.mkdir(parents=True)
    for name in ("2026-01-02T1.snakemake.log", "2026-01-10T1.snakemake.log"):
        (logs / name).write_text("")
    last = str(logs / "2026-01-10T1.snakemake.log")
    assert render(status_of(plan, NOW)).endswith(f"logs: {last}")
    jobs = Path(f"{plan.paths.results}/logs")
    jobs.mkdir(parents=True)
    assert status_of(plan, NOW).logs == [last, str(jobs)]
    for file in (file for job in plan.needed_jobs().values() for file in job.files):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text("{}")
    report = Path(plan.step("build_report").out).absolute().as_uri()
    text = render(status_of(plan, NOW))
    assert text.endswith(f"report: {report}") and "██ 100 %" in text


def test_durations_have_two_units():
    assert [duration(one) for one in (0, 59, 61, 3600, 90061)] == [
        "0 s", "59 s", "1 min 1 s", "1 h", "1 d 1 h"
    ]  # fmt: skip
