"""Fixtures of the workflow tests."""

from __future__ import annotations

from pathlib import Path

import planning
import pytest
import yaml

#: Files and folders that every_key.yaml names, and others that changes of it name.
FILES = (
    "data/en.jsonl", "data/other.jsonl", "elsewhere/en.jsonl",
    "items/en.jsonl", "items/other.jsonl",
    "items/it.txt", "items/en.txt", "items/other.txt", "published/table.csv", "corrected/table.csv",
    "tokenizers/one/tokenizer.json", "tokenizers/two/tokenizer.json", "models/one/config.json",
    "models/two/config.json",
)  # fmt: skip


@pytest.fixture(scope="session")
def finished(repository: Path, tmp_path_factory) -> planning.Finished:
    """The experiment of every_key.yaml with all its jobs done, as far as Snakemake can tell."""
    folder = tmp_path_factory.mktemp("finished")
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    values = yaml.safe_load(Path(__file__).with_name("every_key.yaml").read_text())
    return planning.Finished(repository, folder, values)
