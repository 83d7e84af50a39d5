"""A real Slurm runs profiles/slurm: killed and timed-out trainings go on, to the same bytes; the
tasks of a step train together.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from compared_results import pair_up
from run_snakemake import BIN, copy_checkout, small_checkout
from slurm import call, slurm, why_not
from training_pico import RECIPE, losses, run_of, write_inputs
from waiting import steps_made, wait_until

from revocab.io import read_json
from revocab.training.train import train

pytestmark = pytest.mark.long

EXPERIMENT = "tests/experiments/small.yaml"
RUNS = ("mistral-sava", "mistral-instruct")
#: Beyond the checkpoint at which a state is saved, before the last step.
STEPS = range(11, 20)


@pytest.fixture
def cluster(request, tmp_path):
    """A cluster of one node, or of so many as the test's parameter says."""
    if reason := why_not():
        pytest.skip(reason)
    with slurm(tmp_path / "slurm", nodes=getattr(request, "param", 1)) as environment:
        yield environment


def profile_here(repository: Path, folder: Path, **training: Any) -> Path:
    """Write profiles/slurm with the sizes of this machine; all else is as it is shipped.

    ``training`` are resources of a training in place of the shipped ones.
    """
    given = yaml.safe_load((repository / "profiles/slurm/config.yaml").read_text())
    others = ("generate_text", "measure_efficiency", "measure_adoption")
    for rule in ("score_multiple_choice", *others):
        given["set-resources"].setdefault(rule, {})["gpu"] = 0
    alone = {**given["set-resources"]["pretrain_stand_in"], "gpu": 0}
    given["set-resources"] |= {"pretrain_stand_in": alone, "adapt_model": training or alone}
    given["set-threads"] = dict.fromkeys(given["set-threads"], 1)
    given |= {
        "latency-wait": 10,
        "seconds-between-status-checks": 2,
        "slurm-no-account": True,
        "slurm-status-command": "squeue",
        "slurm-init-seconds-before-status-checks": 3,
    }
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(given))
    return folder


def copy_results(repository: Path, folder: Path) -> None:
    """Copy the finished small experiment, with what Snakemake recorded of it."""
    copy_checkout(repository, folder)
    (folder / EXPERIMENT).parent.mkdir(parents=True)
    shutil.copy2(repository / EXPERIMENT, folder / EXPERIMENT)
    for name in ("results/small", "resources/small", ".snakemake/metadata"):
        shutil.copytree(repository / name, folder / name)
    results = folder / "results/small"
    for name in ("scores.parquet", "scores.csv", "checks.json", "report.html"):
        (results / name).unlink()  # else Snakemake misses nothing
    for name in ("tables", "figures"):
        shutil.rmtree(results / name)
    for run in RUNS:
        for name in ("manifest.json", "losses.csv", "heldout.csv", "timing.json"):
            (results / "runs" / run / name).unlink()
        shutil.rmtree(results / "runs" / run / "checkpoints")


def training_of(run: str, folder: Path) -> psutil.Process | None:
    """Return the process that trains a run in ``folder``."""
    for process in psutil.process_iter(["cmdline", "cwd", "name"]):
        words = process.info["cmdline"] or []
        here = process.info["cwd"] == str(folder) and process.info["name"].startswith("python")
        if here and "train_model" in words and f"results/small/runs/{run}/manifest.json" in words:
            return process
    return None


def stop(folder: Path, running: subprocess.Popen) -> dict[str, psutil.Process]:
    """Stop each training between its first state and its end; return their processes."""
    stopped: dict[str, psutil.Process] = {}
    while running.poll() is None and len(stopped) < len(RUNS):
        for run in RUNS:
            if run not in stopped and steps_made(folder / "results/small/runs" / run) in STEPS:
                stopped[run] = training_of(run, folder)
                stopped[run].send_signal(signal.SIGSTOP)
        time.sleep(0.005)
    assert len(stopped) == len(RUNS), "no training to stop"
    assert all(steps_made(folder / "results/small/runs" / run) in STEPS for run in RUNS)
    return stopped


def job_of(process: psutil.Process) -> str:
    return process.environ()["SLURM_JOB_ID"]


def test_killed_and_timed_out_trainings_go_on_to_the_same_bytes(
    small, repository, cluster, tmp_path
):
    folder = tmp_path / "checkout"
    copy_results(repository, folder)
    profile = profile_here(repository, tmp_path / "profile")
    words = ["revocab", "run", "--profile", profile, "--configfile", EXPERIMENT]
    environment: dict[str, Any] = {"PYTHONPATH": str(folder / "src"), **cluster}
    with (tmp_path / "output").open("w") as output:
        running = subprocess.Popen(
            [BIN / "python", "-m", *words],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
        )
        try:
            cancelled, late = map(job_of, stop(folder, running).values())
            call(cluster, "scancel", cancelled)
            call(cluster, "scontrol", "update", f"JobId={late}", "EndTime=now+5seconds")
            running.wait()
        finally:
            running.kill()
            running.wait()
    said = (tmp_path / "output").read_text()
    assert running.returncode == 0, said[-6000:]
    assert "status is: 'CANCELLED'" in said
    # FAILED where the signal before the limit has ended it.
    assert any(f"status is: '{one}'" in said for one in ("TIMEOUT", "FAILED"))
    for run in RUNS:
        log = (folder / f"results/small/logs/adapt_model/{run}.log").read_text()
        # The last state of its own, or the one that it saved when it was told to end.
        assert re.search(r"from step 1\d", log), log
    mine = ("results/small/", "resources/small/")
    pairs = [one for one in pair_up(repository, folder, {}) if one.name.startswith(mine)]
    assert len(pairs) > 100
    assert {one.name: one.state() for one in pairs if one.state() != "same"} == {}


def test_the_tasks_of_a_step_are_the_processes_of_one_training(cluster, tmp_path):
    """Without torchrun; SIGTERM by scancel stops both after the same step."""
    write_inputs(tmp_path / "inputs")
    changes = {"steps": 80, "checkpoint_every": 80, "seed": 18}
    alone, out = tmp_path / "alone", tmp_path / "out"
    train(run_of(tmp_path / "inputs", alone, **changes))
    inputs = {name: tmp_path / "inputs" / name for name in ("model", "packed", "heldout")}
    options = {**RECIPE, **changes, **inputs, "threads": 1, "out": out}
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    words = ["srun", "--ntasks=2", BIN / "python", "-m", "revocab", "train_model", *flags]
    environment = {**os.environ, **cluster, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: steps_made(out) > 4, process)
        (job,) = call(cluster, "squeue", "--noheader", "--format=%i").split()
        call(cluster, "scancel", "--signal=TERM", job)
        said = process.communicate()[1]
    stopped = len(losses(out))
    assert said.count(f"stopped by SIGTERM; the state of step {stopped} of 80 is saved") == 1, said
    assert read_json(out / "timing.json")["processes"] == 2
    assert losses(out) == pytest.approx(losses(alone)[:stopped], abs=1e-4)
    train(run_of(tmp_path / "inputs", out, **changes))  # one process goes on
    assert losses(out) == pytest.approx(losses(alone), abs=1e-4)


def on_two_nodes(repository: Path, folder: Path) -> Path:
    """Write profiles/slurm with two nodes of two GPUs, which are empty files."""
    given = yaml.safe_load((repository / "profiles/slurm/config.yaml").read_text())
    shipped = given["set-resources"]["adapt_model"]
    assert shipped["gpu"] == shipped["nodes"] * shipped["tasks_per_node"]
    own = {"nodes": 2, "gpu": 4, "tasks_per_node": 2, "micro_batch": 2, "mem_mb": 8000}
    extra = shipped["slurm_extra"].replace("--gpus-per-node=4", "--gpus-per-node=2")
    return profile_here(repository, folder, **{**shipped, **own, "slurm_extra": extra})


@pytest.mark.parametrize("cluster", [2], indirect=True)
def test_a_training_on_two_nodes_through_the_profile(small, repository, cluster, tmp_path):
    """Four processes of one job, two on each node, as the executor asks Slurm for them."""
    folder, run = tmp_path / "checkout", f"results/small/runs/{RUNS[0]}"
    small_checkout(repository, folder)
    for name in ("manifest.json", "losses.csv", "heldout.csv", "timing.json"):
        (folder / run / name).unlink()
    profile = on_two_nodes(repository, tmp_path / "profile")
    words = ["run", "--profile", profile, "--configfile", EXPERIMENT, "--", f"{run}/manifest.json"]
    environment = {**os.environ, **cluster, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [BIN / "python", "-m", "revocab", *words], cwd=folder, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    log = folder / f"results/small/logs/adapt_model/{RUNS[0]}.log"
    assert done.returncode == 0, done.stderr[-3000:] + log.read_text()[-3000:]
    assert read_json(folder / run / "timing.json")["processes"] == 4
    assert losses(folder / run) == pytest.approx(losses(repository / run), abs=1e-3)
