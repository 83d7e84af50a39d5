"""Two CPU processes, plain and with FSDP, and the other engine options, against one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
import torch
from kills import BORDERS, STEPS, stages
from padded_models import pad
from safetensors.torch import load_file
from training_pico import (
    VOCABULARY,
    changed,
    folders_of,
    losses,
    moved,
    new_ids,
    run_of,
    table,
    weights,
)
from waiting import steps_made, wait_until

from revocab import io
from revocab.models.token_rows import filled
from revocab.training.run import Settings
from revocab.training.stages import Stage
from revocab.training.train import train

#: Stages with borders between checkpoints: vocabulary adapters, then new rows, then everything.
OPTIONS = {
    "steps": 40, "batch_size": 4, "learning_rate": 1e-2, "checkpoint_every": 6, "seed": 17,
    "threads": 1,
}  # fmt: skip
CHANGES = {key: value for key, value in OPTIONS.items() if key != "threads"}
ROWS, MATRICES = 72, ("model.embed_tokens.weight", "lm_head.weight")
STAGES = (
    Stage(
        name="adapters",
        steps=15,
        learning_rate=3e-3,
        train=("embeddings",),
        weight_decay=0.3,
        warmup_steps=2,
        adapter={"auxiliary": 0.5},
    ),
    Stage(name="rows", steps=10, learning_rate=1e-2, train=["new_rows"], weight_decay=0.3),
    Stage(name="everything", steps=15, learning_rate=5e-3, weight_decay=0.1, warmup_steps=2),
)


@pytest.fixture(scope="module")
def alone(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("alone")
    train(run_of(inputs, out, **CHANGES, warmup_steps=0, weight_decay=0.0, stages=STAGES))
    return out


def command(inputs, out, stages, *flags, **changes):
    options = {**OPTIONS, "out": out, "steps": sum(stage.steps for stage in stages)}
    options |= folders_of(inputs, Settings(**{**CHANGES, "steps": options["steps"]}, stages=stages))
    return [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
        "-m", "revocab", "train_model",
        *(f"--{key.replace('_', '-')}={value}" for key, value in {**options, **changes}.items()),
        "--stages", *(stage.model_dump_json() for stage in stages), *flags,
    ]  # fmt: skip


def kill_launcher(process):
    """Kill torchrun, which its processes do not outlive: its GPUs are free then."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert len(started) >= 2 and psutil.wait_procs(started, timeout=30)[1] == []


def assert_only_new_rows_move(out, borders, names):
    """From border to border of their stage, and in each process' part of the matrices."""
    before, after = (weights(out / f"checkpoints/step-{step:06d}") for step in borders)
    for name in names or before:
        rows = (before[name] != after[name])[:VOCABULARY].nonzero()[:, 0].tolist()
        assert {*rows} <= {*new_ids().tolist()} and bool(rows) == (name in MATRICES), name


def assert_same_losses(out, alone):
    assert losses(out) == pytest.approx(losses(alone), abs=1e-4)
    for ours, theirs in zip(table(out / "heldout.csv"), table(alone / "heldout.csv"), strict=True):
        assert ours["step"] == theirs["step"]
        assert float(ours["loss"]) == pytest.approx(float(theirs["loss"]), abs=1e-4)


@pytest.mark.long
def test_two_plain_processes_agree_with_one(inputs, tmp_path):
    """By torchrun, with both kinds of adapters: each process has them whole, and steps them by the
    gradient that both have exchanged. SIGTERM to the launcher stops both after the same step, with
    a state to go on from.
    """
    out, alone, four = tmp_path / "out", tmp_path / "alone", stages("stages")
    rest = {**CHANGES, "warmup_steps": 0, "weight_decay": 0.0}
    manifest = train(run_of(inputs, alone, **{**rest, "steps": STEPS}, stages=four))
    line = command(inputs, out, four)
    given = {"env": {**os.environ, "OMP_NUM_THREADS": "1"}, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(line, **given)
    wait_until(lambda: steps_made(out) > 4, process)
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1]
    stopped = len(losses(out))
    told = f"stopped by SIGTERM; the state of step {stopped} of {STEPS} is saved"
    assert process.returncode and said.count(told) == 1, said
    done = subprocess.run(line, **given, check=False)
    assert done.returncode == 0 and f"resuming from step {stopped}" in done.stderr, done.stderr
    assert io.read_json(out / "timing.json")["processes"] == 2
    assert_same_losses(out, alone)
    ours, theirs = (table(one / "adapter.csv") for one in (out, alone))
    assert len(ours) == four[0].steps
    for one, other in zip(ours, theirs, strict=True):
        for name, value in other.items():
            assert float(one[name]) == pytest.approx(float(value), abs=1e-4), name
    assert_only_new_rows_move(out, BORDERS[1:], MATRICES)
    files = [f"{entry['path']}/adapter_model.safetensors" for entry in manifest["adapters"]]
    for file in (*files, f"checkpoints/step-{BORDERS[0]:06d}/model.safetensors"):
        made = load_file(out / file)
        for name, tensor in load_file(alone / file).items():
            torch.testing.assert_close(made[name], tensor, rtol=0.02, atol=1e-3, msg=name)


@pytest.mark.long
def test_sharded_training_trains_saves_is_killed_and_resumes(inputs, alone, tmp_path):
    """With rows of padding, which change nothing either."""
    out, padded = tmp_path / "out", pad(inputs / "adapted", tmp_path / "padded", ROWS)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = command(inputs, out, STAGES, "--fsdp", model=padded)
    process = subprocess.Popen(arguments, env=environment, stderr=subprocess.DEVNULL)
    wait_until(lambda: steps_made(out) > 19, process)
    kill_launcher(process)
    assert list((out / "state").glob("*/checksums.json"))
    assert list((out / "state").glob("checkpoint-*/optimizer_0/*.distcp"))  # sharded, no whole copy
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "resuming from step" in done.stderr
    assert_same_losses(out, alone)
    flops, fewer = (io.read_json(one / "timing.json")["flops_per_token"] for one in (out, alone))
    assert fewer < flops < 2 * fewer  # of what is trained, too, and of the rows of padding
    assert_only_new_rows_move(out, (15, 25), ())
    first = weights(padded)
    before, after = (weights(out / f"checkpoints/step-0000{n}") for n in ("12", "40"))
    assert moved(first, before) == {*MATRICES}
    assert moved(before, after) == {*before}
    for name, tensor in weights(alone / "checkpoints/step-000040").items():
        received = after[name][: len(tensor)].float()
        torch.testing.assert_close(received, tensor.float(), rtol=0.02, atol=1e-3)
        if name in MATRICES:
            mean_PD = filled(after[name].float(), VOCABULARY)
            torch.testing.assert_close(after[name].float(), mean_PD, rtol=0.02, atol=1e-4)
            assert len(mean_PD) == ROWS > VOCABULARY


def test_activation_checkpointing_changes_no_loss(inputs, alone, tmp_path, monkeypatch):
    from transformers.modeling_layers import GradientCheckpointingLayer

    seen = set()
    plain = GradientCheckpointingLayer.__call__

    def noted(layer, *arguments, **named):
        seen.add(layer.gradient_checkpointing and layer.training)
        return plain(layer, *arguments, **named)

    monkeypatch.setattr(GradientCheckpointingLayer, "__call__", noted)
    run = run_of(inputs, tmp_path, **CHANGES, warmup_steps=0, weight_decay=0.0, stages=STAGES)
    train(changed(run, activation_checkpointing=True))
    assert True in seen
    assert losses(tmp_path) == pytest.approx(losses(alone), abs=1e-6)
