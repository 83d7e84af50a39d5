"""Parameter counts of the paper's Table 1, exactly."""

from __future__ import annotations

import csv

import pytest

from revocab.closed import checked
from revocab.errors import RevocabError
from revocab.models.parameters import (
    Architecture,
    ParameterCount,
    config_parameters,
    model_config,
    write_parameters,
)

SHAPE = {"hidden_size": 4096, "intermediate_size": 14336, "layers": 32, "heads": 32, "kv_heads": 8}


def count(architecture, vocabulary_size):
    return config_parameters(model_config(architecture, vocabulary_size))


@pytest.mark.parametrize(
    ("family", "vocabulary_size", "expected"),
    [
        ("mistral", 32000, 7_241_732_096),  # Mistral-7B-v0.1: 7.24B
        ("mistral", 32768, 7_248_023_552),  # adapted with Minerva: 7.25B
        ("llama", 128256, 8_030_261_248),  # Llama-3.1-8B: 8.03B
        ("llama", 32768, 7_248_023_552),  # adapted with Minerva: 7.25B
    ],
)
def test_counts_of_real_models(family, vocabulary_size, expected):
    assert count(Architecture(family=family, **SHAPE), vocabulary_size) == expected


def test_tied_matrix_counts_once():
    small = {**SHAPE, "layers": 1, "hidden_size": 64, "intermediate_size": 128, "heads": 4}
    small["kv_heads"] = 2
    untied = count(Architecture(family="llama", **small), 1000)
    tied = count(Architecture(family="llama", tied=True, **small), 1000)
    assert untied - tied == 1000 * 64


def test_table_is_written(tmp_path):
    entry = {"label": "m", "vocabulary_size": 32000, "architecture": {"family": "mistral", **SHAPE}}
    write_parameters([ParameterCount(**entry)], tmp_path / "parameters.csv")
    with (tmp_path / "parameters.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert rows == [
        {"label": "m", "vocabulary_size": "32000", "family": "mistral", "parameters": "7241732096"}
    ]


def test_wrong_entries_are_named(tmp_path):
    with pytest.raises(RevocabError, match="architecture: required and not given"):
        checked(ParameterCount, {"label": "m", "vocabulary_size": 1})
