"""Marked folders: what is replaced, what comes back, what killed jobs leave, what is not ours."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from output_verbs import tree

from revocab import io, output
from revocab.__main__ import main
from revocab.closed import Job
from revocab.corpora.prepare import CorpusJob
from revocab.errors import RevocabError
from revocab.io import TEMPORARY, host_mark, name_beside
from revocab.marker import MARKER, Marked, Marker, Stamp, hashes_of, made_by, mark_file, read_marker
from revocab.output import UNFINISHED, OutputFolder, ResumableFolder, remove_own, strangers

KIND = "thing"
PARTS = {"parts": {"parts": "part"}}


def fill(out, *names, kind=KIND, **options):
    with OutputFolder(out, kind).replaced(**options) as folder:
        for name in names:
            io.write_text(folder / name, name)
    return out


def held(path, *names, **options):
    folder = ResumableFolder(path, KIND, names=names, **options)
    folder.hold()
    return folder


def names_in(folder):
    return [name for name, content in tree(folder).items() if content is not None]


@pytest.fixture
def out(tmp_path):
    return fill(tmp_path / "out", "a", "b/c")


@pytest.fixture
def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


# Replacing a folder ----------------------------------------------------------------------------


def test_a_folder_is_replaced_as_a_whole(out):
    assert read_marker(out) == Marker(
        kind=KIND, files={name: Stamp.of(out / name) for name in ("a", "b/c")}
    )
    fill(out, "a", "d")
    assert names_in(out) == [MARKER, "a", "d"]


@pytest.mark.parametrize("broken", ["block", "rename", "marker"])
def test_a_job_that_fails_leaves_the_old_folder(out, tmp_path, monkeypatch, broken):
    before, rename = tree(tmp_path), Path.rename

    def full(path, *rest):
        if broken == "marker" or path.name.endswith(".part"):
            raise OSError(28, "No space left on device")
        return rename(path, *rest)

    if broken != "block":
        owner = Path if broken == "rename" else Marker
        monkeypatch.setattr(owner, "rename" if broken == "rename" else "write", full)
    with pytest.raises((KeyboardInterrupt, OSError)), OutputFolder(out, KIND).replaced() as folder:
        (folder / "a").write_text("new")
        if broken == "block":
            raise KeyboardInterrupt
    monkeypatch.undo()
    assert tree(tmp_path) == before


def test_a_file_that_comes_while_the_job_runs_is_kept(out):
    message = "did not write: mine"
    with pytest.raises(RevocabError, match=message), OutputFolder(out, KIND).replaced() as folder:
        (folder / "a").write_text("new")
        (out / "mine").write_text("mine")
    assert names_in(out.parent) == [f"out/{name}" for name in (MARKER, "a", "b/c", "mine")]
    assert (out / "a").read_text() == "a"


def test_everything_that_is_wrong_is_said_at_once(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    monkeypatch.chdir(tmp_path / "source")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(RevocabError) as caught:
        OutputFolder(tmp_path, KIND, [Path(), None])
    first, second, third = caught.value.problems
    assert "current folder" in first and "home folder" in second and "the input" in third


def test_links_on_the_way_hide_nothing(tmp_path):
    (tmp_path / "real" / "source").mkdir(parents=True)
    (tmp_path / "short").symlink_to(tmp_path / "real")
    for place in ("short/source", "real/source", "short/../real/source"):
        for given in ("short/source", "real/source"):
            with pytest.raises(RevocabError, match="is or holds the input"):
                OutputFolder(tmp_path / place, KIND, [tmp_path / given])
    OutputFolder(tmp_path / "short" / "new", KIND, [tmp_path / "real" / "source"])
    with pytest.raises(RevocabError, match="lies inside the input"):
        OutputFolder(tmp_path / "real/source/tables", KIND, [tmp_path / "real/source"])
    OutputFolder(tmp_path / "real/source/tables", KIND, around=[tmp_path / "real/source"])


BEGUN = json.dumps({"kind": KIND, "files": UNFINISHED})


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"kind": "thing", "files": 1}', BEGUN])
def test_a_folder_whose_marker_says_nothing_is_nobodys(out, content):
    """Broken, or left by a killed job under another name."""
    (out / MARKER).write_text(content)
    with pytest.raises(RevocabError, match=f"no {MARKER} that says"):
        OutputFolder(out, KIND)


def test_what_an_earlier_version_wrote_is_its_own(tmp_path):
    """It knew sizes alone, and called what is resumed a job."""
    out = tmp_path / "out"
    io.write_text(out / "a", "a")
    io.write_json(out / MARKER, {"kind": KIND, "job": {"x": 1}, "by_rule": True, "files": {"a": 1}})
    assert read_marker(out).of == {"x": 1} and read_marker(out).stamp("a").fits(out / "a")
    assert names_in(fill(out, "b")) == [MARKER, "b"]


def test_files_that_are_no_longer_ours_stay(out, tmp_path):
    (out / "a").unlink()
    (out / "a").symlink_to(tmp_path)
    assert strangers(out, read_marker(out)) == ["a (changed since it was written)"]
    (out / "b" / "mine").write_text("mine")
    remove_own(out)
    assert names_in(out) == ["b/mine"]


# What killed jobs leave ------------------------------------------------------------------------


def named(path, process, state="part", host=None):
    """Return the temporary name that a process gave to a folder."""
    return path.with_name(f".{path.name}.{host or host_mark()}-{process}.{state}")


def leave(folder, kind=KIND):
    """Make what a killed job leaves beside its folder."""
    io.write_text(folder / "half", "half")
    Marker(kind=kind, files=UNFINISHED).write(folder / MARKER)
    return folder


def test_what_ended_processes_left_is_cleared_and_nothing_else(out, tmp_path, ended):
    alive = os.getppid()
    leave(named(out, ended))
    whole = fill(named(out, f"00{ended}"), "own")  # and not yet renamed
    (whole / "mine").write_text("mine")
    stays = [
        whole,
        leave(named(out, alive)),
        leave(named(out, ended, host="0123abcd")),
        leave(named(tmp_path / "other", ended)),
        named(out, f"0{ended}"),
    ]
    io.write_text(stays[-1] / "x", "x")  # no marker: whoever made it
    fill(out, "a")
    assert {*tmp_path.iterdir()} == {out, *stays} and names_in(whole) == ["mine"]
    io.write_text(name_beside(out) / "x", "x")
    before = tree(tmp_path)
    with pytest.raises(RevocabError, match="was not created by this command"):
        fill(out, "new")
    assert tree(tmp_path) == before


def test_a_kill_between_two_renames_loses_nothing(out, tmp_path, ended):
    out.rename(named(out, ended, "old"))
    with pytest.raises(RuntimeError), OutputFolder(out, KIND).replaced():
        raise RuntimeError
    assert names_in(tmp_path) == [f"out/{name}" for name in (MARKER, "a", "b/c")]
    fill(named(out, ended, "old"), "a")
    fill(out, "new")
    assert names_in(tmp_path) == [f"out/{MARKER}", "out/new"]


KILLED = """
import os, signal, sys
from pathlib import Path
from revocab.io import atomic
from revocab.output import OutputFolder
out = Path(sys.argv[1])
with atomic(out / "a.json") if sys.argv[2] else OutputFolder(out, "thing").replaced() as part:
    (part if sys.argv[2] else part / "new").write_text("new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("single", ["", "file"])
def test_a_killed_job_leaves_the_old_one_and_the_next_clears_up(out, tmp_path, single):
    before = tree(out)
    killed = subprocess.run([sys.executable, "-c", KILLED, out, single], check=False)
    assert killed.returncode == -signal.SIGKILL and before.items() <= tree(out).items()
    if single:
        assert [*out.glob(".a.json.*.part")]
        io.write_json(out / "a.json", 1)
        assert not [*out.glob(".a.json.*.part")]
    else:
        assert len([*tmp_path.iterdir()]) == 2
        fill(out, "b")
        assert names_in(tmp_path) == [f"out/{MARKER}", "out/b"]


def test_half_written_files_that_may_be_another_one_s_stay(tmp_path, ended, monkeypatch):
    stays = [
        f".a.{host_mark()}-{os.getppid()}.part",  # alive
        f".a.{ended}.part",  # no host: nobody knows whose
        f".b.{host_mark()}-{ended}.part",  # of another file
        f".a.x.{host_mark()}-{ended}.part",
        f".[ab].{host_mark()}-{ended}.part",
        f".a.{host_mark()}-{ended}.old",
    ]
    gone = tmp_path / f".a.{host_mark()}-{ended}.part"
    (tmp_path / f".a.{host_mark()}-0{ended}.part").mkdir()
    for name in [*stays, gone.name]:
        (tmp_path / name).touch()
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    io.write_text(tmp_path / "a", "a")
    assert gone.exists()
    monkeypatch.undo()
    io.write_text(tmp_path / "a", "a")
    left = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert left == {*stays, "a"} and len([*tmp_path.iterdir()]) == len(left) + 1
    match = TEMPORARY.fullmatch(name_beside(tmp_path / "a.b.json").name)
    assert match["name"] == "a.b.json" and match["process"] == str(os.getpid())


def test_a_job_that_is_resumed_goes_on_from_what_is_there(out):
    def start(job):
        with OutputFolder(out, KIND).replaced(of=job, resume=True) as folder:
            seen = sorted(path.name for path in folder.iterdir())
            (folder / job).write_text(job)
            raise RuntimeError(",".join(seen))

    for job, seen in (("x", MARKER), ("x", f"{MARKER},x"), ("y", MARKER), ("y", f"{MARKER},y")):
        with pytest.raises(RuntimeError, match=f"^{seen}$"):
            start(job)
    assert (out / "a").is_file()
    with OutputFolder(out, KIND).replaced(of="y", resume=True):
        pass
    assert names_in(out.parent) == [f"out/{MARKER}", "out/y"]
    assert read_marker(out) == Marker(kind=KIND, files={"y": Stamp.of(out / "y")}, of="y")


# Folders that are written in place -------------------------------------------------------------


def test_files_of_an_earlier_job_go_when_the_next_one_is_finished(tmp_path):
    first = held(tmp_path / "out", "a", "b/c", "e*")
    for name in ("a", "b/c", "e1"):
        io.write_text(first.path / name, name)
    (tmp_path / "out" / "d").write_text("mine")
    with pytest.raises(RevocabError, match="did not write: d"):
        held(tmp_path / "out", "a", "d")
    (tmp_path / "out" / "d").unlink()
    second = held(tmp_path / "out", "a", "d", "e*")
    assert (first.path / "b/c").is_file()  # a killed job may still go on from it
    assert not read_marker(first.path).finished
    second.finish()
    assert names_in(first.path) == [MARKER, "a", "e1"]
    assert {*read_marker(first.path).files} == {"a", "e1"} and read_marker(first.path).finished


def test_parts_are_removed_and_other_jobs_folders_are_not(tmp_path):
    folder = held(tmp_path / "out", "a", **PARTS, neighbours=("scores*",))
    for name, kind in (("parts/1", "part"), ("parts/2", "part"), ("parts/x", "other"), ("o", "o")):
        fill(folder.path / name, "file", kind=kind)
    (folder.path / "scores.csv").write_text("scores")
    folder.check()
    folder.finish()
    assert {*read_marker(folder.path).files} == {"parts/1/file", "parts/2/file"}
    folder.remove("parts", "a")
    markers = {f"{name}/{MARKER}" for name in ("o", "parts/x")}
    assert {*names_in(folder.path)} == {MARKER, "scores.csv", "o/file", "parts/x/file", *markers}
    fill(folder.path / "parts/3", "file", kind="part")
    for name in ("parts/3", "parts/4"):
        io.write_text(folder.path / name / "notes", "mine")
    with pytest.raises(RevocabError, match="did not write: parts/3/notes, parts/4/notes"):
        folder.check()


@pytest.mark.parametrize("write", [fill, held])
def test_what_a_rule_made_is_replaced_by_rules_alone(tmp_path, write):
    """By hand it may be another job's, and a table would show its numbers under a wrong name."""
    out = tmp_path / "results" / "init"
    write(out, "a")  # by hand, before
    with made_by("init_embeddings", Job(), "init_embeddings--r"):
        write(out, "a")
    before = tree(tmp_path)
    with pytest.raises(RevocabError, match="a job of the workflow"):
        write(out, "a")
    by_hand = made_by("init_embeddings", Job())
    with pytest.raises(RevocabError, match="a job of the workflow"), by_hand:
        write(out, "a")
    assert tree(tmp_path) == before
    with made_by("init_embeddings", Job(), "init_embeddings--r"):
        write(out, "a")


@pytest.mark.parametrize("begun", [False, True])
def test_a_job_killed_before_its_marker_stood_is_no_hindrance(tmp_path, ended, begun):
    """The folder beside the output, and a part of a folder that is written in place."""
    folder = held(tmp_path / "out", "a", **PARTS)
    left = [named(folder.path / "parts/step-000007", ended), named(tmp_path / "whole", ended)]
    for place in left:
        place.mkdir(parents=True)
        if begun:
            named(place / MARKER, ended).write_text("{")
    named(folder.path / "a", 123, host="0123abcd").write_text("half")
    leave(named(folder.path / "parts/1", 123, host="0123abcd"), "part")
    folder.check()
    folder.hold()
    fill(tmp_path / "whole", "x")
    assert not any(place.exists() for place in left)
    assert [*tree(folder.path)] == [MARKER, "parts"]


def test_a_folder_of_the_user_with_such_a_name_is_left_alone(tmp_path):
    folder = held(tmp_path / "out", "a", **PARTS)
    mine = named(folder.path / "parts/step-000007", 17)
    io.write_text(mine / "notes.txt", "mine")
    with pytest.raises(RevocabError, match=r"notes\.txt"):
        folder.check()
    assert (mine / "notes.txt").read_text() == "mine"


# What jobs of the workflow read and write ------------------------------------------------------


def test_a_marker_has_all_that_it_takes_to_ask_for_the_same_again(tmp_path):
    io.write_jsonl(tmp_path / "a.jsonl", [{"text": "uno"}, {"text": "due"}])
    words = ["--corpus", "c", "--language", "it", "--files", str(tmp_path / "a.jsonl")]
    main(["prepare", *words, "--out", str(tmp_path / "out")])
    marker = read_marker(tmp_path / "out")
    assert marker.command == "prepare_corpus" and str(tmp_path) not in str(marker)
    job = CorpusJob.model_validate(marker.job)
    again = ["--options", job.canonical(), "--job", "prepare_corpus c", *words[-2:]]
    main(["prepare", *again, "--out", str(tmp_path / "out")])
    rule = read_marker(tmp_path / "out")
    assert (rule.job, rule.name, rule.files) == (marker.job, "prepare_corpus--c", marker.files)


def test_what_is_read_is_compared_whatever_its_time_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_hand, out, file = Path("by-hand"), Path("out"), Path("x/scores.csv")
    fill(by_hand, "a")
    with made_by("build_tokenizer", Job(), "build_tokenizer--t"):
        fill(out, "a", "b/c")
        for path in (file, Path("x/scores_items.jsonl.gz")):
            io.write_text(path, "1")
        mark_file(file)
    (by_hand / "a").write_text("b")  # a person's own, who may change it
    read = hashes_of(
        [by_hand, out / "b/c", out / "b", Path("nowhere"), *Path("x").glob("s*")], "small"
    )
    assert sorted(read) == ["out/b/c", "x/scores.csv", "x/scores_items.jsonl.gz"]
    for place in (out / "b/c", Path("x/scores_items.jsonl.gz")):
        content, time = place.read_bytes(), place.stat().st_mtime_ns
        place.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        os.utime(place, ns=(time, time))
        with pytest.raises(RevocabError, match=f"{place}: not as the job build_tokenizer t"):
            hashes_of([out, *Path("x").glob("s*")], "small")
        place.unlink()
        with pytest.raises(RevocabError, match=f"{place} is missing"):
            hashes_of([place], "small")
        place.write_bytes(content)
    assert Marked.find(file).advice.endswith("--forcerun x/scores.csv")
    assert output.read_marker(out).inputs == {}
