"""Vocabulary adapters: autograd through ``A E`` beside them, what moves, stops on the way."""

from __future__ import annotations

import shutil

import pytest
import torch
from torch.func import functional_call
from training_pico import (
    VOCABULARY,
    assert_same,
    at,
    batches,
    changed,
    folders_of,
    losses,
    moved,
    pico_weights,
    run_of,
    stop_training,
    table,
    textbook_loss,
    weights,
    with_texts_of,
    write_adapted,
)

from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import read_source_weights, write_source_weights
from revocab.training import vocabulary_adapter
from revocab.training.stages import Stage
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = {"input": "model.embed_tokens.weight", "output": "lm_head.weight"}
STEPS, CLIP = 30, 0.11


def stage(steps=STEPS, auxiliary=0.0, shared=False, **changes):
    adapter = {"auxiliary": auxiliary, "shared": shared}
    return Stage(
        **{
            "name": "adapters", "steps": steps, "learning_rate": 3e-3, "train": ["embeddings"],
            "weight_decay": 0.3, "warmup_steps": 2, "adapter": adapter, **changes,
        }
    )  # fmt: skip


def adapted_run(inputs, out, *stages, micro_batch=None, **changes):
    steps = sum(one.steps for one in stages)
    own = {"steps": steps, "checkpoint_every": steps, "gradient_clip": CLIP, "warmup_steps": 0}
    return run_of(inputs, out, micro_batch, stages=stages, **{**own, **changes})


def autograd(inputs, auxiliary, tied=False, shared=False):
    """Train A as a parameter in a plain loop; return rows of the table, and every matrix."""
    from transformers import AutoModelForCausalLM

    settings, first = stage(auxiliary=auxiliary), pico_weights()
    model = AutoModelForCausalLM.from_pretrained(inputs / "adapted", dtype=torch.float32)
    named = dict(AutoModelForCausalLM.from_pretrained(inputs / "source").float().named_parameters())
    a0_NV = first.dense(slice(0, VOCABULARY))
    whichs = ["input"] if tied else ["input", "output"]
    each = [a0_NV.clone().requires_grad_() for _ in (whichs[:1] if shared else whichs)]
    a = dict(zip(whichs, each * len(whichs) if shared else each, strict=True))
    optimizer = torch.optim.AdamW(each, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.3)
    rows = []
    for step, ids in zip(range(STEPS), batches(inputs), strict=False):
        optimizer.param_groups[0]["lr"] = settings.learning_rate * settings.factor(step)
        made = {NAMES[which]: a[which] @ named[NAMES[which]].detach() for which in a}
        if tied:
            made[NAMES["output"]] = made[NAMES["input"]]
        loss = textbook_loss(functional_call(model, made, (ids,)).logits, ids)
        distance = sum(
            torch.linalg.vector_norm((one - a0_NV)[first.shared_S], dim=1).mean() for one in each
        ) / len(each)
        optimizer.zero_grad()
        (loss + auxiliary * distance if auxiliary else loss).backward()
        norm = torch.nn.utils.clip_grad_norm_(each, CLIP)
        optimizer.step()
        rows.append((loss.item(), norm.item(), distance.item()))
    return rows, {NAMES[which]: one.detach() @ named[NAMES[which]] for which, one in a.items()}


@pytest.mark.parametrize(
    ("auxiliary", "micro", "shared"),
    [(0.0, 4, False), (2.0, 4, False), (2.0, 2, False), (2.0, 1, False), (2.0, 2, True)],
)
def test_thirty_steps_equal_autograd_through_the_product(
    inputs, tmp_path, monkeypatch, auxiliary, micro, shared
):
    """Clipping is active, and blocks are smaller than the matrices."""
    monkeypatch.setattr(vocabulary_adapter, "BLOCK_ELEMENTS", 700)
    trained = stage(auxiliary=auxiliary, shared=shared)
    manifest = train(adapted_run(inputs, tmp_path, trained, micro_batch=micro))
    expected, matrices = autograd(inputs, auxiliary, shared=shared)
    found = zip(table(tmp_path / "losses.csv"), table(tmp_path / "adapter.csv"), strict=True)
    for (row, auxiliaries), (loss, norm, distance) in zip(found, expected, strict=True):
        assert float(row["loss"]) == pytest.approx(loss, abs=1e-5)
        assert float(row["gradient_norm"]) == pytest.approx(norm, rel=1e-4)
        assert float(auxiliaries["auxiliary_loss"]) == pytest.approx(distance, rel=1e-4, abs=1e-7)
    assert sum(norm > CLIP for _, norm, _ in expected) > 5
    ours = weights(at(tmp_path, STEPS))
    for name, theirs in matrices.items():
        torch.testing.assert_close(ours[name].float(), theirs, rtol=0.01, atol=1e-4, msg=name)
    assert manifest["settings"]["stages"][0]["adapter"] == {
        "auxiliary": auxiliary, **({"shared": True} if shared else {})
    }  # fmt: skip


def test_a_tied_model_has_one_adapter(inputs, tmp_path):
    write_adapted(with_texts_of(inputs, tmp_path), tie_word_embeddings=True)
    train(adapted_run(tmp_path, tmp_path / "out", stage(auxiliary=1.0)))
    expected, matrices = autograd(tmp_path, 1.0, tied=True)
    assert losses(tmp_path / "out") == pytest.approx([row[0] for row in expected], abs=1e-5)
    ours = weights(at(tmp_path / "out", STEPS))
    assert NAMES["output"] not in ours
    name, theirs = *matrices.keys(), *matrices.values()
    torch.testing.assert_close(ours[name].float(), theirs, rtol=0.01, atol=1e-4)


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    """Adapters with a heavy auxiliary loss, then everything."""
    out = tmp_path_factory.mktemp("adapters")
    then = Stage(name="everything", steps=3, learning_rate=1e-2)
    train(adapted_run(inputs, out, stage(5, 1e4, weight_decay=0.0), then, checkpoint_every=2))
    return out, then


def test_nothing_but_embedding_and_head_moves_before_the_next_stage(inputs, finished):
    out, _ = finished
    before, border, after = weights(inputs / "adapted"), weights(at(out, 5)), weights(at(out, 8))
    assert moved(before, border) == {*NAMES.values()}
    assert moved(border, after) == {*border}
    assert len(table(out / "adapter.csv")) == 5


def test_a_heavy_auxiliary_loss_keeps_shared_rows(inputs, finished, tmp_path):
    train(adapted_run(inputs, tmp_path, stage(5, weight_decay=0.0)))
    shared_S = pico_weights().shared_S
    before = weights(inputs / "adapted")
    for name in NAMES.values():
        free, held = (
            (weights(at(out, 5))[name].float() - before[name].float()).norm(dim=1)
            for out in (tmp_path, finished[0])
        )
        assert held[shared_S].mean() < 0.5 * free[shared_S].mean()
        assert held.sum() - held[shared_S].sum() > 0.1 * (free.sum() - free[shared_S].sum())


def test_a_run_that_is_stopped_ends_with_the_same_bytes(inputs, finished, tmp_path):
    out, then = finished
    stages = stage(5, 1e4, weight_decay=0.0), then
    run = adapted_run(inputs, tmp_path, *stages, checkpoint_every=2)
    for last in (3, 7):  # in the adapters' stage, and in the one after it
        stop_training(run, after=last)
    train(run)
    assert_same(tmp_path, out)


def test_a_source_that_is_missing_wrong_or_of_no_use(inputs, tmp_path):
    run = adapted_run(inputs, tmp_path, stage(2))
    with pytest.raises(RevocabError, match="--source: the first stage trains vocabulary adapters"):
        train(changed(run, source=None))
    with pytest.raises(RevocabError) as caught:
        train(changed(run, source=inputs / "adapted"))
    assert len(caught.value.problems) == 2
    assert "the input matrix is not what source_weights.npz makes of" in caught.value.problems[0]
    with pytest.raises(RevocabError, match=r"no source_weights\.npz, from which"):
        train(changed(run, model=inputs / "model"))
    plain = changed(run_of(inputs, tmp_path), source=inputs / "source")
    with pytest.raises(RevocabError, match="only vocabulary adapters read it"):
        train(plain)


def test_weights_for_other_matrices_than_the_model_has(inputs, tmp_path):
    run = adapted_run(inputs, tmp_path / "out", stage(2))
    folder = shutil.copytree(run.model, tmp_path / "lacking")
    write_source_weights(folder, {"input": read_source_weights(run.model)["input"]})
    with pytest.raises(RevocabError, match="is for input, but the model has input and output"):
        train(changed(run, model=folder))


def test_pico_weights_have_every_case(inputs):
    found = read_source_weights(inputs / "adapted")["input"]
    lengths = found.starts_N.diff()
    assert {1, 2, 40} <= {*lengths.tolist()}
    assert 0 < len(found.shared_S) < VOCABULARY
    assert folders_of(inputs, adapted_run(inputs, inputs, stage(2)).settings)["source"].is_dir()
