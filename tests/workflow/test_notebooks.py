"""The notebooks of docs/notebooks, cell by cell, in a real kernel and an empty folder."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from run_snakemake import BIN

NOTEBOOKS = Path(__file__).parents[2] / "docs/notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_as_printed(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [[output.output_type for output in cell.outputs] for cell in cells]
    assert any("display_data" in one or "execute_result" in one for one in shown), "commit outputs"
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": tmp_path}}).execute()
    assert [[one.output_type for one in cell.outputs] for cell in cells] == shown
    # A failed command is no error of its cell.
    assert not [line for cell in cells for one in cell.outputs for line in problems(one)]


def problems(output) -> list[str]:
    lines = str(output.get("text", "")).splitlines()
    return [line for line in lines if line.startswith(("revocab: ", "error", "Traceback"))]
