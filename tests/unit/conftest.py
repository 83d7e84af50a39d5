"""Fixtures of the unit tests."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hub_cache
import pytest
import yaml
from construction_toys import base_tokenizers, prepared

from revocab import cli
from revocab.verbs import find


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
    """The values of config/demos/demo.yaml, from a repository that is the current folder."""
    monkeypatch.chdir(repository)
    return yaml.safe_load(Path("config/demos/demo.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def hub(root, tmp_path):
    """The cache's folder of repositories, those below ``root`` of the test's own file; offline."""
    with hub_cache.offline(root, tmp_path / "hub-home") as cache:
        yield cache


@pytest.fixture(scope="session")
def job() -> Callable[..., None]:
    """Run a job in this process, with the words of its command line."""

    def run(name: str, *words: object) -> None:
        cli.call(find(name), [*map(str, words)], name)

    return run


@pytest.fixture(scope="session")
def full_disk() -> Callable:
    """In the block no file of this process grows beyond ``size`` bytes, as on a disk that fills."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


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
