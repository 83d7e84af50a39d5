"""Fixtures of the workflow tests."""

from __future__ import annotations

from pathlib import Path

import planning
import pytest
import yaml
from user_files import make_every_key


@pytest.fixture(scope="session")
def finished(repository: Path, tmp_path_factory) -> planning.Finished:
    """The experiment of every_key.yaml with all its jobs done, as far as Snakemake can tell."""
    folder = tmp_path_factory.mktemp("finished")
    make_every_key(folder)
    values = yaml.safe_load(Path(__file__).with_name("every_key.yaml").read_text())
    return planning.Finished(repository, folder, values)
