"""What ``revocab run`` adds to the words that Snakemake gets, and what it refuses before."""

from __future__ import annotations

import pytest

from revocab.errors import RevocabError
from revocab.workflow.run import is_local, run, shipped_profiles


def test_a_run_without_an_experiment_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RevocabError, match="no experiment file"):
        run(["--cores", "1"])
    assert "usage: revocab run" in run(["--help"])


def test_profiles_come_with_revocab_unless_they_are_here(tmp_path, monkeypatch, repository):
    monkeypatch.chdir(tmp_path)
    words = ["--profile", "profiles/slurm", "profiles/slurm"]
    shipped = ["--profile", str(repository / "profiles/slurm"), "profiles/slurm"]
    assert shipped_profiles(words) == shipped
    (tmp_path / "profiles/slurm").mkdir(parents=True)
    assert shipped_profiles(words) == words
    assert shipped_profiles(["--profile", "mine"]) == ["--profile", "mine"]


@pytest.mark.parametrize(
    ("words", "here"),
    [
        ([], True),
        (["--cores", "2", "--configfile", "a.yaml"], True),
        (["--profile", "profiles/slurm"], False),
        (["--profile=profiles/slurm"], False),
        (["--profile", "profiles/one-gpu"], True),
        (["--executor", "slurm"], False),
    ],
)
def test_a_run_for_a_cluster_is_left_to_snakemake(words, here, monkeypatch, repository):
    monkeypatch.chdir(repository)
    monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)
    assert is_local(words) == here
