"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from once import once
from run_snakemake import succeed

from revocab.errors import RevocabError

REPOSITORY = Path(__file__).resolve().parent.parent

#: The tests' own experiment; ``small`` builds it.
SMALL = ("--cores", "2", "--configfile", "tests/experiments/small.yaml")

#: What `make quick` leaves out: tests of more than about three seconds, or whole files of them.
SLOW = tuple((REPOSITORY / "tests/slow.txt").read_text(encoding="utf-8").split())

# No verdict depends on how fast the machine is.
settings.register_profile(
    "any_machine", deadline=None, suppress_health_check=(HealthCheck.too_slow,)
)
settings.load_profile("any_machine")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Half of the quick tests' time went into collecting the slow ones.
    name = str(collection_path.relative_to(REPOSITORY))
    whole = f"{name}/" if collection_path.is_dir() else name
    return True if "not slow" in config.option.markexpr and whole.startswith(SLOW) else None


def pytest_configure() -> None:
    # Workers share the cores; a lone process keeps its threads.
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and as ``dag`` what reads the small experiment; order the files.

    The tests of the small experiment come first and build it. Beside it run the workflow's other
    tests, then what reads it; the short files come last, so that all workers end together.
    """
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
        if "vllm_interpreter" in getattr(item, "fixturenames", ()):
            item.add_marker("long")  # each start of vLLM takes ten seconds of CPU
        if item.get_closest_marker("hub"):
            item.add_marker(pytest.mark.timeout(7200))
    reading = [item for item in items if "small" in getattr(item, "fixturenames", ())]
    for item in reading:
        item.add_marker("dag")
    files = {item.path for item in reading}

    def rank(item: pytest.Item) -> int:
        if item.path.name == "test_small.py":
            return 0
        if item.path in files:
            return 2
        return 1 if item.path.parent.name == "workflow" else 3

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    leave_alone()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        leave_alone()


def leave_alone() -> None:
    """Have the garbage collector pass by what is there now: modules, tests, what files share.

    Every training collects, and took six times as long to look through seven thousand tests.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session", autouse=True)
def nothing_is_absent() -> Iterator[None]:
    """Commands run in the tests' own process make no library seem absent to the tests after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("revocab.training.startup.pretend_absent", lambda *names: None)
        yield


@pytest.fixture(scope="session")
def vllm_interpreter(repository) -> str:
    """The interpreter that has vLLM; skips where there is none."""
    from revocab.evaluation.inference.engine import engines

    environment = engines()["vllm"].environment
    named = os.environ.get(environment.variable) or str(repository / environment.path)
    if not Path(named).is_file():
        pytest.skip(f"no environment with vLLM: 'make vllm' or set {environment.variable}")
    return named


@pytest.fixture(scope="session")
def real_llama() -> Iterator[None]:
    """Have the built llama.cpp of `make llama` found; skips where there is none."""
    from revocab.product.verify.runtimes import VARIABLE, llama_folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, os.environ.get(VARIABLE, str(REPOSITORY / ".llama")))
        try:
            llama_folder()
        except RevocabError as error:
            pytest.skip(str(error))
        yield


@pytest.fixture(scope="session")
def real_transformers4() -> Iterator[None]:
    """Have the environment of `make transformers4` found; skips where there is none."""
    python = REPOSITORY / ".venv-transformers4/bin/python"
    with pytest.MonkeyPatch.context() as patch:
        if "REVOCAB_TRANSFORMERS4_PYTHON" not in os.environ:
            if not python.exists():
                pytest.skip(f"no transformers 4 at {python}: run 'make transformers4'")
            patch.setenv("REVOCAB_TRANSFORMERS4_PYTHON", str(python))
        yield


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The shared data folder (REVOCAB_SHARED, else ../shared); skips where there is none."""
    folder = Path(os.environ.get("REVOCAB_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared data folder at {folder} (set REVOCAB_SHARED)")
    return folder


@pytest.fixture(scope="session")
def toys(tmp_path_factory) -> Path:
    """The folder of ``toy_models.build_toys``; read it only."""
    from toy_models import build_toys

    return build_toys(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """The results of tests/experiments/small.yaml, built once for a test run; read them only."""
    once(tmp_path_factory, "small", lambda: succeed(REPOSITORY, *SMALL))
    return REPOSITORY / "results/small"
