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
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.evaluation.inference.engine import engines


@pytest.fixture(scope="session")
def toys(tmp_path_factory):
    """Tokenizers source and target, an untied and a tied source model, a helper."""
    folder = tmp_path_factory.mktemp("toys")
    source = build_tokenizer(SOURCE_WORDS, 30, folder / "source-tokenizer")
    target = build_tokenizer(TARGET_WORDS, 45, folder / "target-tokenizer")
    build_model(source, folder / "untied", seed=1)
    build_model(source, folder / "tied", seed=2, tied=True, family="llama")
    build_model(target, folder / "helper", seed=3, hidden_size=24, tied=True)
    return folder


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
def vllm_interpreter(repository) -> str:
    """The interpreter that has vLLM; skips where there is none."""
    environment = engines()["vllm"].environment
    named = os.environ.get(environment.variable) or str(repository / environment.path)
    if not Path(named).is_file():
        pytest.skip(f"no environment with vLLM: 'make vllm' or set {environment.variable}")
    return named


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
