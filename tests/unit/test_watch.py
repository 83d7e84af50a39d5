"""What is drawn in one place: curves and bars, a terminal of our own, and when a run has ended."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
from contextlib import suppress

import pytest

from revocab.workflow.run import run_in_progress
from revocab.workflow.watch import HIDE, SHOW, bar, curve, fitted, thinned, watch

UP = re.compile(r"\x1b\[(\d+)A")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ""),
        ([2.0], "▁"),
        ([3.0, 3.0], "▁▁"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([5, float("nan"), 1, float("inf")], "█×▁×"),
    ],
)
def test_a_curve_reaches_from_the_least_to_the_greatest(values, expected):
    assert curve(values) == expected


def test_means_of_neighbours():
    assert thinned([1, 2, 3, 4, 5], 2) == [1.5, 4.0]
    assert thinned([1, 2], 5) == [1, 2] and thinned([], 5) == []


def test_a_bar_is_full_at_the_end_alone():
    assert [bar(share, 4) for share in (0, 0.5, 0.999, 1)] == [
        "░░░░ 0 %", "██░░ 50 %", "███░ 99 %", "████ 100 %"
    ]  # fmt: skip


def test_a_frame_is_never_larger_than_the_window():
    assert fitted("abcdef\nb", 4, 3) == ["abc", "b"]
    assert fitted("1\n2\n3\n4", 40, 4) == ["1", "2", "… 2 more lines"]


def screen(text: str) -> list[str]:
    """Return the lines that a terminal shows after ``text``, and where its cursor is: the last."""
    lines, row = [""], 0
    for part in re.split(r"(\x1b\[\d*[AJ]|\x1b\[\?25[lh]|\r?\n|\r)", text):
        if up := UP.fullmatch(part):
            row -= int(up[1])
        elif part == "\x1b[J":
            lines = [*lines[:row], ""]
        elif part.endswith("\n"):
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part and not part.startswith(("\x1b", "\r")):
            lines[row] = part
    assert row == len(lines) - 1
    return lines


@pytest.fixture
def terminal():
    """A pseudo-terminal to write to, and a function that reads what was written."""
    master, slave = os.openpty()
    os.set_blocking(master, False)

    def written() -> str:
        parts = []
        with suppress(BlockingIOError):  # all is read
            while True:
                parts.append(os.read(master, 1 << 16))
        return b"".join(parts).decode()

    with os.fdopen(slave, "w", encoding="utf-8") as out:
        yield out, written
    os.close(master)


def test_frames_take_the_place_of_those_before(terminal):
    out, written = terminal
    frames, turns = iter(["a\nb\nc", "d", "e\nf"]), iter([True, True, True, False])
    out.write("before\n")
    out.flush()
    seen, text = [], ""

    def look() -> str:
        nonlocal text
        text += written()
        seen.append(screen(text))
        return next(frames)

    watch(look, str, lambda: next(turns), out, every=0)
    text += written()
    # What a person saw while each frame was being made, and what is left.
    assert seen == [["before", ""], ["before", "a", "b", "c", ""], ["before", "d", ""]]
    assert "e" in text and screen(text) == ["before", ""]
    assert text.count(HIDE) == text.count(SHOW) == 1


def test_ctrl_c_ends_it_and_leaves_the_terminal_as_it_was(terminal):
    out, written = terminal

    def look() -> str:
        raise KeyboardInterrupt

    watch(look, str, lambda: True, out, every=0)
    assert written().endswith(SHOW)


def test_what_is_no_terminal_gets_nothing():
    out = io.StringIO()
    watch(lambda: pytest.fail("looked"), str, lambda: True, out)
    assert out.getvalue() == ""


def test_a_run_is_over_when_its_process_is(tmp_path):
    locks = tmp_path / "locks"
    assert not run_in_progress(locks)
    held = tmp_path / "revocab-run"
    held.write_text(f"{os.getpid()} of host {socket.gethostname()}\n")
    assert run_in_progress(locks)
    os.utime(held, (1, 1))  # the number was another process's then
    assert not run_in_progress(locks)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    held.write_text(f"{ended.pid} of host {socket.gethostname()}\n")
    assert not run_in_progress(locks)


def test_of_another_host_the_lock_is_believed(tmp_path):
    locks = tmp_path / "locks"
    locks.mkdir()
    holder = {"host": "another", "process": 1, "started": 0.0, "locks": {}}
    (locks / "holder-another-1.json").write_text(json.dumps(holder))
    assert run_in_progress(locks)
