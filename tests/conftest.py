"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from durations import Durations
from once import once
from run_snakemake import succeed

REPOSITORY = Path(__file__).resolve().parent.parent

#: The tests' own experiment; ``small`` builds it.
SMALL = ("--cores", "2", "--configfile", "tests/experiments/small.yaml")


def pytest_configure(config: pytest.Config) -> None:
    # Workers share the cores; a lone process keeps its threads.
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    config.pluginmanager.register(Durations(config), "durations")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What reads the small experiment waits for a DAG; its own tests come first and build it."""
    for item in items:
        if "small" in getattr(item, "fixturenames", ()):
            item.add_marker("dag")
    items.sort(key=lambda item: item.path.name != "test_small.py")


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The shared data folder (REVOCAB_SHARED, else ../shared); skips where there is none."""
    folder = Path(os.environ.get("REVOCAB_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared data folder at {folder} (set REVOCAB_SHARED)")
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """The results of tests/experiments/small.yaml, built once for a test run; read them only."""
    once(tmp_path_factory, "small", lambda: succeed(REPOSITORY, *SMALL))
    return REPOSITORY / "results/small"
