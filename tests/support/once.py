"""What is expensive is made once for a test run, however many workers share it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from filelock import FileLock


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], None]) -> None:
    """Call ``make`` in the first worker that comes here; the others wait, and fail where it failed.

    ``name`` is unique in the run. What is made is not passed on: it stands on disk.
    """
    base = factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    result = run / f"{name}.result"
    with FileLock(run / f"{name}.lock"):
        if not result.exists():
            result.write_text("failed in another test")
            make()
            result.write_text("made")
    if result.read_text() != "made":
        pytest.fail(f"{name}: {result.read_text()}")
