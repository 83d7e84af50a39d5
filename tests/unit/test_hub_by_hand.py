"""Models and tokenizers named by their Hub ids on a command line, from the local Hub."""

from __future__ import annotations

import shutil

import hub_server
import pytest
from printed import printed

from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.models.hub_or_folder import PATTERNS, REPOSITORY


@pytest.fixture(scope="module")
def root(tmp_path_factory, toys):
    """A Hub that holds the toys, a pickle beside the weights."""
    root = tmp_path_factory.mktemp("hub")
    for name, model in {
        "toys/untied": "untied", "mistralai/Mistral-7B-v0.1": "untied",
        "toys/helper": "helper", "sapienzanlp/Minerva-3B-base-v1.0": "helper",
    }.items():  # fmt: skip
        shutil.copytree(toys / model, root / "models" / name / "main")
    (root / "models/toys/untied/main/pytorch_model.bin").write_bytes(b"a pickle")
    return root


@pytest.fixture
def revocab(hub, tmp_path):
    """Run a verb by hand against the Hub."""

    def run(*words: object):
        command = ["-m", "revocab", *map(str, words)]
        return hub_server.run_against(hub, tmp_path / "cache", command)

    return run


@pytest.mark.long
def test_a_model_is_adapted_from_ids_alone(revocab, hub, tmp_path):
    commit = hub.repositories["models", "toys/untied"].refs["main"]
    words = ["--source", f"toys/untied@{commit}", "--target-tokenizer", "toys/helper"]
    done = revocab("init", *words, "--method", "fvt", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert ModelFolder(tmp_path / "out").matrix("input", 1).shape[0] == 1
    assert not list((tmp_path / "cache").rglob("*.bin"))
    # Of the helper nothing but its tokenizer was asked for.
    assert not list((tmp_path / "cache").glob("hub/models--toys--helper/**/*.safetensors"))


def test_the_line_of_the_readme_runs_as_printed(revocab, repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (line,) = (
        line for line in printed(repository)
        if line.page == "README.md" and line.words[0] == "init" and "--source" in line.words
    )  # fmt: skip
    done = revocab(*line.words)
    assert done.returncode == 0, done.stderr
    made = read_json(tmp_path / "adapted/provenance.json")
    assert made["method"] == "sava" and made["counts"]["missing"] > 0


def test_what_is_neither_here_nor_there_is_said(revocab, tmp_path):
    words = ["--target-tokenizer", "x", "--method", "fvt", "--out", tmp_path / "out"]
    done = revocab("init", "--source", "toys/none", *words)
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert "toys/none: no such folder here, and model 'toys/none' does not exist" in done.stderr


def test_ids_are_told_from_paths():
    ids = ("mistralai/Mistral-7B-v0.1", "a/b@main", "a/b@refs/pr/1")
    assert all(REPOSITORY.fullmatch(name) for name in ids)
    assert not any(map(REPOSITORY.fullmatch, ("a", "/a/b", "a/b/c", "../a", "a/b@", "a/../b")))
    assert not [pattern for pattern in PATTERNS["model"] if "bin" in pattern or "py" in pattern]


def test_a_folder_above_checkpoints_names_them(tmp_path, toys):
    from revocab.errors import RevocabError

    shutil.copytree(toys / "tied", tmp_path / "run/checkpoints/step-000002")
    with pytest.raises(RevocabError, match=r"such as .*checkpoints/step-000002$"):
        ModelFolder(tmp_path / "run")
