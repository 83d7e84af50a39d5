"""Models and tokenizers named by their Hub ids on a command line, from the cache."""

from __future__ import annotations

import shutil

import pytest
from printed import printed

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.models.hub_or_folder import PATTERNS, REPOSITORY


@pytest.fixture(scope="module")
def root(tmp_path_factory, toys):
    """A Hub that holds the toys: of the helper the tokenizer alone."""
    root = tmp_path_factory.mktemp("hub")
    for name, model in {
        "mistralai/Mistral-7B-v0.1": "untied", "sapienzanlp/Minerva-3B-base-v1.0": "helper",
    }.items():  # fmt: skip
        shutil.copytree(toys / model, root / "models" / name / "main")
    tokenizer = root / "models/toys/tokenizer/main"
    shutil.copytree(toys / "helper", tokenizer, ignore=shutil.ignore_patterns("*.safetensors"))
    return root


def test_a_model_is_adapted_from_ids_alone(job, hub, tmp_path):
    commit = (hub / "models--mistralai--Mistral-7B-v0.1/refs/main").read_text()
    words = ["fvt", "--source", f"mistralai/Mistral-7B-v0.1@{commit}"]
    words += ["--target-tokenizer", "toys/tokenizer", "--out", tmp_path / "out"]
    job("init_embeddings", *words)
    assert ModelFolder(tmp_path / "out").matrix("input", 1).shape[0] == 1
    with pytest.raises(RevocabError, match="toys/none: no such folder here"):
        job("init_embeddings", "fvt", "--source", "toys/none", *words[3:-1], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_line_of_the_readme_runs_as_printed(job, hub, repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (line,) = (
        line for line in printed(repository)
        if line.page == "README.md" and line.words[0] == "init" and "--source" in line.words
    )  # fmt: skip
    job("init_embeddings", *line.words[1:])
    provenance = read_json(tmp_path / "adapted/provenance.json")
    assert provenance["method"] == "sava" and provenance["counts"]["missing"] > 0


def test_ids_are_told_from_paths():
    ids = ("mistralai/Mistral-7B-v0.1", "a/b@main", "a/b@refs/pr/1")
    assert all(REPOSITORY.fullmatch(name) for name in ids)
    assert not any(map(REPOSITORY.fullmatch, ("a", "/a/b", "a/b/c", "../a", "a/b@", "a/../b")))
    assert not [pattern for pattern in PATTERNS["model"] if "bin" in pattern or "py" in pattern]
