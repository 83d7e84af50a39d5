"""Comparing what two states of the code write: files, and whole runs of a tiny workflow."""

from __future__ import annotations

import gzip
import json
import subprocess

import pytest
import same_bytes
from compared_results import pair_up

TABLES = {"experiment": {"tables": {"t1": {"kind": "scores"}, "t2": {"kind": "efficiency"}}}}
REPORT = (
    '<section><div class="block" id="t1">{0}</div>\n<div class="block" id="t2">{1}</div></section>'
    '<section id="timings">{1}</section>'
)


def write(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.fixture
def runs(tmp_path):
    """Results of two states that agree in everything but what was measured."""
    for number, name in enumerate(("old", "new")):
        folder = tmp_path / name
        write(folder, "results/README.md", name)
        write(folder, "results/x/experiment.json", json.dumps(TABLES))
        write(folder, "results/x/tables/t1.csv", "a,b\n1,2\n")
        write(folder, "results/x/tables/t2.csv", f"seconds\n{number}\n")
        write(folder, "results/x/report.html", REPORT.format("1", number))
        write(folder, "results/x/runs/r/timing.json", str(number))
        write(folder, "results/x/runs/r/.revocab.json", str(number))
        write(folder, "results/x/logs/r.log", str(number))
        write(folder, "results/x/packed/p/tokens.npy", b"\0\1")
        write(folder, "resources/x/a.jsonl.gz", gzip.compress(b"{}\n", mtime=0))
    return tmp_path / "old", tmp_path / "new"


def states(old, new, moved=None, ignored=()):
    return {one.name: one.state() for one in pair_up(old, new, moved or {}, ignored)}


def test_measured_times_do_not_count(runs):
    assert states(*runs) == dict.fromkeys(
        [
            "resources/x/a.jsonl.gz",
            "results/x/experiment.json",
            "results/x/packed/p/tokens.npy",
            "results/x/report.html",
            "results/x/tables/t1.csv",
        ],
        "same",
    )


def test_every_other_change_is_found(runs):
    old, new = runs
    write(new, "results/x/tables/t1.csv", "a,b\n1,3\n")
    write(new, "results/x/report.html", REPORT.format("other", "0"))
    write(new, "results/x/packed/p/tokens.npy", b"\0\2")
    write(new, "results/x/figures/f.svg", "<svg/>")
    (new / "resources/x/a.jsonl.gz").unlink()
    found = pair_up(old, new, {})
    assert {one.name: (one.kind, one.state()) for one in found} == {
        "resources/x/a.jsonl.gz": ("text and tasks", "only old"),
        "results/x/experiment.json": ("manifests and notes", "same"),
        "results/x/figures/f.svg": ("figures", "only new"),
        "results/x/packed/p/tokens.npy": ("packed data", "different"),
        "results/x/report.html": ("report", "different"),
        "results/x/tables/t1.csv": ("tables", "different"),
    }


def test_moved_and_ignored_files(runs):
    old, new = runs
    (new / "results/x").rename(new / "results/y")
    assert set(states(old, new).values()) == {"same", "only old", "only new"}
    moved = states(old, new, {"results/x": "results/y"})
    assert set(moved.values()) == {"same"} and "results/y/tables/t1.csv" in moved
    one = {"results/x/tables/t1.csv": "results/y/tables/t1.csv"}
    assert states(old, new, one)["results/y/tables/t1.csv"] == "same"
    assert "only old" not in states(old, new, ignored=["results/x/*"]).values()


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
