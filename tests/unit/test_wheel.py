"""The package as installed somewhere else, without the checkout: what `pip install` gives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from revocab.io import write_jsonl

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("envs", "profiles", "workflow")
#: What a run reads of a checkout.
WORKFLOW = (
    "Snakefile",
    *(
        str(file.relative_to(REPOSITORY))
        for folder in FOLDERS
        for file in (REPOSITORY / folder).rglob("*.*")
        if file.is_file()
    ),
)
EXPERIMENT = """
experiment: mine
title: Text of mine
seed: 1
corpora:
  text: {language: it, source: {path: text.jsonl}, heldout_bytes: 200}
tokenizers:
  small: {train: {corpora: {text: 1.0}, alphabet: byte_fallback, vocabulary_size: 300}}
models: {}
recipes: {}
runs: {}
fertility: {tokenizers: [small], corpora: [text]}
tables: {fertility: {kind: fertility, title: Tokens per word}}
"""


def build(folder: Path) -> Path:
    """Build the wheel from a copy, so that nothing is left in the checkout; return its contents."""
    copy, wheels, contents = folder / "copy", folder / "wheels", folder / "contents"
    shutil.copytree(
        REPOSITORY / "src" / "revocab",
        copy / "src" / "revocab",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", *WORKFLOW):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, copy / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(wheels), "."]
    subprocess.run(command, cwd=copy, check=True)
    with zipfile.ZipFile(next(wheels.glob("revocab-*.whl"))) as wheel:
        wheel.extractall(contents)
    return contents


@pytest.fixture(scope="module")
def contents(tmp_path_factory) -> Path:
    """The files of the wheel."""
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def run(contents, tmp_path) -> Callable[..., str]:
    """Run Python with the wheel, in a folder that has nothing of the checkout."""

    def call(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(contents)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        return done.stdout

    return call


def test_the_wheel_has_every_file_of_the_package(contents):
    kept = {file.relative_to(contents / "revocab") for file in (contents / "revocab").rglob("*.*")}
    for file in (REPOSITORY / "src" / "revocab").rglob("*.*"):
        if file.suffix in {".py", ".yaml", ".j2", ".typed"}:
            assert file.relative_to(REPOSITORY / "src" / "revocab") in kept


def test_the_wheel_has_every_file_of_the_workflow(contents):
    folder = contents / "revocab" / "dag"
    shipped = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert shipped == {*WORKFLOW}


def test_an_experiment_runs_in_an_empty_folder_by_the_wheel_alone(contents, run, tmp_path):
    texts = [f"il gatto {n} è a casa, il cane legge {n * n} libri in giardino" for n in range(90)]
    write_jsonl(tmp_path / "text.jsonl", [{"text": text} for text in texts])
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    run("-m", "revocab", "run", "mine.yaml", "--cores", "1")
    report = (tmp_path / "results/mine/report.html").read_text(encoding="utf-8")
    assert "Tokens per word" in report
    assert {file.name for file in tmp_path.iterdir()} == {
        ".snakemake", "mine.yaml", "resources", "results", "text.jsonl"
    }  # fmt: skip
