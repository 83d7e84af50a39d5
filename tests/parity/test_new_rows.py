"""Training of new rows alone: every other bit stays, also of the optimizer, and how others move."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.distributed.tensor import Shard
from training_pico import (
    VOCABULARY,
    assert_same,
    at,
    batches,
    changed,
    moved,
    new_ids,
    run_of,
    stop_training,
    table,
    textbook_loss,
    weights,
    with_texts_of,
    write_adapted,
)

from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import NEW_ROWS
from revocab.training.stages import Stage
from revocab.training.train import train
from revocab.training.vocabulary_adapter import drop_other_rows, own_rows

pytestmark = pytest.mark.usefixtures("one_thread")

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
#: With a decay that would show, in the rows and in the norms beside them.
ROWS = Stage(
    name="rows", steps=6, learning_rate=1e-2, train=["new_rows", "norms"], weight_decay=0.5,
    warmup_steps=1, groups={"new_rows": {"learning_rate": 3e-2}},
)  # fmt: skip
EVERYTHING = Stage(
    name="everything", steps=3, learning_rate=1e-3, groups={"embeddings": {"learning_rate": 1e-2}}
)


def rows_run(inputs, out, *stages, **changes):
    steps = sum(stage.steps for stage in stages)
    return run_of(inputs, out, stages=stages, **{"steps": steps, "checkpoint_every": 3, **changes})


@pytest.fixture(scope="module", params=[False, True], ids=["untied", "tied"])
def trained(request, tmp_path_factory, inputs):
    """Return inputs and a run of new rows, then of everything, with an embedding tied or not."""
    root = tmp_path_factory.mktemp("rows")
    write_adapted(root, tie_word_embeddings=request.param)
    with_texts_of(inputs, root)
    train(rows_run(root, root / "out", ROWS, EVERYTHING))
    return root, request.param


def assert_only_new(changed_VD, *, every):
    """All new rows, or not ``every``: an untied input has no gradient but for the text's tokens."""
    rows = changed_VD.any(1).nonzero()[:, 0].tolist()
    new = new_ids().tolist()
    assert rows == new if every else rows and {*rows} < {*new}


def bits_of(folder):
    return {name: tensor.view(torch.int16) for name, tensor in weights(folder).items()}


def test_copied_rows_keep_every_bit_and_new_ones_move(trained):
    root, tied = trained
    before, after = (bits_of(folder) for folder in (root / "adapted", at(root / "out", 6)))
    matrices = {EMBEDDING} if tied else {EMBEDDING, HEAD}
    assert moved(before, after) == {*matrices, *(name for name in before if "norm" in name)}
    for name in matrices:
        assert_only_new(before[name] != after[name], every=tied or name == HEAD)


def test_the_stage_after_it_moves_all_rows(trained):
    root, tied = trained
    before, after = (bits_of(at(root / "out", step)) for step in (6, 9))
    head = EMBEDDING if tied else HEAD
    assert (before[head] != after[head]).any(1).all()


def test_steps_equal_a_plain_loop(trained):
    from transformers import AutoModelForCausalLM

    root, tied = trained
    model = AutoModelForCausalLM.from_pretrained(root / "adapted", dtype=torch.float32)
    named = dict(model.named_parameters())
    matrices = [named[EMBEDDING]] if tied else [named[EMBEDDING], named[HEAD]]
    norms = [parameter for name, parameter in named.items() if "norm" in name]
    new = new_ids()
    # The new rows are parameters of their own, so that nothing of the others is in the optimizer.
    rows = [matrix.detach()[new].clone().requires_grad_() for matrix in matrices]
    optimizer = torch.optim.AdamW(
        [{"params": rows, "weight_decay": 0.0}, {"params": norms, "weight_decay": 0.5}],
        betas=(0.9, 0.95), eps=1e-8,
    )  # fmt: skip
    losses = table(root / "out/losses.csv")[:6]
    for step, (row, ids) in enumerate(zip(losses, batches(root), strict=False)):
        for group, peak in zip(optimizer.param_groups, (3e-2, 1e-2), strict=True):
            group["lr"] = peak * ROWS.factor(step)
        model.zero_grad()
        loss = textbook_loss(model(input_ids=ids).logits, ids)
        loss.backward()
        for own, matrix in zip(rows, matrices, strict=True):
            own.grad = matrix.grad[new].clone()
        norm = torch.nn.utils.clip_grad_norm_([*rows, *norms], 1.0)
        optimizer.step()
        with torch.no_grad():
            for own, matrix in zip(rows, matrices, strict=True):
                matrix[new] = own
        assert float(row["loss"]) == pytest.approx(loss.item(), abs=1e-6)
        assert float(row["gradient_norm"]) == pytest.approx(norm.item(), rel=1e-4)
    ours = weights(at(root / "out", 6))
    for name in ours:
        torch.testing.assert_close(ours[name].float(), named[name], rtol=0.01, atol=1e-4)


def test_a_step_by_hand_on_two_rows():
    """The first step of AdamW is the rate, against the gradient's sign, whatever its size."""
    matrix = torch.nn.Parameter(torch.tensor([[1.0, -0.0], [2.0, 3.0]]))
    optimizer = torch.optim.AdamW([matrix], lr=0.1, weight_decay=0.0, fused=True)
    matrix.grad = torch.tensor([[0.5, 7.0], [-0.3, 0.4]])
    drop_other_rows([matrix], torch.tensor([False, True]))
    assert torch.nn.utils.clip_grad_norm_([matrix], 1.0).item() == pytest.approx(0.5)
    optimizer.step()
    assert matrix[1].tolist() == pytest.approx([2.1, 2.9])
    assert matrix[0].tolist() == [1, 0] and math.copysign(1, matrix[0, 1].item()) == -1
    state = optimizer.state[matrix]
    assert state["exp_avg"][0].tolist() == state["exp_avg_sq"][0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("rows", "parts"), [(7, [(0, 3), (3, 6), (6, 7)]), (6, [(0, 2), (2, 4), (4, 6)]),
                        (2, [(0, 1), (1, 2), (2, 2)])],
)  # fmt: skip
def test_each_of_three_processes_has_its_rows(rows, parts):
    for rank, (first, end) in enumerate(parts):
        mesh = SimpleNamespace(size=lambda _: 3, get_local_rank=lambda _, rank=rank: rank)
        held = torch.zeros(rows, 2)
        held.placements, held.device_mesh = (Shard(0),), mesh
        assert own_rows(held) == slice(first, end)
    assert own_rows(torch.zeros(rows, 2)) == slice(0, rows)


def test_a_stop_inside_the_stage_changes_no_byte_and_its_state_has_no_moment_of_others(
    trained, tmp_path
):
    """A moment of a copied row in the state would move it on resuming."""
    root, tied = trained

    run = rows_run(root, tmp_path / "out", ROWS, EVERYTHING)
    stop_training(run, after=5)
    (state,) = (tmp_path / "out/state").glob("checkpoint-*/optimizer.pt")
    kept = torch.load(state, weights_only=True)["state"]
    matrices = [
        moments["exp_avg_sq"] for moments in kept.values() if len(moments["exp_avg"]) == VOCABULARY
    ]
    assert len(matrices) == 2 - tied
    for moments_VD, every in zip(matrices, (tied, True), strict=False):
        assert_only_new(moments_VD != 0, every=every)
    train(run)
    assert_same(tmp_path / "out", root / "out")


def damage(content):
    def write(folder):
        np.save(folder / NEW_ROWS, np.array(content, dtype=np.int32))

    return write


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda folder: (folder / NEW_ROWS).unlink(),
            "no new_rows.npy, which says what rows are new",
        ),
        (lambda folder: (folder / NEW_ROWS).write_bytes(b"x"), "new_rows.npy: damaged"),
        (damage([3, 64]), "new_rows.npy: damaged (ids beyond the 64 rows of the model)"),
        (damage([5, 3]), "new_rows.npy: damaged (not ascending ids)"),
        (damage([]), "no row is new; leave out stages that train new_rows"),
    ],
)
def test_a_record_that_is_missing_or_damaged(inputs, tmp_path, change, words):
    write_adapted(tmp_path)
    change(tmp_path / "adapted")
    run = rows_run(inputs, tmp_path / "out", ROWS)
    with pytest.raises(RevocabError) as caught:
        train(changed(run, model=tmp_path / "adapted"))
    assert words in str(caught.value) and str(tmp_path / "adapted") in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_pattern_that_would_move_the_other_rows_is_refused(inputs, tmp_path):
    stage = Stage(name="rows", steps=2, learning_rate=1e-2, train=["new_rows", "embed"])
    with pytest.raises(RevocabError, match="stage rows: 'embed' fits an embedding or head"):
        train(rows_run(inputs, tmp_path / "out", stage))
