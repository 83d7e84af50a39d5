"""Half-written files: those of ended processes go, all others stay."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from revocab.folder_claim import FolderClaim
from revocab.temporary import TEMPORARY, clear_files, host_mark, name_beside

from revocab import io
from revocab.output import OutputFolder


@pytest.fixture
def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_name_tells_host_and_process(tmp_path):
    match = TEMPORARY.fullmatch(name_beside(tmp_path / "a.b.json").name)
    assert match["name"] == "a.b.json" and match["state"] == "part"
    assert match["host"] == host_mark() and match["process"] == str(os.getpid())
    assert TEMPORARY.fullmatch(".a.17.json.0123abcd-17.part")["name"] == "a.17.json"
    assert TEMPORARY.fullmatch(".a.part")["process"] is None


def test_the_next_write_clears_what_a_killed_one_has_left(tmp_path):
    file = tmp_path / "a.json"
    killed = (
        "import os, signal\nfrom revocab.io import atomic\n"
        f"with atomic({str(file)!r}) as part:\n"
        "    part.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == -9
    assert [*tmp_path.glob(".a.json.*.part")] and not file.exists()
    io.write_json(file, 1)
    assert [*tmp_path.iterdir()] == [file]


def test_what_may_be_another_one_s_stays(tmp_path, ended, monkeypatch):
    kept = [
        f".a.{host_mark()}-{os.getppid()}.part",  # alive
        f".a.{ended}.part",  # no host: nobody knows whose
        f".b.{host_mark()}-{ended}.part",  # of another file
        f".a.x.{host_mark()}-{ended}.part",
        f".[ab].{host_mark()}-{ended}.part",
        f".a.{host_mark()}-{ended}.old",
    ]
    gone = tmp_path / f".a.{host_mark()}-{ended}.part"
    folder = tmp_path / f".a.{host_mark()}-0{ended}.part"
    folder.mkdir()
    for name in [*kept, gone.name]:
        (tmp_path / name).touch()
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    clear_files(tmp_path / "a")
    assert gone.exists()
    monkeypatch.undo()
    clear_files(tmp_path / "a")
    assert {one.name for one in tmp_path.iterdir()} == {*kept, folder.name}
    clear_files(tmp_path / "[ab]")
    assert {one.name for one in tmp_path.iterdir()} == {*kept, folder.name} - {kept[4]}


def test_a_folder_that_was_whole_and_not_yet_named_is_cleared(tmp_path, ended):
    """Killed between its last claim and its new name; a file of the user's in it stays."""
    for name in ("a", "b"):
        left = tmp_path / f".{name}.{host_mark()}-{ended}.part"
        left.mkdir()
        (left / "own.txt").write_text("own")
        FolderClaim("toy", {"own.txt": 3}).write(left)
        if name == "b":
            (left / "mine.txt").write_text("the user's")
        with OutputFolder(tmp_path / name, "toy").replaced(keeps_job=False) as folder:
            (folder / "new.txt").write_text("new")
    assert not (tmp_path / f".a.{host_mark()}-{ended}.part").exists()
    kept = tmp_path / f".b.{host_mark()}-{ended}.part"
    assert [one.name for one in kept.iterdir()] == ["mine.txt"]
