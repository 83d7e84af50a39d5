"""Fixtures shared by the parity tests of training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from training_pico import write_inputs


@pytest.fixture
def one_thread():
    """One thread for torch, so that sums come in one order; undone after the test."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """A pico model, packed rows and held-out text; see ``training_pico``."""
    return write_inputs(tmp_path_factory.mktemp("inputs"))
