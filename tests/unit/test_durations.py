"""The tests' own machinery: budgets of durations, and what is made once for a run."""

from __future__ import annotations

import os
import subprocess
import sys

import durations
import pytest
import yaml

BUDGETS = {"factor": 3, "each": 1, "all": 5, "tests": {"a.py::long": 4}}
CONFTEST = """
from pathlib import Path
from durations import Durations
from once import once
import pytest

HERE = Path(__file__).parent

def pytest_configure(config):
    config.pluginmanager.register(Durations(config, HERE / "durations.yaml"))

def make():
    with (HERE / "made").open("a") as handle:
        handle.write("made ")

@pytest.fixture(scope="session")
def thing(tmp_path_factory):
    once(tmp_path_factory, "thing", make)
"""
#: A third of a second of work in a child process, and nothing in the test's own.
TESTS = """
import subprocess, sys

BUSY = "import time\\nwhile time.process_time() < 0.3: pass"

def test_quick(thing):
    pass

def test_long(thing):
    subprocess.run([sys.executable, "-c", BUSY], check=True)
"""


def test_budgets_go_by_test_and_for_all():
    found = {"a.py::long[1]": 11.9, "a.py::short": 2.9}
    assert durations.too_slow(found, BUDGETS) == []
    found = {"a.py::long[1]": 12.1, "a.py::long[2]": 1, "a.py::short": 3.1}
    assert durations.too_slow(found, BUDGETS) == [
        "a.py::long[1]: 12.1 s, at most 12 s",
        "a.py::short: 3.1 s, at most 3 s",
        "all tests: 16 s, at most 15 s",
    ]


def test_every_budget_is_of_a_test_that_exists(repository):
    named = yaml.safe_load(durations.FILE.read_text())["tests"]
    assert named
    for test in named:
        file, _, function = test.partition("::")
        assert f"\ndef {function}(" in (repository / file).read_text(), test


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    (folder / "durations.yaml").write_text("{factor: 2, each: 0.1, all: 100, tests: {}}")
    return folder


def run(folder, *arguments, **environment):
    """Run the suite of ``folder`` as a run of its own; return its exit status and what it says."""
    mine = ("CI", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS")
    inherited = {key: value for key, value in os.environ.items() if key not in mine}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", folder, "-p", "no:hypothesispytest", folder,
         "--basetemp", folder / "temporary", *arguments],
        env={**inherited, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    return done.returncode, done.stdout


def test_a_slow_test_fails_in_ci_only_and_things_are_made_once(folder):
    made = folder / "made"
    status, said = run(folder, "-n", "2", CI="true")
    assert status == 1
    assert "test_it.py::test_long: 0." in said and "test_quick:" not in said
    assert made.read_text() == "made "
    status, said = run(folder)
    assert status == 0
    assert "test_it.py::test_long: 0." in said and "an error in CI" in said
    assert made.read_text() == "made made "
