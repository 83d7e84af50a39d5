"""The version is that of the tag, and the pages that name it agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

import revocab

REPOSITORY = Path(__file__).resolve().parents[2]


def version_of(folder: Path) -> str:
    command = [sys.executable, "-m", "setuptools_scm"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def cited() -> dict[str, Any]:
    return yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, check=True)


def test_a_tag_is_the_version_and_an_archive_has_the_cited(tmp_path):
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    assert version_of(tmp_path) == cited()["version"]
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "pyproject.toml")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    git(tmp_path, "tag", "v2.3.4")
    assert version_of(tmp_path) == "2.3.4"
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "second")
    assert version_of(tmp_path).startswith("2.3.5.dev1+g")


def test_the_newest_version_of_the_changelog_is_the_cited():
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.M)
    assert versions[0] == (cited()["version"], str(cited()["date-released"]))
    assert versions == sorted(versions, reverse=True)
    assert revocab.__version__
