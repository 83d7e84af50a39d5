"""The notebooks of docs/notebooks, cell by cell, in a real kernel and an empty folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from run_snakemake import BIN

pytestmark = pytest.mark.long

NOTEBOOKS = Path(__file__).parents[2] / "docs/notebooks"


def shown(notebook: Any) -> list[list[str]]:
    """Return the kinds of what each cell shows, besides text that is printed."""
    return [
        [output.output_type for output in cell.get("outputs", ()) if output.output_type != "stream"]
        for cell in notebook.cells
    ]


def printed(notebook: Any) -> list[str]:
    texts = (
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ())
    )
    return [line for text in texts for line in text.splitlines()]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_as_printed(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    notebook = nbformat.read(path, as_version=4)
    before = shown(notebook)
    assert ["display_data"] in before, f"{path}: run it and commit what it shows"
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": tmp_path}}).execute()
    assert shown(notebook) == before
    # A command that fails is no error of its cell.
    said = printed(notebook)
    assert not [line for line in said if line.startswith("error: ") or "Traceback" in line], said
