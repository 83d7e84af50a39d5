"""Benchmarks are not run as tests; what they import from the package is there."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).resolve().parents[2] / "benchmarks").glob("*.py"))


def imported(file: Path) -> list[tuple[str, str]]:
    """Return (module, name) of everything that a file imports from the package, wherever."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return [
        (node.module, one.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("revocab")
        for one in node.names
    ]


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_is_there(file):
    names = imported(file)
    assert names, "a benchmark measures the package"
    missing = [
        f"{module}.{name}"
        for module, name in names
        if not hasattr(import_module(module), name) and find_spec(f"{module}.{name}") is None
    ]
    assert missing == []


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_a_benchmark_says_how_it_is_run(file):
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert f"python benchmarks/{file.name}" in docstring
