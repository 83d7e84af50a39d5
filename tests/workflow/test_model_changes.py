"""Models made of another through Snakemake: planned, made, and made again when they have to be."""

from __future__ import annotations

import pytest
import torch
import yaml
from change_toys import logits
from planning import Checkout, all_jobs
from run_snakemake import link_checkout, succeed
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.experiment import read
from revocab.experiment.load import overlaid, read_values
from revocab.io import read_json

SMALL = "tests/experiments/small.yaml"
MODELS = "results/small-changes/models"


@pytest.fixture(scope="module")
def overlay(tmp_path_factory):
    """A model in a folder, and what is made of it, laid over the small experiment."""
    root = tmp_path_factory.mktemp("changes")
    words = build_tokenizer(SOURCE_WORDS, 30, root / "words")
    build_model(words, root / "base", seed=1)
    values = {
        "experiment": "small-changes",
        "tokenizers": {"words": {"path": str(words)}},
        "models": {
            "base": {"tokenizer": "words", "path": str(root / "base")},
            "wider": {"tokenizer": "words", "blocks": {"model": "base", "share": 0.5}},
            "widest": {"tokenizer": "words", "blocks": {"model": "wider", "share": 1.0}},
        },
    }
    (root / "overlay.yaml").write_text(yaml.safe_dump(values))
    return root


def test_a_run_from_a_changed_model_waits_for_what_it_is_made_of(repository, overlay, tmp_path):
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["runs"] = {"mistral": {"source": "widest"}}
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(values))
    target = "results/small-changes/runs/mistral-sava/init/manifest.json"
    jobs = all_jobs(repository, SMALL, tmp_path / "overlay.yaml", targets=[target])
    assert (jobs["fetch_model"], jobs["change_model"], jobs["init_embeddings"]) == (1, 2, 1)


@pytest.mark.long
def test_models_are_made_of_models(repository, overlay, tmp_path):
    targets = [f"{MODELS}/{name}/manifest.json" for name in ("wider", "widest")]
    files = (repository / SMALL, overlay / "overlay.yaml")
    place = link_checkout(repository, tmp_path)
    succeed(place, "--cores", "2", "--configfile", *files, "--", *targets)
    for name in ("wider", "widest"):
        assert torch.equal(logits(place / MODELS / name), logits(overlay / "base"))
    manifest = read_json(place / MODELS / "widest" / "manifest.json")
    assert manifest["added_blocks"] == [1, 3, 5]
    log = (place / "results/small-changes/logs/change_model/widest.log").read_text()
    assert "3 blocks have become 6" in log and "Traceback" not in log

    made = Checkout(repository, place, overlaid(*map(read_values, files)))
    assert made.plan(targets=targets).needed == set()
    plan = made.plan({"models.wider.blocks.share": 1.0}, targets=targets)
    assert plan.needed == {"change_model:wider", "change_model:widest"}


def test_a_wrong_model_is_refused(repository, overlay, tmp_path):
    values = yaml.safe_load((overlay / "overlay.yaml").read_text())
    values["models"]["wider"]["blocks"]["model"] = "widest"
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(RevocabError) as caught:
        read(repository / SMALL, tmp_path / "overlay.yaml")
    said = "models.wider: made from itself (wider from widest from wider)"
    assert any(problem.startswith(said) for problem in caught.value.problems)
