"""Snakemake's lock: it goes if its holder has ended here, and stays in every other case."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict, replace

import psutil
import pytest

from revocab.errors import RevocabError
from revocab.io import write_json
from revocab.workflow.run import (
    RUN,
    Holder,
    defaults,
    hold_folder,
    is_local,
    lock_files,
    quiet,
    record_holder,
    records,
    remove_dead_locks,
    result_lines,
    run,
    shipped_profiles,
)


@pytest.fixture
def locks(tmp_path):
    """A lock as Snakemake leaves it."""
    folder = tmp_path / ".snakemake/locks"
    folder.mkdir(parents=True)
    for name in ("0.input.lock", "0.output.lock"):
        (folder / name).write_text("results/a\n")
    return folder


@pytest.fixture
def dead(locks) -> Holder:
    """The record of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return Holder(socket.gethostname(), process.pid, 1.0, lock_files(locks))


def write(locks, holder):
    write_json(locks / f"holder-{holder.host}-{holder.process}.json", asdict(holder))


def test_the_lock_of_a_dead_process_goes(locks, dead):
    write(locks, dead)
    assert remove_dead_locks(locks) == [
        f"removed the lock of a run that has ended (process {dead.process})"
    ]
    assert not [*locks.iterdir()]
    assert remove_dead_locks(locks) == []


def test_a_process_that_only_waits_to_be_reaped_does_not_run(locks):
    process = subprocess.Popen(["sleep", "0"], stdout=subprocess.DEVNULL)
    zombie = psutil.Process(process.pid)
    started = zombie.create_time()
    while zombie.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    write(locks, Holder(socket.gethostname(), process.pid, started, lock_files(locks)))
    assert remove_dead_locks(locks)
    process.wait()


def test_of_two_runs_at_one_instant_the_second_names_the_first(tmp_path):
    """Both come before Snakemake has taken its own lock; the hold outlives an exec."""
    locks = tmp_path / ".snakemake/locks"
    script = (
        "import os, sys; from pathlib import Path; from revocab.workflow.run import hold_folder;"
        f"hold_folder(Path({str(locks)!r})); print('held', flush=True);"
        "os.execvp('cat', ['cat'])"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert first.stdout.readline() == b"held\n"
    with pytest.raises(RevocabError) as error:
        hold_folder(locks)
    assert f"process {first.pid}" in str(error.value) and "unlock" not in str(error.value)
    first.communicate()
    hold_folder(locks)


def test_without_a_lock_there_is_nothing_to_remove(tmp_path):
    assert remove_dead_locks(tmp_path / "none") == []


def test_a_number_that_came_again_is_another_process(locks, dead):
    here = psutil.Process()
    write(locks, replace(dead, process=here.pid, started=here.create_time() - 60))
    assert remove_dead_locks(locks)


@pytest.mark.parametrize("what", ["alive", "elsewhere", "unknown", "another"])
def test_every_other_lock_stays(locks, dead, what):
    """Of a live process, of another host, without a record, and taken after the record's own."""
    message = "no record says which process holds 0.input.lock, 0.output.lock"
    if what == "alive":
        here = psutil.Process()
        write(locks, replace(dead, process=here.pid, started=here.create_time()))
        message = f"held by process {here.pid} of this host, which is still running"
    elif what == "elsewhere":
        write(locks, replace(dead, host="another"))
        message = "of host another"
    elif what == "another":
        write(locks, dead)
        (locks / "0.input.lock").unlink()
        (locks / "0.input.lock").write_text("results/b\n")
        os.utime(locks / "0.input.lock", ns=(1, 1))
        message = "no record says which process holds 0.input.lock;"
    before = {one: one.read_text() for one in locks.iterdir()}
    with pytest.raises(RevocabError, match=message):
        remove_dead_locks(locks)
    assert {one: one.read_text() for one in locks.iterdir()} == before


def test_jobs_that_go_on_keep_the_lock(locks, dead):
    write(locks, dead)
    script = "import sys; print('up', flush=True); sys.stdin.read()"
    job = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, RUN: dead.run},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    job.stdout.readline()
    with pytest.raises(RevocabError, match=rf"not all of its jobs \(processes {job.pid}\)"):
        remove_dead_locks(locks)
    job.communicate()
    assert remove_dead_locks(locks)


def test_a_run_records_its_own_lock_alone(locks, monkeypatch):
    monkeypatch.setenv(RUN, "")
    other = Holder("another", 1, 1.0, {"0.input.lock": lock_files(locks)["0.input.lock"]})
    write(locks, other)
    record_holder(locks)
    mine = next(one for one in records(locks).values() if one != other)
    assert mine.host == socket.gethostname() and mine.is_alive and mine.process == os.getpid()
    assert mine.locks == {"0.output.lock": lock_files(locks)["0.output.lock"]}
    assert os.environ[RUN] == mine.run


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
