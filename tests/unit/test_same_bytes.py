"""Comparing what two states of the code write, by runs of a tiny workflow."""

from __future__ import annotations

import subprocess

import pytest
import same_bytes


def write(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


SNAKEFILE = """
rule all:
    output: "results/x/tables/t1.csv", "results/x/runs/timing.json"
    shell:
        "test ! -e {workflow.basedir}/broken && cp value.txt {output[0]} "
        "&& date +%s%N > {output[1]} && date +%s%N >> ../runs"
"""


@pytest.fixture
def repository(tmp_path):
    """A repository whose workflow copies a file that git holds, and notes that it ran."""
    folder = tmp_path / "repository"
    write(folder, "Snakefile", SNAKEFILE)
    write(folder, "config.yaml", "{}")
    write(folder, "value.txt", "1\n")
    write(folder, ".gitignore", "results\n.snakemake\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return folder


def test_two_states_of_a_workflow(repository, tmp_path, capsys):
    def compare():
        return same_bytes.main(["HEAD", *fixed])

    def runs():
        return sum(len(path.read_text().split()) for path in cache.glob("*/runs"))

    def status():
        command = ["git", "status", "--short"]
        return subprocess.run(command, cwd=repository, check=True, capture_output=True).stdout

    cache = tmp_path / "cache"
    fixed = ["--repository", str(repository), "--cache", str(cache), "--config", "config.yaml"]
    assert compare() == 0  # the same content: one run for both
    assert runs() == 1
    write(repository, "value.txt", "2\n")  # neither added nor committed
    write(repository, "broken", "")
    before = status()
    assert compare() == 2
    assert "the demo failed" in capsys.readouterr().err
    (broken,) = [path for path in cache.iterdir() if not (path / "done.json").exists()]
    (broken / "checkout/broken").unlink()
    assert compare() == 1  # a run that was stopped goes on
    assert "t1.csv: different, line 1\n  - 1\n  + 2" in capsys.readouterr().out
    assert runs() == 2  # that of HEAD was kept
    assert status() == before and not (repository / "results").exists()
