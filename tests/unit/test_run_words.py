"""What ``revocab run`` adds to the words that Snakemake gets, and what it refuses before."""

from __future__ import annotations

import pytest

from revocab.errors import RevocabError
from revocab.workflow.run import defaults, is_local, quiet, result_lines, run, shipped_profiles


def test_a_run_without_an_experiment_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RevocabError, match="no experiment file"):
        run(["--cores", "1"])
    assert "usage: revocab run" in run(["--help"])


@pytest.mark.parametrize(
    ("words", "cores"),
    [
        ([], ["--cores", "all"]),
        (["-n"], ["--cores", "all"]),
        (["-c2"], []),
        (["--cores=2"], []),
        (["-j", "4"], []),
        (["--profile", "profiles/slurm"], []),
    ],
)
def test_all_cores_are_used_unless_it_is_said_otherwise(words, cores, monkeypatch, repository):
    monkeypatch.chdir(repository)
    assert defaults(words) == ["--snakefile", "Snakefile", *cores]
    assert defaults([*words, "-s", "another"]) == cores


def test_profiles_come_with_revocab_unless_they_are_here(tmp_path, monkeypatch, repository):
    monkeypatch.chdir(tmp_path)
    words = ["--profile", "profiles/slurm", "profiles/slurm"]
    shipped = ["--profile", str(repository / "profiles/slurm"), "profiles/slurm"]
    assert shipped_profiles(words) == shipped
    (tmp_path / "profiles/slurm").mkdir(parents=True)
    assert shipped_profiles(words) == words
    assert shipped_profiles(["--profile", "mine"]) == ["--profile", "mine"]


@pytest.mark.parametrize("words", [[], ["--cores", "2"], ["--configfile", "a.yaml", "--", "x.csv"]])
def test_reasons_are_left_out_of_a_run(words):
    assert quiet(words) == ["--quiet=reason"]


@pytest.mark.parametrize(
    "words", [["-n"], ["--cores", "2", "--dry-run"], ["--quiet", "all"], ["--quiet=rules"], ["-p"]]
)
def test_whoever_asks_sees_them(words):
    assert quiet(words) == []


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


def test_a_run_ends_with_where_its_result_lies(tmp_path):
    assert len([*result_lines(tmp_path, 3)]) == 1  # a file by name was made, and no report
    (tmp_path / "tables").mkdir()
    for name in ("report.html", "checks.json", "tables/a.md", "tables/b.md"):
        (tmp_path / name).write_text("", encoding="utf-8")
    said = "\n".join(result_lines(tmp_path, 0))
    assert str(tmp_path / "report.html") in said and "2 as" in said
