"""What revocab does, step by step: a function for each rule of the workflow, and by hand."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from revocab.verb import Verb


class Place(NamedTuple):
    """Where a verb is written, found without importing it."""

    #: Module of this package.
    module: str
    #: The first line of its docstring.
    summary: str


@cache
def places() -> dict[str, Place]:
    """Return every step by its name, in the order of the files."""
    steps = {}
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                summary = (ast.get_docstring(node) or "").partition("\n")[0]
                steps[node.name] = Place(file.stem, summary)
    return steps


def find(name: str) -> Verb:
    return getattr(import_module(f"{__name__}.{places()[name].module}"), name)
