"""Budgets of durations: a test run that has become slow fails in CI, and only there.

``tests/durations.yaml`` has the budgets, in seconds of processor time with that of child processes,
so that a busy machine changes nothing; fixtures count for the first test that needs them. A test
that the file does not name has the common budget; one that it names is marked ``slow``, and
``make quick`` leaves it out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

FILE = Path(__file__).resolve().parents[1] / "durations.yaml"
KEY = "processor seconds"


def processor_seconds() -> float:
    """Return the time that this process and its ended children have computed."""
    return sum(os.times()[:4])


def name(test: str) -> str:
    """Return a test's id without its parameters: what budgets go by."""
    return test.partition("[")[0]


def too_slow(found: dict[str, float], budgets: dict) -> list[str]:
    """Return a line for every test, and one for all, that took ``factor`` times its budget."""
    factor, named = budgets["factor"], budgets["tests"]
    limits = {test: factor * named.get(name(test), budgets["each"]) for test in found}
    slow = [
        f"{test}: {found[test]:.1f} s, at most {limits[test]:g} s"
        for test in sorted(found)
        if found[test] > limits[test]
    ]
    total, limit = sum(found.values()), factor * budgets["all"]
    return slow + ([f"all tests: {total:.0f} s, at most {limit:g} s"] if total > limit else [])


class Durations:
    """The plugin: measures where tests run, judges where their reports come together."""

    def __init__(self, config: pytest.Config, file: Path = FILE):
        self.config, self.file = config, file
        self.budgets = yaml.safe_load(file.read_text(encoding="utf-8"))
        self.found: Counter[str] = Counter()
        self.slow: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark the tests that have budgets of their own."""
        for item in items:
            if name(item.nodeid) in self.budgets["tests"]:
                item.add_marker("slow")

    def measured(self, item: pytest.Item) -> Iterator[None]:
        """Note in the report what one phase of a test took."""
        before = processor_seconds()
        try:
            return (yield)
        finally:
            item.user_properties.append((KEY, processor_seconds() - before))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Measure the fixtures."""
        return (yield from self.measured(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Measure the test."""
        return (yield from self.measured(item))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather; with workers this is called in the process that started them, too."""
        if report.when == "call":
            self.found[report.nodeid] = sum(
                seconds for key, seconds in report.user_properties if key == KEY
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run that passed but was too slow, in CI."""
        if "PYTEST_XDIST_WORKER" in os.environ:
            return
        self.slow = too_slow(self.found, self.budgets)
        if self.slow and exitstatus == pytest.ExitCode.OK and os.environ.get("CI"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which tests were too slow; with -v, what took more than the common budget."""
        terminalreporter.write_line(f"processor time: {sum(self.found.values()):.0f} s")
        if self.config.option.verbose > 0:
            for test, seconds in self.found.most_common():
                if seconds > self.budgets["each"]:
                    terminalreporter.write_line(f"{seconds:6.1f} s  {test}")
        if self.slow:
            terminalreporter.section(f"too slow ({KEY}; {self.file.name})")
            for line in self.slow:
                terminalreporter.write_line(line)
            if not os.environ.get("CI"):
                terminalreporter.write_line("reported here, an error in CI")
