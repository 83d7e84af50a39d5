"""Training on the answers of conversations: any micro batch, what is measured, what is exported."""

from __future__ import annotations

import itertools

import pytest
import torch
from chat_toys import write_inputs
from training_pico import losses, run_of, table

from revocab import io
from revocab.errors import RevocabError
from revocab.training.chat.template import FOLDER
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

CHANGES = {"loss": "answers", "steps": 12, "checkpoint_every": 6, "schedule": "linear"}


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="module")
def finished(chat, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    return out, train(run_of(chat, out, **CHANGES))


def test_any_micro_batch_gives_the_same_losses(chat, finished, tmp_path):
    out, _ = finished
    train(run_of(chat, tmp_path / "single", 1, **CHANGES))
    assert losses(tmp_path / "single") == pytest.approx(losses(out), abs=1e-5)


def test_the_first_loss_is_the_mean_over_the_answers_of_the_step(chat, finished):
    """By a plain forward of each conversation of the first four rows, found by its bos."""
    from transformers import AutoModelForCausalLM

    from revocab.training.data.packed_rows import open_packed

    model = AutoModelForCausalLM.from_pretrained(chat / "model", dtype=torch.float32).eval()
    rows = open_packed(chat / "packed", 4, 4).batch([0, 1, 2, 3])
    total, count = 0.0, 0
    for ids, positions, learned in zip(
        rows["input_ids"], rows["position_ids"], rows["learned"], strict=True
    ):
        begins = [*(positions == 0).nonzero().flatten().tolist(), len(ids)]
        for begin, end in itertools.pairwise(begins):
            told = learned[begin + 1 : end]
            if not told.any():
                continue
            with torch.no_grad():
                scores = model(input_ids=ids[None, begin:end]).logits[0, :-1].log_softmax(-1)
            labels = ids[begin + 1 : end]
            total -= scores[torch.arange(len(labels)), labels][told].sum().item()
            count += int(told.sum())
    assert losses(finished[0])[0] == pytest.approx(total / count, abs=1e-5)


def test_the_rate_falls_linearly(finished):
    rates = [float(row["learning_rate"]) for row in table(finished[0] / "losses.csv")]
    assert rates == pytest.approx([0, 0.005, *(0.01 * (1 - 0.9 * n / 10) for n in range(10))])


def test_answers_that_were_not_seen_are_learned(finished):
    found = table(finished[0] / "heldout.csv")
    assert [(row["step"], row["corpus"]) for row in found] == [
        ("0", "it"), ("6", "it"), ("12", "it")
    ]  # fmt: skip
    first, *_, last = [float(row["loss"]) for row in found]
    assert last < first - 0.3


def test_a_checkpoint_talks_as_it_has_learned_to(chat, finished):
    out, manifest = finished
    folder = out / "checkpoints/step-000012"
    template = (FOLDER / "plain.jinja").read_text()
    assert (folder / "chat_template.jinja").read_text() == template
    assert io.read_json(chat / "packed/manifest.json")["chat_template"] == template
    assert manifest["settings"]["loss"] == "answers"
    assert {"starts", "answers", "chat_template"} <= manifest["inputs"].keys()


def test_bytes_are_those_of_the_answers(chat, finished):
    packed = io.read_json(chat / "packed/manifest.json")
    answers = packed["corpora"]["it"]["answer_bytes"]
    assert finished[1]["bytes"] == round(answers * 48 / 240)


def test_rows_of_text_are_not_taken_for_answers(chat, inputs, tmp_path):
    with pytest.raises(RevocabError, match=r"rows are for loss 'answers', but the recipe says 'al"):
        train(run_of(chat, tmp_path / "out", steps=2, checkpoint_every=2))
    with pytest.raises(RevocabError, match=r"rows are for loss 'all'.*pack again with --loss ans"):
        train(run_of(inputs, tmp_path / "out", **CHANGES))


def test_another_template_is_another_training(chat, tmp_path):
    """Where tokens agree and only what is asked for at the end differs."""
    from revocab.training.train import input_checksums

    before = input_checksums(run_of(chat, tmp_path, **CHANGES))
    manifest = io.read_json(chat / "packed/manifest.json")
    io.write_json(chat / "packed/manifest.json", {**manifest, "chat_template": "{# other #}"})
    after = input_checksums(run_of(chat, tmp_path, **CHANGES))
    io.write_json(chat / "packed/manifest.json", manifest)
    assert {key for key in before if before[key] != after[key]} == {"chat_template"}
