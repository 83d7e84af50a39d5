"""Claimed folders: what is replaced, what comes back, what killed jobs leave, what is not ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from output_verbs import tree
from revocab.folder_claim import (
    JOB_FILE,
    MARKER,
    FolderClaim,
    read_marker,
    remove_own,
    sizes_below,
    strangers,
)
from revocab.temporary import host_mark, name_beside

from revocab import output
from revocab.closed import Job
from revocab.errors import RevocabError
from revocab.output import OutputFolder, ResumableFolder

KIND = "thing"


def fill(out, *names, kind=KIND, **options):
    with OutputFolder(out, kind).replaced(**options) as folder:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name)
    return out


@pytest.fixture
def out(tmp_path):
    return fill(tmp_path / "out", "a", "b/c")


@pytest.fixture
def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


# Replacing a folder ----------------------------------------------------------------------------


def test_a_folder_is_replaced_as_a_whole(out):
    assert read_marker(out) == FolderClaim(KIND, {"a": 1, "b/c": 3})
    fill(out, "a", "d")
    assert [*tree(out.parent)] == ["out", f"out/{MARKER}", "out/a", "out/d"]


def test_a_job_that_fails_leaves_the_old_folder(out, tmp_path):
    before = tree(tmp_path)
    with pytest.raises(KeyboardInterrupt), OutputFolder(out, KIND).replaced() as folder:
        (folder / "a").write_text("new")
        raise KeyboardInterrupt
    assert tree(tmp_path) == before


def test_an_exchange_that_fails_brings_the_old_folder_back(out, tmp_path, monkeypatch):
    before, rename = tree(tmp_path), Path.rename

    def broken(path, target):
        if path.name.endswith(".part"):
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match="No space left"):
        fill(out, "new")
    monkeypatch.undo()
    assert tree(tmp_path) == before


def test_a_file_that_comes_while_the_job_runs_is_kept(out, tmp_path):
    message = "did not write: mine"
    with pytest.raises(RevocabError, match=message), OutputFolder(out, KIND).replaced() as folder:
        (folder / "a").write_text("new")
        (out / "mine").write_text("mine")
    assert [*tree(tmp_path)] == ["out", f"out/{MARKER}", "out/a", "out/b", "out/b/c", "out/mine"]
    assert (out / "a").read_text() == "a"


def test_everything_that_is_wrong_is_said_at_once(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    monkeypatch.chdir(tmp_path / "source")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(RevocabError) as caught:
        OutputFolder(tmp_path, KIND, [Path(), None])
    first, second, third = caught.value.problems
    assert "the current folder, or one above it" in first
    assert "your home folder, or one above it" in second and "holds the input" in third


def test_links_on_the_way_hide_nothing(tmp_path):
    (tmp_path / "real" / "source").mkdir(parents=True)
    (tmp_path / "short").symlink_to(tmp_path / "real")
    for place in ("short/source", "real/source", "short/../real/source"):
        for given in ("short/source", "real/source"):
            with pytest.raises(RevocabError, match="is or holds the input"):
                OutputFolder(tmp_path / place, KIND, [tmp_path / given])
    OutputFolder(tmp_path / "short" / "new", KIND, [tmp_path / "real" / "source"])


def test_results_may_hold_their_tables(tmp_path):
    (tmp_path / "results").mkdir()
    place = tmp_path / "results" / "tables"
    with pytest.raises(RevocabError, match="lies inside the input"):
        OutputFolder(place, KIND, [tmp_path / "results"])
    OutputFolder(place, KIND, around=[tmp_path / "results"])


UNFINISHED = '{"kind": "thing", "files": {}, "writer": true}'


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"kind": "thing"}', UNFINISHED])
def test_a_folder_whose_claim_says_nothing_is_nobodys(out, content):
    """Broken, or left by a killed job under another name."""
    (out / MARKER).write_text(content)
    with pytest.raises(RevocabError, match=f"no {MARKER} that says"):
        OutputFolder(out, KIND)


def test_files_that_are_no_longer_files_are_the_users(out, tmp_path):
    (out / "a").unlink()
    (out / "a").symlink_to(tmp_path)
    assert strangers(out, read_marker(out)) == ["a (changed since it was written)"]


def test_sizes_of_measurements_are_left_out(tmp_path):
    out = fill(tmp_path / "out", "a", "time", varying=("time",))
    assert read_marker(out).files == {"a": 1, "time": None} == sizes_below(out, ("time",))
    (out / "time").write_text("much longer")
    OutputFolder(out, KIND)


def test_removing_leaves_what_is_not_its_own(out):
    (out / "b" / "mine").write_text("mine")
    remove_own(out)
    assert [*tree(out)] == ["b", "b/mine"]


# What killed jobs leave ------------------------------------------------------------------------


def named(path, process, state="part", host=None):
    """Return the temporary name that a process gave to a folder."""
    return path.with_name(f".{path.name}.{host or host_mark()}-{process}.{state}")


def leave(folder, kind=KIND):
    """Make what a killed job leaves beside its folder."""
    folder.mkdir()
    (folder / "half").write_text("half")
    FolderClaim(kind, {}, unfinished=True).write(folder)
    return folder


def test_what_ended_processes_left_is_cleared_and_nothing_else(out, tmp_path, ended):
    alive = os.getppid()
    leave(named(out, ended))
    kept = [
        leave(named(out, alive)),
        leave(named(out, ended, host="0123abcd")),
        leave(named(tmp_path / "other", ended)),
        named(out, f"0{ended}"),
    ]
    kept[-1].mkdir()  # no claim: whoever made it
    (kept[-1] / "x").write_text("x")
    fill(out, "a")
    assert {*tmp_path.iterdir()} == {out, *kept}


def test_a_folder_in_the_way_that_is_not_ours(out, tmp_path):
    (name_beside(out) / "x").mkdir(parents=True)
    before = tree(tmp_path)
    with pytest.raises(RevocabError, match="was not created by this command"):
        fill(out, "new")
    assert tree(tmp_path) == before


def test_a_kill_between_two_renames_loses_nothing(out, tmp_path, ended):
    out.rename(named(out, ended, "old"))
    with pytest.raises(RuntimeError), OutputFolder(out, KIND).replaced():
        raise RuntimeError
    assert [*tree(tmp_path)] == ["out", f"out/{MARKER}", "out/a", "out/b", "out/b/c"]


def test_an_old_folder_beside_a_new_one_goes(out, tmp_path, ended):
    fill(named(out, ended, "old"), "a")
    fill(out, "new")
    assert [*tree(tmp_path)] == ["out", f"out/{MARKER}", "out/new"]


KILLED = """
import sys, time
from pathlib import Path
from revocab.output import OutputFolder
with OutputFolder(Path(sys.argv[1]), "thing").replaced() as folder:
    (folder / "new").write_text("new")
    print("there", flush=True)
    time.sleep(60)
"""


def test_a_killed_job_leaves_the_old_folder_and_the_next_one_clears_up(out, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, out], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "there\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (out / "a").is_file() and len([*tmp_path.iterdir()]) == 2
    fill(out, "b")
    assert [*tree(tmp_path)] == ["out", f"out/{MARKER}", "out/b"]


def test_a_job_that_is_resumed_goes_on_from_what_is_there(out, tmp_path):
    def start(job):
        with OutputFolder(out, KIND).replaced(job=job, resume=True) as folder:
            seen = sorted(path.name for path in folder.iterdir())
            (folder / job).write_text(job)
            raise RuntimeError(",".join(seen))

    for job, seen in (("x", MARKER), ("x", f"{MARKER},x"), ("y", MARKER), ("y", f"{MARKER},y")):
        with pytest.raises(RuntimeError, match=f"^{seen}$"):
            start(job)
    assert (out / "a").is_file()
    with OutputFolder(out, KIND).replaced(job="y", resume=True):
        pass
    assert [*tree(tmp_path)] == ["out", f"out/{MARKER}", "out/y"]
    assert read_marker(out) == FolderClaim(KIND, {"y": 1}, "y")


# Folders that are written in place -------------------------------------------------------------


def held(path, *names, **options):
    folder = ResumableFolder(path, KIND, names=names, **options)
    folder.hold()
    return folder


def test_a_name_that_is_there_and_not_ours_is_never_taken(tmp_path):
    held(tmp_path / "out", "a")
    (tmp_path / "out" / "b").write_text("mine")
    with pytest.raises(RevocabError, match="did not write: b"):
        held(tmp_path / "out", "a", "b")


def test_files_of_an_earlier_job_go_when_the_next_one_is_finished(tmp_path):
    first = held(tmp_path / "out", "a", "b/c")
    for name in ("a", "b/c"):
        (first.path / name).parent.mkdir(exist_ok=True)
        (first.path / name).write_text(name)
    second = held(tmp_path / "out", "a", "d")
    assert (first.path / "b/c").is_file()  # a killed job may still go on from it
    second.finish()
    assert [*tree(first.path)] == [MARKER, "a"]
    assert set(read_marker(first.path).files) == {"a", "d", JOB_FILE}


def test_parts_are_removed_and_other_jobs_folders_are_not(tmp_path):
    options = {"parts": {"parts": "part"}, "neighbours": ("scores*",)}
    folder = held(tmp_path / "out", "a", **options)
    for name, kind in (("parts/1", "part"), ("parts/2", "part"), ("parts/x", "other"), ("o", "o")):
        fill(folder.path / name, "file", kind=kind)
    (folder.path / "scores.csv").write_text("scores")
    folder.check()
    folder.remove("parts", "a")
    left = {name for name, content in tree(folder.path).items() if content is not None}
    claims = {f"{name}/{MARKER}" for name in ("o", "parts/x")}
    assert left == {MARKER, "scores.csv", "o/file", "parts/x/file", *claims}
    fill(folder.path / "parts/3", "file", kind="part")
    (folder.path / "parts/3/notes").write_text("mine")
    (folder.path / "parts/4").mkdir()
    (folder.path / "parts/4/notes").write_text("mine")
    with pytest.raises(RevocabError, match="did not write: parts/3/notes, parts/4/notes"):
        folder.check()


def test_half_written_files_of_our_own_are_cleared(tmp_path):
    folder = held(tmp_path / "out", "a", parts={"parts": "part"})
    named(folder.path / "a", 123, host="0123abcd").write_text("half")
    (folder.path / "parts").mkdir()
    leave(named(folder.path / "parts/1", 123, host="0123abcd"), "part")
    held(tmp_path / "out", "a", parts={"parts": "part"})
    assert [*tree(folder.path)] == [MARKER, "parts"]


@pytest.mark.parametrize("write", [fill, held])
def test_what_a_rule_made_is_replaced_by_rules_alone(tmp_path, write):
    """By hand it may be another job's, and a table would show its numbers under a wrong name."""
    out = tmp_path / "results" / "init"
    write(out, "a")  # by hand, before
    with output.asked_for("init_embeddings", Job(), by_rule=True):
        write(out, "a")
    before = tree(tmp_path)
    for context in (nullcontext(), output.asked_for("init_embeddings", Job())):
        with pytest.raises(RevocabError, match="a job of the workflow"), context:
            write(out, "a")
    assert tree(tmp_path) == before
    with output.asked_for("init_embeddings", Job(), by_rule=True):
        write(out, "a")


def test_a_disk_that_fills_while_claiming(tmp_path, monkeypatch):
    monkeypatch.setattr(
        output.FolderClaim, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(OSError, match="No space"):
        fill(tmp_path / "out", "a")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("claiming", [False, True])
def test_a_job_killed_before_its_claim_stood_is_no_hindrance(tmp_path, ended, claiming):
    """The folder beside the output, and a part of a folder that is written in place."""
    folder = held(tmp_path / "out", "a", parts={"parts": "part"})
    left = [named(folder.path / "parts/step-000007", ended), named(tmp_path / "whole", ended)]
    for place in left:
        place.mkdir(parents=True)
        if claiming:
            named(place / MARKER, ended).write_text("{")
    folder.check()
    folder.hold()
    fill(tmp_path / "whole", "x")
    assert not any(place.exists() for place in left)


def test_a_folder_of_the_user_with_such_a_name_is_left_alone(tmp_path):
    folder = held(tmp_path / "out", "a", parts={"parts": "part"})
    mine = named(folder.path / "parts/step-000007", 17)
    mine.mkdir(parents=True)
    (mine / "notes.txt").write_text("mine")
    with pytest.raises(RevocabError, match=r"notes\.txt"):
        folder.check()
    assert (mine / "notes.txt").read_text() == "mine"
