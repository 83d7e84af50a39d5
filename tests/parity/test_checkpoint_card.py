"""The card and the provenance of exported checkpoints: a history from the base model on."""

from __future__ import annotations

import pytest
from huggingface_hub import ModelCard
from training_pico import changed, run_of, table

from revocab.io import read_json, sha256, write_json
from revocab.models.origin import BEFORE, PROVENANCE, history_of
from revocab.training.checkpoints import CARD, TRAINING
from revocab.training.train import train


@pytest.fixture(scope="module")
def trained(inputs, tmp_path_factory):
    """A finished run of 6 steps, with checkpoints 4 and 6."""
    out = tmp_path_factory.mktemp("runs") / "first"
    train(run_of(inputs, out))
    return out


def test_every_checkpoint_has_a_card_that_the_hub_reads(trained):
    folders = sorted((trained / "checkpoints").iterdir())
    assert len(folders) == 2
    for folder, step in zip(folders, (4, 6), strict=True):
        card = ModelCard.load(folder / CARD)
        assert card.data.to_dict()["tags"] == ["vocabulary-adaptation", "revocab"]
        assert f"- steps: {step} of 6" in card.text
        assert f"- tokens: {step * 4 * 16} in rows of 16" in card.text
        assert str(trained.parent) not in card.content


def test_the_card_says_the_loss_of_its_own_step_and_the_hash_of_what_was_trained(trained, inputs):
    losses = {row["step"]: row["bits_per_byte"] for row in table(trained / "heldout.csv")}
    folder = trained / "checkpoints/step-000006"
    *before, training = read_json(folder / PROVENANCE)["history"]
    assert [entry["what"] for entry in before] == ["Base model"]
    assert training["what"] == TRAINING
    (heldout,) = training["heldout"]
    assert heldout["bits_per_byte"] == float(losses["6"])
    digest = sha256(inputs / "model/model.safetensors")
    assert training["inputs"]["model"]["model.safetensors"] == digest
    card = (folder / CARD).read_text(encoding="utf-8")
    assert f"| {float(losses['6']):.4f} | 100 |" in card
    assert digest in card


def test_a_model_trained_on_has_the_whole_history_and_equal_bytes(trained, inputs, tmp_path):
    first = trained / "checkpoints/step-000006"
    texts = []
    for name in ("a", "b"):
        train(changed(run_of(inputs, tmp_path / name), model=first))
        folder = tmp_path / name / "checkpoints/step-000004"
        texts.append([(folder / file).read_bytes() for file in (CARD, PROVENANCE)])
    assert texts[0] == texts[1]
    history = history_of(tmp_path / "a/checkpoints/step-000004")
    assert [entry["what"] for entry in history] == ["Base model", TRAINING, TRAINING]
    assert history[:2] == history_of(first)
    assert history[2]["inputs"]["model"]["model.safetensors"] == sha256(first / "model.safetensors")


def test_a_new_vocabulary_stands_in_the_history_with_its_counts(tmp_path):
    counts = {"source_tokens": 40, "target_tokens": 64, "overlap": 22, "missing": 42}
    made = {"method": "fvt", "names": {"source": "owner/model"}, "counts": counts}
    write_json(tmp_path / PROVENANCE, made)
    assert history_of(tmp_path) == [{"what": "New vocabulary", **made}]
    before = [{"what": "Base model", "name": "owner/model"}]
    write_json(tmp_path / PROVENANCE, {**made, BEFORE: before})
    assert history_of(tmp_path) == [*before, {"what": "New vocabulary", **made}]


@pytest.mark.parametrize("content", ["[]", "{", '{"history": 3}', '{"history": [1]}'])
def test_what_a_stranger_wrote_there_is_no_history(tmp_path, content):
    (tmp_path / PROVENANCE).write_text(content, encoding="utf-8")
    assert [entry["what"] for entry in history_of(tmp_path)] in (["Base model"], [])
