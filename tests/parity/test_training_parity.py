"""Training against a plain torch loop; resume after SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from training_pico import (
    BATCH,
    LENGTH,
    RECIPE,
    assert_same,
    at,
    batches,
    losses,
    run_of,
    table,
    textbook_loss,
    weights,
)
from waiting import steps_made, wait_until

from revocab import io
from revocab.marker import MARKER
from revocab.training.loop import STEPS_PER_READING
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")


def plain_loop(inputs, settings):
    """Train by hand: textbook loss, unfused AdamW on everything, the schedule spelled out."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(inputs / "model", dtype=torch.float32)
    adam = {"betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": settings.weight_decay}
    optimizer = torch.optim.AdamW(model.parameters(), **adam, fused=False)
    found = []
    for step, ids in zip(range(settings.steps), batches(inputs), strict=False):
        rate = settings.learning_rate * settings.plan.stages[0].factor(step)
        optimizer.param_groups[0]["lr"] = rate
        loss = textbook_loss(model(input_ids=ids).logits, ids)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_clip)
        optimizer.step()
        optimizer.zero_grad()
        found.append((loss.item(), norm.item(), rate))
    return model, found


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    """An undisturbed run."""
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("finished")
    return out, train(run_of(inputs, out))


def test_losses_norms_and_weights_equal_a_plain_loop(inputs, finished):
    from transformers import AutoModelForCausalLM

    out, _ = finished
    settings = run_of(inputs, out).settings
    model, expected = plain_loop(inputs, settings)
    rows = table(out / "losses.csv")
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    for row, (loss, norm, rate) in zip(rows, expected, strict=True):
        assert float(row["loss"]) == pytest.approx(loss, abs=1e-6)
        assert float(row["gradient_norm"]) == pytest.approx(norm, rel=1e-4)
        assert float(row["learning_rate"]) == pytest.approx(rate, rel=1e-12)
        assert float(row["bits_per_byte"]) == pytest.approx(loss / np.log(2) * 0.5, rel=1e-5)
        assert int(row["tokens"]) == int(row["step"]) * BATCH * LENGTH
    ours = AutoModelForCausalLM.from_pretrained(out / "checkpoints" / "step-000006")
    assert ours.dtype == torch.bfloat16
    for (name, mine), theirs in zip(
        ours.named_parameters(), model.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(mine.float(), theirs, rtol=0.01, atol=1e-4, msg=name)


def test_what_a_run_leaves(finished):
    out, manifest = finished
    assert sorted(path.name for path in out.iterdir()) == [
        MARKER, "checkpoints", "heldout.csv", "losses.csv", "manifest.json", "timing.json"
    ]  # fmt: skip
    assert [entry["path"] for entry in manifest["checkpoints"]] == [
        "checkpoints/step-000004", "checkpoints/step-000006"
    ]  # fmt: skip
    assert (manifest["tokens"], manifest["bytes"]) == (384, 768)
    assert io.read_json(out / "manifest.json") == manifest
    assert [int(row["step"]) for row in table(out / "heldout.csv")] == [0, 4, 6]
    assert io.read_json(out / "timing.json")["tokens_per_second"] > 0


def test_heldout_loss_at_its_own_interval_changes_nothing_else(inputs, finished, tmp_path):
    """Between checkpoints nothing is exported, and training goes on to the last digit."""
    manifest = train(run_of(inputs, tmp_path, heldout_every=3))
    rows = table(tmp_path / "heldout.csv")
    assert [int(row["step"]) for row in rows] == [0, 3, 4, 6]
    assert [row for row in rows if row["step"] != "3"] == table(finished[0] / "heldout.csv")
    assert (tmp_path / "losses.csv").read_bytes() == (finished[0] / "losses.csv").read_bytes()
    settings = manifest.pop("settings")
    assert settings.pop("heldout_every") == 3  # which is not there where it is not given
    assert {**manifest, "settings": settings} == finished[1]
    for step in (4, 6):  # the card and the history say what was measured
        told = ("README.md", "provenance.json", ".revocab.json")
        assert_same(at(tmp_path, step), at(finished[0], step), but=told)


def test_decay_is_torch_adamws_on_every_parameter(inputs, tmp_path):
    """With gradients clipped to nothing and a huge epsilon only decay moves the weights."""
    changes = {
        "steps": 3, "checkpoint_every": 3, "warmup_steps": 0, "weight_decay": 5.0,
        "schedule": "constant", "adam_epsilon": 1.0, "gradient_clip": 1e-6,
    }  # fmt: skip
    out = tmp_path / "out"
    train(run_of(inputs, out, **changes))
    before, after = weights(inputs / "model"), weights(at(out, 3))
    for name in before:
        expected = before[name].float() * (1 - 1e-2 * 5.0) ** 3
        torch.testing.assert_close(after[name].float(), expected, rtol=5e-3, atol=1e-6, msg=name)


def test_published_decay_convention():
    """Composer's p *= 1 - (lr_t / lr_0) wd is torch's AdamW at weight decay wd / lr_0."""
    rate, decay, factor = 1e-5, 1e-5, 0.37
    parameter = torch.nn.Parameter(torch.tensor([2.0, -3.0], dtype=torch.float64))
    optimizer = torch.optim.AdamW([parameter], lr=rate * factor, weight_decay=decay / rate)
    parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    expected = torch.tensor([2.0, -3.0], dtype=torch.float64) * (1 - factor * decay)
    torch.testing.assert_close(parameter.detach(), expected, rtol=1e-15, atol=0)


def test_micro_batches_give_the_same_losses(inputs, finished, tmp_path):
    train(run_of(inputs, tmp_path / "out", micro_batch=1))
    assert losses(tmp_path / "out") == pytest.approx(losses(finished[0]), abs=1e-5)


def test_losses_read_in_groups_as_on_a_gpu_are_the_same(inputs, finished, tmp_path, monkeypatch):
    monkeypatch.setitem(STEPS_PER_READING, "cpu", STEPS_PER_READING["cuda"])
    train(run_of(inputs, tmp_path))
    assert_same(tmp_path, finished[0])


def test_another_seed_reads_the_rows_in_an_order_of_its_own(inputs, finished, tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        train(run_of(inputs, tmp_path / name, seed=seed))
    found = [losses(tmp_path / name) for name in ("one", "again", "two")]
    assert found[0] == found[1]
    assert len({tuple(one) for one in (*found, losses(finished[0]))}) == 3


def test_bfloat16_autocast_trains(inputs, finished, tmp_path):
    train(run_of(inputs, tmp_path / "out", precision="bfloat16"))
    assert losses(tmp_path / "out") == pytest.approx(losses(finished[0]), rel=0.02)


def command(inputs, out, **changes):
    """Return the command line of train_model for the recipe."""
    options = {**RECIPE, **changes, "threads": 1, "out": out}
    options |= {name: inputs / name for name in ("model", "packed", "heldout")}
    arguments = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    return [sys.executable, "-m", "revocab", "train_model", *arguments]


#: Rows in an order of its own, since the seed is not that of the packing.
LONG = {"steps": 100, "checkpoint_every": 5, "warmup_steps": 10, "seed": 18}


@pytest.mark.long
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(inputs, tmp_path, capsys):
    reference, killed = tmp_path / "reference", tmp_path / "killed"
    train(run_of(inputs, reference, **LONG))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command(inputs, killed, **LONG), env=environment, stderr=subprocess.DEVNULL
    )
    # A few steps past a state, so that some have to be made again.
    wait_until(lambda: steps_made(killed) > 21, process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list((killed / "state").glob("*/checksums.json"))
    assert not (killed / "manifest.json").exists()

    train(run_of(inputs, killed, **LONG))
    assert "resuming from step" in capsys.readouterr().err
    assert io.read_json(killed / "timing.json")["resumed_from_step"] >= 15
    markers = [io.read_json(run / MARKER) for run in (killed, reference)]
    for marker in markers:
        del marker["files"]["timing.json"]  # measured
    assert markers[0]["files"] == markers[1]["files"]
    (killed / MARKER).write_bytes((reference / MARKER).read_bytes())
    assert len(table(killed / "losses.csv")) == 100
    assert_same(killed, reference)


@pytest.mark.long
def test_a_disk_that_fills_is_a_clear_error_and_the_run_goes_on_after_it(
    inputs, finished, tmp_path
):
    """The limit on a file's size is met by the resume state, after the first export."""
    out = tmp_path / "out"
    limited = ["bash", "-c", 'ulimit -f 16; exec "$@"', "limited", *command(inputs, out)]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "could not be written" in done.stderr and "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (out / "manifest.json").exists()
    train(run_of(inputs, out))
    assert_same(out, finished[0])
