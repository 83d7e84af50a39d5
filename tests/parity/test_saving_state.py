"""Training that is stopped between checkpoints, or runs out of memory, ends with the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import weakref

import pytest
import torch
from training_pico import assert_same, changed, losses, run_of

from revocab import io
from revocab.errors import RevocabError
from revocab.training import resume_state
from revocab.training.loop import Training
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

#: Nothing is exported before the end, as when a stand-in is pretrained.
RECIPE = {"steps": 12, "checkpoint_every": 12, "heldout_every": 4}


OFTEN = {**RECIPE, "checkpoint_every": 4}


@pytest.fixture(scope="module")
def whole(inputs, tmp_path_factory):
    """A run that nothing disturbs."""
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("whole")
    train(run_of(inputs, out, **RECIPE))
    return out


@pytest.fixture(scope="module")
def finished_often(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("often")
    train(run_of(inputs, out, **OFTEN))
    return out


@pytest.fixture
def signals(monkeypatch):
    """Send this process signals in the middle of steps, {step: signal}."""

    def send(at):
        usual = Training.loss

        def sent(self, part):
            if number := at.get(self.step + 1):
                os.kill(os.getpid(), number)
            return usual(self, part)

        monkeypatch.setattr(Training, "loss", sent)

    return send


def saved(out):
    return [resume_state.step_of(one) for one in resume_state.states(out / "state")]


def test_sigusr1_saves_and_goes_on_and_sigterm_saves_and_stops(
    inputs, whole, tmp_path, signals, capsys
):
    signals({5: signal.SIGUSR1, 9: signal.SIGTERM})
    with pytest.raises(RevocabError) as caught:
        train(run_of(inputs, tmp_path, **RECIPE))
    assert "stopped by SIGTERM; the state of step 9 of 12 is saved" in str(caught.value)
    assert saved(tmp_path) == [9, 5]
    assert len(losses(tmp_path)) == 9
    assert not (tmp_path / "manifest.json").exists() and not (tmp_path / "checkpoints").exists()
    assert io.read_json(tmp_path / "timing.json")["tokens_per_second"] > 0
    signals({})
    train(run_of(inputs, tmp_path, **RECIPE))
    assert "resuming from step 9" in capsys.readouterr().err
    assert_same(tmp_path, whole)


def test_state_is_saved_by_time(inputs, whole, tmp_path, signals):
    signals({8: signal.SIGTERM})
    hasty = changed(run_of(inputs, tmp_path, **RECIPE), state_minutes=1e-9)
    with pytest.raises(RevocabError, match="stopped by SIGTERM"):
        train(hasty)
    assert saved(tmp_path) == [8, 7]
    signals({})
    train(hasty)
    assert_same(tmp_path, whole)


def test_sigterm_at_a_checkpoint_and_at_the_last_step(inputs, finished_often, tmp_path, signals):
    signals({8: signal.SIGTERM, 12: signal.SIGTERM})
    with pytest.raises(RevocabError, match="step 8 of 12 is saved"):
        train(run_of(inputs, tmp_path, **OFTEN))
    assert saved(tmp_path) == [8, 4]
    train(run_of(inputs, tmp_path, **OFTEN))  # the signal at the last step stops nothing
    assert_same(tmp_path, finished_often)


def test_sigterm_outside_of_steps(inputs, finished_often, tmp_path, monkeypatch):
    """Before the first, or during an export, one more is made; after the last none is left."""
    usual = Training.measure

    def interrupted(self):
        if self.step in (0, 4, 12):
            os.kill(os.getpid(), signal.SIGTERM)
        usual(self)

    monkeypatch.setattr(Training, "measure", interrupted)
    run = run_of(inputs, tmp_path, **OFTEN)
    for step in (1, 5):
        with pytest.raises(RevocabError, match=f"step {step} of 12 is saved"):
            train(run)
        assert saved(tmp_path)[0] == step
    train(run)
    assert_same(tmp_path, finished_often)


@pytest.mark.long
def test_signals_at_random_moments_change_no_byte(tmp_path, repository):
    script = repository / "tests/support/kills.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "20261122", "signals"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    stops = json.loads(done.stdout.splitlines()[-1])
    assert {one["signal"] for one in stops} == {"SIGTERM", "SIGUSR1", "SIGKILL"}
    assert done.stderr.count("resuming from step") == len(stops)
    assert_same(tmp_path / "stopped", tmp_path / "reference")


class Activations:
    """What a pass keeps for its backward pass."""


class Full(torch.autograd.Function):
    """A loss in whose backward pass memory runs out."""

    @staticmethod
    def forward(ctx, loss, activations):
        ctx.activations = activations
        return loss.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise torch.OutOfMemoryError("planted")


@pytest.fixture
def full(monkeypatch):
    """Run out of memory at one step, in all backward passes but those of one sequence.

    With two at once it is the second pass, so that gradients of the first are there. A pass that
    failed is free when the next begins.
    """

    def plant(step):
        usual, failed = Training.loss, []

        def limited(self, part):
            assert all(activations() is None for activations in failed)
            size, loss = len(part["input_ids"]), usual(self, part)
            late = size == 4 or (size == 2 and len(self._losses) == 2)
            if self.step == step - 1 and late:
                activations = Activations()
                failed.append(weakref.ref(activations))
                return Full.apply(loss, activations)
            return loss

        monkeypatch.setattr(Training, "loss", limited)

    return plant


def test_a_micro_batch_that_does_not_fit_is_halved_until_it_does(
    inputs, whole, tmp_path, full, signals, capsys
):
    full(3)
    out, stopped = tmp_path / "out", tmp_path / "stopped"
    train(run_of(inputs, out, **RECIPE))
    said = capsys.readouterr().err
    assert "out of memory with 4 sequences per forward pass; going on with 2\n" in said
    assert "out of memory with 2 sequences per forward pass; going on with 1\n" in said
    assert io.read_json(out / "timing.json")["micro_batch"] == 1
    assert losses(out) == pytest.approx(losses(whole), abs=1e-5)
    signals({7: signal.SIGTERM})
    with pytest.raises(RevocabError, match="stopped by SIGTERM"):
        train(run_of(inputs, stopped, **RECIPE))
    assert "going on with 1\n" in capsys.readouterr().err
    signals({})
    train(run_of(inputs, stopped, **RECIPE))  # with the recorded size: the same bytes
    assert "going on with" not in capsys.readouterr().err
    assert_same(stopped, out)


@pytest.mark.parametrize(
    ("owner", "method", "said"),
    [
        (Training, "finish_step", "outside of the forward and backward pass"),
        (torch.optim.AdamW, "_init_group", "optimizer's step.* micro_batch will not help.*fsdp"),
    ],
)
def test_out_of_memory_elsewhere_is_one_line(inputs, tmp_path, monkeypatch, owner, method, said):
    def full(*_, **__):
        raise torch.OutOfMemoryError("planted")

    monkeypatch.setattr(owner, method, full)
    with pytest.raises(RevocabError, match=said):
        train(run_of(inputs, tmp_path, **RECIPE))


def test_a_jump_of_the_loss_keeps_the_state_before_it(inputs, tmp_path, monkeypatch):
    usual = Training.loss

    def jumping(self, part):
        loss = usual(self, part)
        if self.step == 11:
            self._losses[-1] = self._losses[-1] + 10
        return loss

    monkeypatch.setattr(Training, "loss", jumping)
    run = run_of(inputs, tmp_path, **{**RECIPE, "checkpoint_every": 10})
    with pytest.raises(RevocabError, match=r"step 12: loss .* above the mean of the 11 steps"):
        train(changed(run, stop_at_rise=2.0))
    assert saved(tmp_path) == [10]
