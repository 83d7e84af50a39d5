"""The package as installed somewhere else, without the checkout: what `pip install` gives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def build(folder: Path) -> Path:
    """Build the wheel from a copy, so that nothing is left in the checkout; return its contents."""
    copy, wheels, contents = folder / "copy", folder / "wheels", folder / "contents"
    shutil.copytree(
        REPOSITORY / "src" / "revocab",
        copy / "src" / "revocab",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(wheels), "."]
    subprocess.run(command, cwd=copy, check=True)
    with zipfile.ZipFile(next(wheels.glob("revocab-*.whl"))) as wheel:
        wheel.extractall(contents)
    return contents


def test_a_model_is_adapted_by_the_wheel_alone(toys, tmp_path):
    contents = build(tmp_path)
    kept = {file.relative_to(contents / "revocab") for file in (contents / "revocab").rglob("*.*")}
    for file in (REPOSITORY / "src" / "revocab").rglob("*.*"):
        if file.suffix in {".py", ".yaml", ".j2", ".typed"}:
            assert file.relative_to(REPOSITORY / "src" / "revocab") in kept
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        environment = os.environ | {"PYTHONPATH": str(contents)}
        done = subprocess.run(
            command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        assert not done.returncode, done.stderr
        return done.stdout

    assert run("-c", "import revocab; print(revocab.__file__)").startswith(str(contents))
    run(
        *("-m", "revocab", "init", "--source", str(toys / "untied")),
        *("--target-tokenizer", str(toys / "target-tokenizer")),
        *("--method", "fvt", "--out", "adapted"),
    )
    assert (elsewhere / "adapted" / "model.safetensors").is_file()
    assert (elsewhere / "adapted" / "diagnostics.png").is_file()
