"""Stages: what moves and what does not, a plain loop beside it, and five kills on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from training_pico import (
    assert_same,
    at,
    batches,
    losses,
    moved,
    pico_mistral,
    run_of,
    table,
    textbook_loss,
    weights,
    with_texts_of,
)

from revocab import io
from revocab.training.stages import Stage
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

MATRICES = {"model.embed_tokens.weight", "lm_head.weight"}
#: Embeddings alone with a decay that would show, then everything, the embeddings faster.
STAGES = (
    Stage(
        name="embeddings", steps=5, learning_rate=1e-2, train=["embeddings"], weight_decay=0.5,
        warmup_steps=1,
    ),
    Stage(
        name="everything", steps=4, learning_rate=2e-3, weight_decay=0.1, warmup_steps=1,
        schedule="constant",
        groups={"embeddings": {"learning_rate": 1e-2, "weight_decay": 0.0}},
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("staged")
    return out, train(run_of(inputs, out, steps=9, checkpoint_every=5, stages=STAGES))


def test_an_embeddings_stage_moves_embeddings_and_head_and_nothing_else(inputs, finished):
    border, after = (weights(at(finished[0], step)) for step in (5, 9))
    assert moved(weights(inputs / "model"), border) == MATRICES
    assert moved(border, after) == {*border}  # the stage after it moves every parameter


def test_a_stage_of_added_blocks_moves_them_and_nothing_else(inputs, tmp_path):
    pico_mistral(added_blocks=[1]).save_pretrained(with_texts_of(inputs, tmp_path) / "model")
    stage = Stage(
        name="blocks", steps=4, learning_rate=1e-2, train=["added_blocks"], weight_decay=0.5
    )
    train(run_of(tmp_path, tmp_path / "out", steps=4, stages=(stage,)))
    before = weights(tmp_path / "model")
    added = {name for name in before if name.startswith("model.layers.1.")}
    assert moved(before, weights(at(tmp_path / "out", 4))) == added


def test_stages_equal_a_plain_loop_with_an_optimizer_for_each(inputs, finished):
    from transformers import AutoModelForCausalLM

    out, manifest = finished
    model = AutoModelForCausalLM.from_pretrained(inputs / "model", dtype=torch.float32)
    named = dict(model.named_parameters())
    matrices = [named[name] for name in named if name in MATRICES]
    rest = [named[name] for name in named if name not in MATRICES]
    adam = {"betas": (0.9, 0.95), "eps": 1e-8}
    first = torch.optim.AdamW(matrices, lr=1e-2, weight_decay=0.5, **adam)
    second = torch.optim.AdamW(
        [{"params": matrices, "lr": 1e-2, "weight_decay": 0.0},
         {"params": rest, "lr": 2e-3, "weight_decay": 0.1}], **adam,
    )  # fmt: skip
    peaks = {first: [1e-2], second: [1e-2, 2e-3]}
    rows = zip(table(out / "losses.csv"), batches(inputs), strict=False)
    for step, (row, ids) in enumerate(rows):
        optimizer = first if step < 5 else second
        factor = STAGES[0].factor(step) if step < 5 else STAGES[1].factor(step - 5)
        for group, peak in zip(optimizer.param_groups, peaks[optimizer], strict=True):
            group["lr"] = peak * factor
        loss = textbook_loss(model(input_ids=ids).logits, ids)
        model.zero_grad()
        loss.backward()
        if step < 5:
            for parameter in rest:
                parameter.grad = None
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        assert float(row["loss"]) == pytest.approx(loss.item(), abs=1e-6)
        assert float(row["gradient_norm"]) == pytest.approx(norm.item(), rel=1e-4)
        assert float(row["learning_rate"]) == pytest.approx(
            (1e-2 if step < 5 else 2e-3) * factor, rel=1e-12
        )
    ours = weights(out / "checkpoints" / "step-000009")
    for name, theirs in model.state_dict().items():
        torch.testing.assert_close(ours[name].float(), theirs, rtol=0.01, atol=1e-4, msg=name)
    assert [stage["name"] for stage in manifest["settings"]["stages"]] == [
        "embeddings", "everything"
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("story", "kills"), [("stages", 5), ("answers", 2)])
def test_kills_and_a_damaged_state_change_no_byte(tmp_path, repository, story, kills):
    script = repository / "tests/support/kills.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "20261120", story, str(kills)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(json.loads(done.stdout.splitlines()[-1])) == kills
    assert "unfinished or damaged; discarded" in done.stderr
    assert done.stderr.count("resuming from step") >= kills - 1
    reference, killed = tmp_path / "reference", tmp_path / "killed"
    assert len(losses(killed)) == 60
    assert_same(killed, reference)
    assert io.read_json(killed / "timing.json")["resumed_from_step"] > 0
