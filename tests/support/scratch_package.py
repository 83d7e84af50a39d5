"""A copy of the package with files more, as whoever adds something has it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

REPOSITORY = Path(__file__).resolve().parents[2]


def blocks(page: str, kind: str, section: str | None = None) -> list[str]:
    """Return the blocks of code of one kind (``python``, ``yaml``) in a page of the docs, or in the
    section of a page with that heading.
    """
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    if section is not None:
        (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return [
        dedent(one[1]) for one in re.finditer(rf"^ *```{kind}\n(.*?)^ *```$", text, re.M | re.S)
    ]


def scratch(folder: Path, **files: str) -> None:
    """Write a copy of the package below ``folder``, with further files by their places in it."""
    package = folder / "src" / "revocab"
    shutil.copytree(REPOSITORY / "src" / "revocab", package)  # times are kept: nothing is compiled
    for place, content in files.items():
        assert not (package / place).exists(), place
        (package / place).write_text(content, encoding="utf-8")


def run_scratch(folder: Path, script: str, *arguments: object, at: Path | None = None) -> str:
    """Run a text as Python with the copy, in ``folder`` or ``at``; return what it prints."""
    search = [folder / "src", REPOSITORY / "tests" / "support"]
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=at or folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, search))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
