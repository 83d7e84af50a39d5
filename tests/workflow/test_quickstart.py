"""The quick start, word for word: the commands of docs/quickstart.md in an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long


def commands(repository) -> list[list[str]]:
    """Return the commands of the first block of the page."""
    page = (repository / "docs/quickstart.md").read_text(encoding="utf-8")
    block = re.search(r"^```\n(.*?)^```$", page, re.M | re.S)
    return [shlex.split(line) for line in block[1].splitlines()]


def run(words: list[str], folder) -> str:
    assert words[0] == "revocab"
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_the_quick_start_runs_as_printed(repository, tmp_path):
    adapt, compare = commands(repository)
    said = run(adapt, tmp_path)
    assert "it: bits per byte, end" in said
    # What it tells to do next is what the page does.
    assert shlex.join(compare[:4]) in said
    assert (tmp_path / compare[3] / "README.md").is_file()
    verdict = run(compare, tmp_path)
    assert "**The new model is better" in verdict
    # Read from the table: fewer tokens, and less loss for the same bytes.
    rows = {line.split("|")[1].strip(): line for line in verdict.splitlines() if "|" in line}
    ratio = {name: float(row.split("|")[4]) for name, row in rows.items() if name[:6] == "tokens"}
    assert ratio["tokens"] < 1 and ratio["tokens per word"] < 1
