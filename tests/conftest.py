"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


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
