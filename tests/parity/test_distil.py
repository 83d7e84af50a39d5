"""Token Distillation as a stage: parity with a plain loop, copied rows, resumes, refusals."""

from __future__ import annotations

import pytest
import torch
from taught_pico import BATCH, EVERYTHING, LENGTH, STEPS, opened, taught_run, write_packed_text
from torch.nn import functional
from training_pico import assert_same, at, changed, stop_training, table, weights

from revocab import io
from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import read_new_rows
from revocab.training.data.taught_rows import with_lessons
from revocab.training.run import Settings
from revocab.training.stage import Stage
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

SNIPPET = 8
DISTIL = {
    "name": "distil", "steps": STEPS, "learning_rate": 1e-2, "schedule": "constant",
    "train": ["new_rows"], "distil": {"layers": [1, -1], "snippet": SNIPPET, "per_token": 5},
}  # fmt: skip


def distil_run(root, out, *stages, **options):
    return taught_run(root, out, *(stages or (DISTIL, EVERYTHING)), **options)


@pytest.fixture(scope="module", params=["untied", "tied"])
def distilled(request, folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "run"
    return folders, request.param, out, train(distil_run(folders, out, name=request.param))


def test_copied_rows_keep_every_bit_and_new_ones_move(distilled):
    root, name, out, manifest = distilled
    before, after = weights(root / f"{name}-adapted"), weights(at(out, STEPS))
    new_V = read_new_rows(root / f"{name}-adapted", len(before["model.embed_tokens.weight"]))
    matrices = {"model.embed_tokens.weight"} | ({"lm_head.weight"} if name == "untied" else set())
    for tensor in before:
        moved = before[tensor] != after[tensor]
        assert bool(moved.any()) == (tensor in matrices), tensor
        if tensor in matrices:
            assert not moved[~new_V].any() and moved[new_V].any()
    (said,) = manifest["distilled"]
    assert said["stage"] == "distil" and 0 < said["in_text"] <= said["new_tokens"]
    assert said["snippets"] == STEPS * BATCH * (LENGTH // SNIPPET)
    (timed,) = io.read_json(out / "timing.json")["distilled"]
    whole = timed["seconds_per_new_token"] * said["in_text"]
    assert timed["stage"] == "distil" and timed["training_seconds"] == pytest.approx(whole)


def test_steps_equal_a_plain_loop(distilled):
    """Each snippet alone, without padding, its positions found by text and not by offsets."""
    from transformers import AutoModelForCausalLM

    root, name, out, _ = distilled
    load = AutoModelForCausalLM.from_pretrained
    model = load(root / f"{name}-adapted", dtype=torch.float32)
    source = load(root / name, dtype=torch.float32).eval()
    own, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    matrices = [own] if name == "tied" else [own, head]
    new = read_new_rows(root / f"{name}-adapted", len(own))
    rows = [matrix.detach()[new].clone().requires_grad_() for matrix in matrices]
    optimizer = torch.optim.AdamW(rows, lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0)
    run = distil_run(root, out, name=name)
    packed = with_lessons(opened(run), run.settings, run.model, run.source, new)
    for step, said in enumerate(table(out / "losses.csv")[:STEPS]):
        batch = packed.__getitems__([*range(step * BATCH, (step + 1) * BATCH)])
        errors, crosses = [], []
        model.zero_grad()
        for row, theirs, places, size in zip(
            *(batch[key].flatten(0, 1) for key in ("input_ids", "source_ids", "aligned")),
            batch["sizes"].flatten().tolist(), strict=True,
        ):  # fmt: skip
            ids = row[:size]
            outputs = model(input_ids=ids[None], output_hidden_states=True)
            with torch.no_grad():
                targets = source(input_ids=theirs[None], output_hidden_states=True).hidden_states
            for p, place in enumerate(places.tolist()):
                if place >= 0:
                    states = outputs.hidden_states
                    pair = [(states[n][0, p], targets[n][0, place]) for n in (1, 2)]
                    errors.append(torch.stack([functional.mse_loss(*two) for two in pair]).mean())
            last = outputs.hidden_states[-1][0, :-1].detach()
            crosses += functional.cross_entropy(last @ head.T, ids[1:], reduction="none")
        loss = torch.stack(errors).mean()
        if name == "untied":
            loss = loss + torch.stack(crosses).mean()
        loss.backward()
        for row, matrix in zip(rows, matrices, strict=True):
            row.grad = matrix.grad[new].clone()
        torch.nn.utils.clip_grad_norm_(rows, 1.0)
        optimizer.step()
        with torch.no_grad():
            for row, matrix in zip(rows, matrices, strict=True):
                matrix[new] = row
        assert float(said["loss"]) == pytest.approx(loss.item(), rel=1e-4)
    ours = weights(at(out, STEPS))["model.embed_tokens.weight"].float()
    torch.testing.assert_close(ours, own.detach(), rtol=0.01, atol=1e-3)


def test_micro_batches_change_no_loss(distilled, tmp_path):
    root, name, out, _ = distilled
    train(changed(distil_run(root, tmp_path / "out", name=name), micro_batch=1))
    ours, whole = ([float(row["loss"]) for row in table(folder / "losses.csv")]
                   for folder in (tmp_path / "out", out))  # fmt: skip
    assert ours == pytest.approx(whole, rel=1e-4)


def test_a_stop_inside_the_stage_changes_no_byte(distilled, tmp_path):
    root, name, out, _ = distilled

    run = distil_run(root, tmp_path / "out", name=name)
    stop_training(run, after=5)
    assert list((tmp_path / "out/state").glob("checkpoint-*"))
    train(run)
    assert_same(tmp_path / "out", out)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layers": [3, -3]}, ["distil.layers: 3: the model has 2; give 1 to 2", "-3: the model"]),
        ({"layers": [0]}, ["distil.layers: 0: the model has 2"]),
        ({"snippet": 25}, ["distil.snippet: 25 tokens, but rows have 24"]),
    ],
)
def test_settings_that_do_not_fit(folders, tmp_path, options, words):
    stage = {**DISTIL, "distil": options}
    with pytest.raises(RevocabError) as caught:
        train(distil_run(folders, tmp_path / "out", stage))
    assert all(part in str(caught.value) for part in words)
    assert not (tmp_path / "out").exists()


def test_a_source_that_is_missing_or_another_model(folders, tmp_path):
    run = distil_run(folders, tmp_path / "out", DISTIL)
    with pytest.raises(RevocabError, match="--source: a stage has distil"):
        train(changed(run, source=None))
    with pytest.raises(RevocabError, match="model_type is llama, and the model's mistral"):
        train(changed(run, source=folders / "tied"))


def test_rows_without_a_new_token(folders, toys, tmp_path):
    rows = [{"id": str(n), "text": "zzz qqq " * 9} for n in range(20)]
    write_packed_text(tmp_path, toys / "target-tokenizer", rows)
    run = distil_run(folders, tmp_path / "out", DISTIL)
    with pytest.raises(RevocabError, match=r"none of the \d+ new tokens is in the packed rows"):
        train(changed(run, packed=tmp_path / "packed"))


@pytest.mark.parametrize("train_part", [["all"], ["new_rows", "norms"]])
def test_only_new_rows_learn_from_the_source(train_part):
    with pytest.raises(ValueError, match="give train: new_rows"):
        Stage(**{**DISTIL, "train": train_part})


def test_answers_have_no_snippets():
    with pytest.raises(ValueError, match="distil reads text, and loss is answers"):
        Settings(
            steps=6, batch_size=4, learning_rate=1e-2, checkpoint_every=3, seed=1, loss="answers",
            stages=[Stage(**DISTIL)],
        )  # fmt: skip
