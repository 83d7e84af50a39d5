"""Fixtures of the unit tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import hub_server
import pytest
import yaml
from construction_toys import base_tokenizers, prepared


@pytest.fixture(scope="session")
def bases(tmp_path_factory) -> dict[str, Path]:
    """A folder of a tokenizer of each family (only read)."""
    return base_tokenizers(tmp_path_factory.mktemp("bases"))


@pytest.fixture(scope="session")
def corpora(tmp_path_factory) -> dict[str, Path]:
    """A prepared corpus of each language that constructions are built from (only read)."""
    return prepared(tmp_path_factory.mktemp("corpora"))


@pytest.fixture
def demo(repository, monkeypatch) -> dict:
    """The values of config/demo.yaml, from a repository that is the current folder."""
    monkeypatch.chdir(repository)
    return yaml.safe_load(Path("config/demo.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def hub(root):
    """A local Hub over the folder ``root``, which the test's own file fills."""
    with hub_server.serve(root) as server:
        yield server


@pytest.fixture(scope="session")
def call(repository) -> Callable[..., subprocess.CompletedProcess]:
    """Run one of the project's Python files with an interpreter, on one thread."""

    def run(python: str, file: str, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [python, file, *map(str, arguments)],
            cwd=repository,
            env={**os.environ, "PYTHONPATH": str(repository / "src"), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
