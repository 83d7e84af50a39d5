"""A model whose layers are divided among devices scores, writes and is measured as on one.

There is one device here. Its model goes through accelerate's dispatch all the same, which moves
what passes from one group of layers to the next.
"""

from __future__ import annotations

import pytest
import torch
from evaluation_toys import IT_ROWS, write_model, write_task
from training_pico import write_inputs

from revocab import device
from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.inference.engines import transformers as engine
from revocab.evaluation.multiple_choice.scoring import score_checkpoints
from revocab.evaluation.options import Scoring
from revocab.models import load
from revocab.models.shape import layer_map, load_shape
from revocab.training.heldout_loss import measure_heldout


@pytest.fixture
def divided(monkeypatch) -> list[int]:
    """Let several GPUs be several times the CPU; return among how many each model was divided."""
    from accelerate import dispatch_model

    usual, found = load.load_causal_lm, []

    def loaded(folder, *, gpus=1, **options):
        model = usual(folder, gpus=gpus, **options)
        if gpus > 1:
            dispatch_model(model, layer_map(model, ["cpu"] * gpus), force_hooks=True)
            found.append(gpus)
        return model

    monkeypatch.setattr(load, "divided", lambda where, gpus: [where] * gpus)
    for module in (load, engine):
        monkeypatch.setattr(module, "load_causal_lm", loaded)
    return found


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_choices_are_scored_as_on_one(tmp_path, repository, divided, dtype):
    """In float32 with shared contexts, in bfloat16 as the harness does it."""
    models = {0: write_model(tmp_path / "model")}
    tasks = [write_task(tmp_path, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")]
    tables = []
    for gpus in (1, 2):
        out = tmp_path / f"{gpus}.csv"
        score_checkpoints("r", models, tasks, out, Scoring(dtype=dtype, gpus=gpus))
        tables.append((out.read_bytes(), out.with_name(f"{gpus}_items.jsonl.gz").read_bytes()))
    assert divided == [2] and tables[0] == tables[1]


@pytest.mark.parametrize("tied", [False, True])
def test_texts_and_their_probabilities_are_those_of_one(tmp_path, divided, tied):
    folder = write_model(tmp_path / "model", context_length=64, tied=tied)
    one, two = (
        engine.TransformersGenerator(Checkpoint(folder, "cpu", "float32", 2, gpus), 64)
        for gpus in (1, 2)
    )
    prompts = [one.encode(text) for text in ("il pane", "la casa è", "chi")]
    assert divided == [2]
    assert one.generate(prompts, 8, None) == two.generate(prompts, 8, None)
    asked = (prompts[0], [prompts[1][:2], prompts[2][:2]])
    assert one.log_probabilities(*asked) == two.log_probabilities(*asked)


def test_held_out_losses_are_those_of_one(tmp_path, divided):
    root = write_inputs(tmp_path)
    outs = []
    for gpus in (1, 2):
        outs.append(tmp_path / f"{gpus}.csv")
        measure_heldout({0: root / "model"}, root / "heldout", outs[-1], "cpu", gpus)
    assert divided == [2] and outs[0].read_bytes() == outs[1].read_bytes()


@pytest.mark.parametrize("tied", [False, True])
def test_layers_are_divided_in_order_and_everything_has_a_place(tmp_path, tied):
    model = load_shape(write_model(tmp_path / "model", tied=tied))
    places = layer_map(model, ["a", "b"])
    assert [places[f"model.layers.{n}"] for n in range(2)] == ["a", "b"]
    assert places["model.embed_tokens"] == "a" and places["model.norm"] == "b"
    assert places["lm_head"] == ("a" if tied else "b")
    for name, _ in model.named_parameters():
        assert sum(name.startswith(f"{place}.") for place in places) == 1, name


@pytest.mark.parametrize(
    ("where", "gpus", "there", "expected"),
    [
        ("cuda", 1, 0, ["cuda"]), ("cpu", 4, 0, ["cpu"]), ("cuda:3", 1, 8, ["cuda:3"]),
        ("cuda", 2, 8, ["cuda:0", "cuda:1"]), ("cuda", 4, 2, None), ("cuda:1", 2, 8, None),
    ],
)  # fmt: skip
def test_the_first_gpus_are_taken(monkeypatch, where, gpus, there, expected):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    if expected:
        assert device.divided(where, gpus) == expected
    else:
        with pytest.raises(RevocabError, match="--gpus"):
            device.divided(where, gpus)
