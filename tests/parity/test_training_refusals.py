"""Training of models that are damaged, and training that diverges: nothing bad is exported."""

from __future__ import annotations

import pytest
import torch
from damaged_models import DAMAGES, damaged
from training_pico import changed, losses, run_of

from revocab.errors import RevocabError
from revocab.training import resume_state
from revocab.training.loop import Training
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_not_trained(inputs, tmp_path, damage):
    change, words = DAMAGES[damage]
    folder = damaged(inputs / "model", tmp_path / "model", change)
    with pytest.raises(RevocabError) as caught:
        train(changed(run_of(inputs, tmp_path / "out"), model=folder))
    assert str(folder) in str(caught.value) and words in str(caught.value)
    assert not (tmp_path / "out").exists()


def bad_at(step, monkeypatch, method, spoil):
    """Let a method of the trainer go wrong at one step, as a hot learning rate would."""
    usual = getattr(Training, method)

    def changed(self, *arguments):
        if self.step == step - 1:
            spoil(self.inputs.model)
        return usual(self, *arguments)

    monkeypatch.setattr(Training, method, changed)


def nan_weight(model):
    """Make one weight NaN, so that the loss is."""
    model.model.norm.weight.data[0] = torch.nan


def infinite_gradient(model):
    """Make one gradient infinite while the loss is finite; the update would spoil the weights."""
    model.model.norm.weight.grad[0] = torch.inf


@pytest.mark.parametrize(
    ("method", "spoil", "words"),
    [
        ("loss", nan_weight, "step 5: loss is nan at learning rate"),
        ("clip", infinite_gradient, "gradient norm inf"),
    ],
)
def test_a_run_that_diverges_keeps_its_last_good_state(
    inputs, tmp_path, monkeypatch, method, spoil, words
):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        bad_at(5, patch, method, spoil)
        with pytest.raises(RevocabError) as caught:
            train(run_of(inputs, out))
    assert words in str(caught.value) and "training diverged" in str(caught.value)
    assert "Lower learning_rate" in str(caught.value)
    assert [one.name for one in (out / "checkpoints").iterdir()] == ["step-000004"]
    assert not (out / "manifest.json").exists()
    assert [resume_state.step_of(one) for one in (out / "state").glob("checkpoint-*")] == [4]
    train(run_of(inputs, out))  # goes on from there
    train(run_of(inputs, tmp_path / "whole"))
    assert losses(out) == losses(tmp_path / "whole")
    names = ("checkpoints/step-000006/model.safetensors", "heldout.csv", "manifest.json")
    for name in names:
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def huge_head(model):
    """Make the logits of the next forward pass overflow."""
    model.lm_head.weight.data[:] = 3e38


def test_nothing_is_exported_of_a_checkpoint_that_overflows(inputs, tmp_path, monkeypatch):
    """Every loss of a step was finite; the held-out loss after the last one is not."""
    bad_at(4, monkeypatch, "clip", huge_head)
    with pytest.raises(RevocabError, match=r"step 4: held-out loss of it .* diverged; lower"):
        train(run_of(inputs, tmp_path / "out"))
    out = tmp_path / "out"
    assert not list(out.glob("checkpoints/*")) and not list(out.glob("state/checkpoint-*"))


def test_a_model_that_overflows_is_not_trained(inputs, tmp_path):
    def overflowing(tensors):
        tensors["lm_head.weight"][:] = 3e38

    folder = damaged(inputs / "model", tmp_path / "model", overflowing)
    with pytest.raises(RevocabError, match=r"step 0: held-out loss of it .* take another"):
        train(changed(run_of(inputs, tmp_path / "out"), model=folder))
    assert not list((tmp_path / "out").glob("checkpoints/*"))
