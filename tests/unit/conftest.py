"""Fixtures of the unit tests."""

from __future__ import annotations

import pytest
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer


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
