"""profiles/one-node as far as CPUs go: two processes with FSDP and activation checkpointing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from run_snakemake import small_checkout
from training_pico import losses, table

from revocab.io import read_json
from revocab.workflow import gpus

RUN = "results/small/runs/mistral-sava"
MADE = ("manifest.json", "losses.csv", "heldout.csv", "timing.json")


@pytest.mark.long
def test_a_training_of_the_small_experiment_on_two_processes(small, repository, tmp_path):
    folder, alone = tmp_path / "checkout", repository / RUN
    small_checkout(repository, folder)
    for name in MADE:
        (folder / RUN / name).unlink()
    words = ["run", "--profile", "profiles/one-node", "--cores", "2", "--configfile"]
    done = subprocess.run(
        [sys.executable, "-m", "revocab", *words, "tests/experiments/small.yaml", "--",
         f"{RUN}/manifest.json"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", gpus.PRETENDED: "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    timing = read_json(folder / RUN / "timing.json")
    assert timing["processes"] == 2
    assert [*(folder / RUN / "tensorboard").iterdir()]
    assert losses(folder / RUN) == pytest.approx(losses(alone), abs=1e-3)
    for ours, theirs in zip(
        table(folder / RUN / "heldout.csv"), table(alone / "heldout.csv"), strict=True
    ):
        assert (ours["step"], ours["corpus"]) == (theirs["step"], theirs["corpus"])
        assert float(ours["loss"]) == pytest.approx(float(theirs["loss"]), abs=1e-3)
