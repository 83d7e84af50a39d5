"""Slurm's variables as torch's."""

from __future__ import annotations

from pathlib import Path

import pytest

from revocab import cli, marker
from revocab.closed import Job
from revocab.training.startup import PORTS, first_host, process_variables
from revocab.verb import verb

STEP = {
    "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "2", "SLURM_STEP_NODELIST": "gpu[03-04]",
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "host"),
    [
        ("node", "node"),
        ("gpu1,gpu2", "gpu1"),
        ("gpu[03-05,9]", "gpu03"),
        ("gpu[7,9]", "gpu7"),
        ("rack[1-2]-gpu,login", "rack1-gpu"),
        ("a-1.cluster.org,b", "a-1.cluster.org"),
    ],
)
def test_the_first_host_of_a_list(nodes, host):
    assert first_host(nodes) == host


def test_a_task_of_a_step():
    found = process_variables(STEP)
    assert found["RANK"] == "5" and found["LOCAL_RANK"] == "1" and found["WORLD_SIZE"] == "8"
    assert found["MASTER_ADDR"] == "gpu03" and int(found["MASTER_PORT"]) in PORTS
    alone = process_variables({**STEP, "SLURM_STEP_NUM_NODES": "1"})
    assert alone["MASTER_ADDR"] == "localhost"
    others = [{**STEP, "SLURM_PROCID": str(one)} for one in range(8)]
    assert len({process_variables(one)["MASTER_PORT"] for one in others}) == 1
    for other in ({"SLURM_STEP_ID": "3"}, {"SLURM_JOB_ID": "4712"}):
        assert process_variables(STEP | other)["MASTER_PORT"] != found["MASTER_PORT"]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_ID": "1"},  # a batch script
        {**STEP, "SLURM_STEP_NUM_TASKS": "1"},
        {**STEP, "RANK": "0"},  # torchrun
    ],
)
def test_nothing_is_set_elsewhere(environment):
    assert process_variables(environment) == {}


@pytest.mark.parametrize(
    ("environment", "marks"),
    [({}, True), ({**STEP, "SLURM_PROCID": "0"}, True), (STEP, False), ({"RANK": "3"}, False)],
)
def test_the_first_process_alone_marks_what_is_written(environment, marks, monkeypatch, tmp_path):
    """The others would read a training's state while the first deletes it."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    written = []
    monkeypatch.setattr(marker, "mark_file", written.append)

    def do_nothing(*, options: Job, out: Path) -> None:
        pass

    words = ["--out", str(tmp_path), "--job", "nothing"]
    cli.call(verb()(do_nothing), words, "nothing")
    assert bool(written) is marks
