"""Fixtures shared by the parity tests of training."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from training_pico import write_inputs, write_packed

from revocab.io import read_json, write_json
from revocab.vocabulary.tokenizers.load import load_tokenizer


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


@pytest.fixture(scope="module")
def texts(inputs, toys, tmp_path_factory):
    """Return rows to train on, and held-out windows, of the target tokenizer."""
    folder, rows = tmp_path_factory.mktemp("texts"), len(load_tokenizer(toys / "target-tokenizer"))
    shutil.copytree(inputs / "heldout", folder / "heldout")
    manifest = folder / "heldout/manifest.json"
    write_json(manifest, {**read_json(manifest), "vocabulary_size": rows})
    tokens = np.random.default_rng(0).integers(3, rows, (16, 16))
    write_packed(folder / "packed", tokens.astype(np.uint16))
    return folder
