"""Which of our own files a script stands on, read from its imports: the code inputs of a rule."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "revocab"


class Running(ast.NodeTransformer):
    """Leave out what stands under ``if TYPE_CHECKING:``, which never runs."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Return a condition's statements that can run."""
        self.generic_visit(node)
        types_only = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse if types_only else node


def imported_names(source: str) -> Iterator[str]:
    """Yield the dotted names of ours that a source text imports when it runs, lazily or not."""
    for node in ast.walk(Running().visit(ast.parse(source))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            # ``from revocab.initialise import methods`` may name a module or an attribute.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def module_files(name: str, root: Path) -> Iterator[Path]:
    """Yield the files that importing ``name`` runs: its packages' ``__init__`` and itself."""
    parts = name.split(".")
    if parts[0] != PACKAGE:
        return
    for depth in range(1, len(parts) + 1):
        path = root.joinpath(*parts[:depth])
        if (path / "__init__.py").is_file():
            yield path / "__init__.py"
        elif path.with_suffix(".py").is_file():
            yield path.with_suffix(".py")


@cache
def direct(path: Path, root: Path) -> tuple[Path, ...]:
    """Return the files of ours that one file imports."""
    names = imported_names(path.read_text(encoding="utf-8"))
    return tuple(sorted({file for name in names for file in module_files(name, root)}))


def closure(script: Path, root: Path, extra: tuple[str, ...] = ()) -> list[Path]:
    """Return ``script`` and every file of ours below it, sorted after the script.

    ``extra`` names folders below the package whose modules are found at run time and not imported
    by name (the methods), relative to the package.
    """
    waiting = [script]
    for folder in extra:
        waiting += sorted((root / PACKAGE / folder).glob("*.py"))
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += direct(path, root)
    return [script, *sorted(found - {script})]
