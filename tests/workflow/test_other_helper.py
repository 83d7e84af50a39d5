"""A helper with a tokenizer of its own: what the DAG plans, and what its init jobs write."""

from __future__ import annotations

from itertools import islice

import pytest
import yaml
from helper_toys import build_byte_level
from planning import all_jobs
from run_snakemake import link_checkout, succeed
from toy_models import build_model

from revocab.io import read_json, read_jsonl

FILES = ("tests/experiments/small.yaml", "tests/experiments/helper.yaml")
RUNS = ("mistral-projection", "mistral-wechsel")


def test_the_helpers_tokenizer_is_built_and_intersected(repository):
    plain, jobs = (all_jobs(repository, *files) for files in (FILES[:1], FILES))
    for rule in ("build_tokenizer", "intersect_vocabularies"):
        assert jobs[rule] == plain[rule] + 1


@pytest.fixture(scope="module")
def converted(small, repository, tmp_path_factory):
    """The results of two runs; source model and tokenizers are those of the small experiment."""
    folder = tmp_path_factory.mktemp("helper")
    corpus = read_jsonl(repository / "resources/small/corpora/world-it/train.jsonl.gz")
    words = " ".join(document["text"] for document in islice(corpus, 50)).split()
    tokenizer = build_byte_level(words, 300, folder / "tokenizer")
    model = build_model(tokenizer, folder / "model", seed=3, hidden_size=24)
    paths = {name: f"{small}/tokenizers/{name}" for name in ("source", "target")}
    paths["helper"] = str(tokenizer)
    given = {"mistral": f"{small}/models/mistral/checkpoints/step-000020", "helper": str(model)}
    overlay = {
        "tokenizers": {name: {"train": None, "path": path} for name, path in paths.items()},
        "models": {name: {"pretrain": None, "path": path} for name, path in given.items()},
    }
    (folder / "paths.yaml").write_text(yaml.safe_dump(overlay))
    wanted = [f"results/small-helper/runs/{run}/init/manifest.json" for run in RUNS]
    files = (*FILES, folder / "paths.yaml")
    root = link_checkout(repository, tmp_path_factory.mktemp("checkout"))
    succeed(root, "--cores", "2", "--configfile", *files, "--", *wanted)
    return root / "results/small-helper"


@pytest.mark.long
def test_the_init_jobs_count_what_the_intersections_say(converted):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    reports = {
        name: read_json(converted / f"intersections/{name}--target/report.json")
        for name in ("source", "helper")
    }
    for run in RUNS:
        folder = converted / f"runs/{run}/init"
        counts = read_json(folder / "manifest.json")["helper_vocabulary"]
        assert counts["shared"] == reports["helper"]["overlap"]
        assert counts["anchors"] + counts["new"] == counts["shared"]
        assert counts["new"] + counts["new_without_row"] == reports["source"]["missing"]
        assert min(counts["new"], counts["new_without_row"], counts["anchors"]) > 0
        model = AutoModelForCausalLM.from_pretrained(folder)
        assert len(AutoTokenizer.from_pretrained(folder)) == model.config.vocab_size
