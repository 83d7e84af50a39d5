"""Training with rows of padding: the same losses and tokens' rows as without, whatever is in it."""

from __future__ import annotations

import pytest
import torch
from padded_models import pad
from safetensors.torch import load_file
from training_pico import VOCABULARY, changed, losses, pico_mistral, run_of, table, write_adapted

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.load import check_model, load_causal_lm
from revocab.models.token_rows import TOKEN_ROWS, filled
from revocab.training.stages import Stage
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

ROWS = 72
MATRICES = ("model.embed_tokens.weight", "lm_head.weight")
ADAPTED = Stage(
    name="adapters", steps=6, learning_rate=3e-3, train=("embeddings",), weight_decay=0.3,
    warmup_steps=2, adapter={"auxiliary": 0.5},
)  # fmt: skip


def assert_same_training(ours, theirs):
    """Losses to 1e-5 (products are cut elsewhere), and checkpoints of the same tokens' rows."""
    assert losses(ours) == pytest.approx(losses(theirs), abs=1e-5)
    for one, other in zip(table(ours / "heldout.csv"), table(theirs / "heldout.csv"), strict=True):
        assert float(one["loss"]) == pytest.approx(float(other["loss"]), abs=1e-5)
    for folder in sorted((theirs / "checkpoints").iterdir()):
        there = ours / "checkpoints" / folder.name
        plain, padded = (load_file(one / "model.safetensors") for one in (folder, there))
        assert plain.keys() == padded.keys()
        for name, tensor in plain.items():
            received = padded[name]
            if name in MATRICES:
                assert len(received) == ROWS
                mean_PD = filled(received.double(), VOCABULARY)
                torch.testing.assert_close(received.double(), mean_PD, rtol=0.01, atol=1e-4)
            torch.testing.assert_close(received[: len(tensor)], tensor, rtol=0.02, atol=1e-3)
        check_model(there)
        assert len(load_causal_lm(there, dtype="float32").get_output_embeddings().weight) == 64


def granite():
    """A head with a scale: the softmax is that of transformers' own logits, cut."""
    from transformers import GraniteConfig, GraniteForCausalLM

    torch.manual_seed(0)
    config = GraniteConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
        logits_scaling=2.0, pad_token_id=None,
    )  # fmt: skip
    return GraniteForCausalLM(config)


def train_both(inputs, root, model, source=None, **changes):
    """Train ``model`` as it is and with padding, and compare."""
    folders = {"plain": model, "ours": pad(model, root / "padded", ROWS)}
    for name, folder in folders.items():
        train(changed(run_of(inputs, root / name, **changes), model=folder, source=source))
    assert_same_training(root / "ours", root / "plain")


@pytest.mark.parametrize("kind", ["untied", "tied", "scaled"])
def test_padding_changes_no_loss(inputs, tmp_path, kind):
    model = granite() if kind == "scaled" else pico_mistral(tie_word_embeddings=kind == "tied")
    model.save_pretrained(tmp_path / "model")
    train_both(inputs, tmp_path, tmp_path / "model")


@pytest.mark.parametrize("tied", [False, True])
def test_padding_changes_no_adapter(inputs, tmp_path, tied):
    write_adapted(tmp_path, tie_word_embeddings=tied)
    changes = {"stages": (ADAPTED,), "warmup_steps": 0, "weight_decay": 0.0}
    train_both(inputs, tmp_path, tmp_path / "adapted", tmp_path / "source", **changes)
    ours, theirs = (table(tmp_path / name / "adapter.csv") for name in ("ours", "plain"))
    for row, other in zip(ours, theirs, strict=True):
        assert {key: float(value) for key, value in row.items()} == pytest.approx(
            {key: float(value) for key, value in other.items()}, rel=1e-4, abs=1e-5
        )


def test_ids_of_padding_in_the_data_are_refused(inputs, tmp_path):
    """A row of padding is no token's, though there is one."""
    padded = pad(inputs / "model", tmp_path / "padded", ROWS)
    config = read_json(padded / "config.json")
    write_json(padded / "config.json", {**config, TOKEN_ROWS: 40})
    with pytest.raises(RevocabError) as refused:
        train(changed(run_of(inputs, tmp_path / "out"), model=padded))
    packed, heldout = refused.value.problems
    assert "padded: 40 vocabulary rows, but packed rows" in packed
    assert "padded: 40 vocabulary rows, but held-out windows have ids up to 63" in heldout
