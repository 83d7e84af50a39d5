"""``revocab preflight``: on the small experiment, and what it says before it starts anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fewer_gpus import one_node

from revocab.config import read
from revocab.errors import RevocabError
from revocab.plan import Plan
from revocab.training.run import Settings
from revocab.workflow.launch import rehearsed
from revocab.workflow.preflight import (
    check_devices,
    preflight,
    scratch_folder,
    size,
    started_lines,
    whole_seconds,
)
from revocab.workflow.rehearsal import Rehearsal

EXPERIMENT = "tests/experiments/small.yaml"
WORDS = ("mistral-sava", "--configfile", EXPERIMENT)


@pytest.mark.long
def test_all_parts_pass_on_the_small_experiment(small, repository, tmp_path, monkeypatch):
    monkeypatch.chdir(repository)
    records = {file: file.read_bytes() for file in (small / ".records").iterdir()}
    said = preflight([*WORDS, "--steps", "6", "--scratch", str(tmp_path)])
    assert "20,480 tokens" in said
    for part in (
        "trained 3 steps, saved the state, killed",
        "resumed, trained to step 6, exported the model, saved its state at SIGTERM",
        "scored 8 items of hellaswag_it",
        "generated on 4 prompts of flores_en_it",
        "tokens per second",
        "for all 2 trainings",
    ):
        assert part in said, said
    assert not [*tmp_path.iterdir()]
    assert records == {file: file.read_bytes() for file in (small / ".records").iterdir()}


@pytest.fixture
def two_processes(repository, tmp_path):
    """profiles/one-node with two processes in place of eight GPUs."""
    return one_node(repository, tmp_path / "profile", 2)


@pytest.mark.long
def test_a_training_of_several_processes_is_rehearsed_as_such(
    small, repository, tmp_path, monkeypatch, two_processes
):
    """By torchrun, with FSDP: all are killed, two resume, one SIGTERM stops both."""
    monkeypatch.chdir(repository)
    words = [*WORDS, "--profile", str(two_processes), "--steps", "4"]
    said = preflight([*words, "--scratch", str(tmp_path / "scratch")])
    assert "processes  by torchrun, 2 on this machine" in said
    assert "resumed, trained to step 4, exported the model, saved its state at SIGTERM" in said
    assert "tokens per second, 2 x cpu" in said and "scored 8 items" in said
    assert not [*(tmp_path / "scratch").iterdir()]


def test_a_training_on_several_nodes_says_what_is_not_tried():
    asked = {"nodes": 16, "gpu": 64}
    text = "\n".join(started_lines(asked, rehearsed(asked, {})))
    assert text.startswith("  processes  by torchrun, 4 on this machine\n  not tried  16 nodes:")
    assert "an allocation of them (salloc;" in text
    within = started_lines(asked, rehearsed(asked, {"SLURM_JOB_NUM_NODES": "16"}))
    assert within == ["  processes  by srun, 4 on each of 16 nodes of this allocation"]


def test_more_gpus_than_there_are_are_refused_before_anything_runs(monkeypatch):
    import torch

    check_devices({"gpu": 8})  # on a CPU, eight processes
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_devices({"gpu": 2})
    with pytest.raises(RevocabError, match="8 GPUs of a node, but there are 2 here; run revocab"):
        check_devices({"gpu": 8})


def test_several_nodes_need_a_folder_that_all_see(tmp_path):
    with pytest.raises(RevocabError, match="--scratch: give a folder that all 16 nodes see"):
        scratch_folder("r", None, 16)
    assert scratch_folder("r", tmp_path / "new", 16).parent == tmp_path / "new"


def test_what_is_not_there_yet_is_named(repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RevocabError) as caught:
        preflight(["mistral-sava", "--configfile", str(repository / EXPERIMENT)])
    said = str(caught.value)
    assert "results/small/runs/mistral-sava/init/manifest.json" in said
    assert "results/small/tasks/hellaswag_it.yaml" in said and "arc_easy_en" not in said
    assert "results/small/prompts/flores_en_it" in said and "squad_it" not in said
    assert "make them first: revocab run --cores N --configfile" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mistral-base"], r"not a run that is trained \(trained here: mistral-sava"),
        (["mistral-sava", "--steps", "1"], "--steps: 1; give 2 or more"),
        (["mistral-sava", "--profile", "nowhere"], "nowhere/config.yaml: no such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried(repository, monkeypatch, words, said, small):
    monkeypatch.chdir(repository)
    with pytest.raises(RevocabError, match=said):
        preflight([*words, "--configfile", EXPERIMENT])


def test_a_part_that_fails_shows_the_end_of_its_log(repository, tmp_path):
    plan = Plan(read(repository / EXPERIMENT))
    rehearsal = Rehearsal(plan, "mistral-sava", tmp_path, 4, whole=False, resources=lambda _: {})
    (tmp_path / "train-1.log").write_text("a line\nthe cause\n")
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(RevocabError, match=r"exit status 3; the end of .*train-1\.log:\na line\n"):
        rehearsal._wait(process, "train-1", Path(tmp_path / "never").exists)


def test_the_whole_is_extrapolated_by_hand():
    settings = Settings(
        steps=1000, batch_size=4, learning_rate=1e-3, checkpoint_every=250, heldout_every=100,
        seed=1,
    )  # fmt: skip
    timing = {
        "steps": 10, "training_seconds": 20.0, "exports": 1, "export_seconds": 7.0,
        "evaluations": 2, "evaluation_seconds": 6.0, "states": 2, "state_seconds": 10.0,
    }  # fmt: skip
    training = 1000 * 2.0
    states = 4 + training / 600
    heldout = 1 + 10 + 2  # before training, every 100th, and at 250 and 750
    expected = training + 4 * 7.0 + heldout * 3.0 + states * 5.0
    assert whole_seconds(settings, timing, state_minutes=10) == pytest.approx(expected)
    none = {**timing, "states": 0, "state_seconds": 0.0}
    assert whole_seconds(settings, none, 10) == pytest.approx(expected - states * 5.0)


@pytest.mark.parametrize(
    ("number", "text"),
    [(999, "999 B"), (1234, "1.23 kB"), (56_700_000, "56.7 MB"), (2.5e12, "2,500.0 GB")],
)
def test_sizes(number, text):
    assert size(number) == text
