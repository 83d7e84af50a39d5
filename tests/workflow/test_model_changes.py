"""Models made of models through Snakemake: planned, made, and made again when they have to be."""

from __future__ import annotations

import pytest
import torch
import yaml
from change_toys import logits, tensors_of
from run_snakemake import dry_run, snakemake, succeed
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

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


@pytest.fixture
def place(repository, tmp_path):
    """A folder to run in that is no checkout: what runs there is the repository's."""
    for name in ("config", "envs", "scripts", "src"):
        (tmp_path / name).symlink_to(repository / name)
    return tmp_path


def words_of(repository, overlay, *targets):
    return ("--configfile", repository / SMALL, overlay / "overlay.yaml", "--", *targets)


def test_a_run_from_a_changed_model_waits_for_what_it_is_made_of(repository, overlay, tmp_path):
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["runs"] = {"mistral": {"source": "chatty-wider"}}
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(values))
    target = "results/small-changes/runs/mistral-sava/init/manifest.json"
    jobs = dry_run(repository, *words_of(repository, tmp_path, target))
    assert (jobs["fetch_model"], jobs["change_model"], jobs["init_embeddings"]) == (2, 2, 1)


def test_models_are_made_of_models(repository, overlay, place):
    targets = [f"{MODELS}/{name}/manifest.json" for name in ("wider", "chatty-wider")]
    run = ("--snakefile", repository / "Snakefile", "--directory", place, "--cores", "2")
    words = words_of(repository, overlay, *targets)
    succeed(repository, *run, *words)
    base, chat = (tensors_of(overlay / name) for name in ("base", "chat"))
    chatty = tensors_of(place / MODELS / "chatty")
    assert all(torch.equal(chatty[name], base[name] + (chat[name] - base[name])) for name in base)
    assert torch.equal(logits(place / MODELS / "wider"), logits(overlay / "base"))
    assert torch.equal(logits(place / MODELS / "chatty-wider"), logits(place / MODELS / "chatty"))
    manifest = read_json(place / MODELS / "chatty-wider" / "manifest.json")
    assert manifest["added_blocks"] == [1, 3]
    log = (place / "results/small-changes/logs/change_model/chatty.log").read_text()
    assert "21 of 21 tensors changed" in log and "Traceback" not in log

    assert "Nothing to be done" in succeed(repository, *run, *words)
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["models"]["chatty"]["sum"]["add"][0]["weight"] = 0.5
    (place / "overlay.yaml").write_text(yaml.safe_dump(values))
    planned = succeed(repository, *run, "--dry-run", *words_of(repository, place, *targets))
    assert "job change_model" not in planned
    assert "wildcards: model=chatty\n" in planned and "model=chatty-wider\n" in planned
    assert "wildcards: model=wider\n" not in planned


def test_a_wrong_model_ends_before_anything_runs(repository, overlay, tmp_path):
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["models"]["chatty"]["sum"]["model"] = "chatty-wider"
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(values))
    done = snakemake(repository, "--dry-run", *words_of(repository, tmp_path, "all"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "models.chatty: made from itself (chatty from chatty-wider from chatty)" in done.stderr
