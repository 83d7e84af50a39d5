"""Models made of models through Snakemake: planned, made, and made again when they have to be."""

from __future__ import annotations

import pytest
import torch
import yaml
from change_toys import logits, tensors_of
from planning import Checkout, all_jobs
from run_snakemake import link_checkout, succeed
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab.config import read
from revocab.config.load import overlaid, read_values
from revocab.errors import RevocabError
from revocab.io import read_json

SMALL = "tests/experiments/small.yaml"
MODELS = "results/small-changes/models"


@pytest.fixture(scope="module")
def overlay(tmp_path_factory):
    """Two models in folders, and what is made of them, laid over the small experiment."""
    root = tmp_path_factory.mktemp("changes")
    words = build_tokenizer(SOURCE_WORDS, 30, root / "words")
    build_model(words, root / "base", seed=1)
    build_model(words, root / "chat", seed=2)
    values = {
        "experiment": "small-changes",
        "tokenizers": {"words": {"path": str(words)}},
        "models": {
            "base": {"tokenizer": "words", "path": str(root / "base")},
            "chat": {"tokenizer": "words", "path": str(root / "chat")},
            "wider": {"tokenizer": "words", "blocks": {"model": "base", "share": 0.5}},
            "chatty": {
                "tokenizer": "words",
                "sum": {"model": "base", "add": [{"model": "chat", "minus": "base"}]},
            },
            "chatty-wider": {"tokenizer": "words", "blocks": {"model": "chatty", "share": 1.0}},
        },
    }
    (root / "overlay.yaml").write_text(yaml.safe_dump(values))
    return root


def test_a_run_from_a_changed_model_waits_for_what_it_is_made_of(repository, overlay, tmp_path):
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["runs"] = {"mistral": {"source": "chatty-wider"}}
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(values))
    target = "results/small-changes/runs/mistral-sava/init/manifest.json"
    jobs = all_jobs(repository, SMALL, tmp_path / "overlay.yaml", targets=[target])
    assert (jobs["fetch_model"], jobs["change_model"], jobs["init_embeddings"]) == (2, 2, 1)


@pytest.mark.long
def test_models_are_made_of_models(repository, overlay, tmp_path):
    targets = [f"{MODELS}/{name}/manifest.json" for name in ("wider", "chatty-wider")]
    files = (repository / SMALL, overlay / "overlay.yaml")
    place = link_checkout(repository, tmp_path)
    succeed(place, "--cores", "2", "--configfile", *files, "--", *targets)
    base, chat = (tensors_of(overlay / name) for name in ("base", "chat"))
    chatty = tensors_of(place / MODELS / "chatty")
    assert all(torch.equal(chatty[name], base[name] + (chat[name] - base[name])) for name in base)
    assert torch.equal(logits(place / MODELS / "wider"), logits(overlay / "base"))
    assert torch.equal(logits(place / MODELS / "chatty-wider"), logits(place / MODELS / "chatty"))
    manifest = read_json(place / MODELS / "chatty-wider" / "manifest.json")
    assert manifest["added_blocks"] == [1, 3]
    log = (place / "results/small-changes/logs/change_model/chatty.log").read_text()
    assert "21 of 21 tensors changed" in log and "Traceback" not in log

    made = Checkout(repository, place, overlaid(*map(read_values, files)))
    assert made.plan(targets=targets).needed == set()
    plan = made.plan({"models.chatty.sum.add.0.weight": 0.5}, targets=targets)
    assert plan.needed == {"change_model:chatty", "change_model:chatty-wider"}


def test_a_wrong_model_is_refused(repository, overlay, tmp_path):
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["models"]["chatty"]["sum"]["model"] = "chatty-wider"
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(RevocabError) as caught:
        read(repository / SMALL, tmp_path / "overlay.yaml")
    said = "models.chatty: made from itself (chatty from chatty-wider from chatty)"
    assert any(problem.startswith(said) for problem in caught.value.problems)
