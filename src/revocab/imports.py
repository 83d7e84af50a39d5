"""Which of our own modules a script stands on, and a hash of what they compute.

The hash changes with what the modules and the YAML beside them say, and not with their comments,
docstrings or layout.
Modules that only speak or draw are left out, so that another colour trains no model again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PACKAGE = "revocab"
#: Modules, relative to the package, on which no number depends: command lines, progress, pictures.
SPEAKING = frozenset(
    {
        "cli.py",
        "command.py",
        "flags.py",
        "progress.py",
        "initialise/diagnostics_figure.py",
        "report/style.py",
    }
)
#: What readers see of things and no number depends on, by the class that they are made with: what
#: they are called, how their lines are drawn, what is written under tables.
LABELS = {
    "Method": frozenset({"label", "summary", "citation", "colour", "dash", "variant_colours"}),
    "Metric": frozenset({"label"}),
    "GenerationKind": frozenset({"caption", "header", "place", "shown"}),
}
#: The same of YAML beside a module.
DRAWN = frozenset({"colours"})


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


def closure(
    script: Path,
    root: Path,
    extra: tuple[str, ...] = (),
    without: Collection[str] = (),
) -> list[Path]:
    """Return ``script`` and every file of ours below it, sorted after the script.

    ``extra`` names folders below the package whose modules are found at run time and not imported
    by name (the methods), relative to the package. ``without`` names modules that are left out,
    with what only they import.
    """
    left_out = {root / PACKAGE / name for name in without}
    waiting = [script]
    for folder in extra:
        waiting += sorted((root / PACKAGE / folder).glob("*.py"))
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in found and path not in left_out:
            found.add(path)
            waiting += direct(path, root)
    return [script, *sorted(found - {script})]


def identity(script: Path, root: Path, extra: tuple[str, ...] = (), *, shows: bool = False) -> str:
    """Return a hash of what a script computes: equal for code that differs in words alone.

    ``shows``: tables, pictures or a page are its result, so that the modules which draw, labels
    and colours count as well.
    """
    files = closure(script, root, extra, () if shows else SPEAKING)
    digest = hashlib.sha256()
    for path in files:
        name = path.relative_to(root) if path.is_relative_to(root) else path.name
        digest.update(f"{name}\0{meaning(path, shows)}\0".encode())
        for data in data_of(path):
            digest.update(f"{data.name}\0{content(data, shows)!r}\0".encode())
    return digest.hexdigest()[:16]


def data_of(path: Path) -> list[Path]:
    """Return the YAML beside a module that is its data: of its name, or all beside an __init__."""
    if path.name == "__init__.py":
        return sorted(path.parent.glob("*.yaml"))
    return [one for one in (path.with_suffix(".yaml"),) if one.is_file()]


def content(data: Path, shows: bool) -> Any:
    """Return what a YAML file says, with what is only drawn if that ``shows``."""
    found = yaml.safe_load(data.read_text(encoding="utf-8"))
    if shows or not isinstance(found, dict):
        return found
    return {key: value for key, value in found.items() if key not in DRAWN}


@cache
def meaning(path: Path, labels: bool = False) -> str:
    """Return a module's syntax tree as text, without docstrings, comments and places.

    What only readers see (:data:`LABELS`) is in it only with ``labels``.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.Call) and not labels:
            shown = LABELS.get(getattr(node.func, "id", ""), ())
            node.keywords = [one for one in node.keywords if one.arg not in shown]
    return ast.dump(tree, annotate_fields=False)
