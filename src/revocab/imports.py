"""A hash of what a command computes with: its module, and all of ours that these import.

The hash changes with what a module and the YAML beside it say, and not with comments, docstrings or
layout. A user's own modules and YAML count as if they lay in the package
(:mod:`revocab.extensions`).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from revocab.extensions import PACKAGE, own_folder

#: Modules, relative to the package, on which no result depends: command lines, plans, progress.
SPEAKING = frozenset(
    {
        "cli.py", "command.py", "extensions.py", "flags.py", "imports.py", "progress.py", "rule.py"
    }
)  # fmt: skip


@cache
def code_hash(module: str, modules: Collection[str] = (), package: Path = PACKAGE) -> str:
    """Return the hash of a module (``commands/train_model.py``) and of all below it.

    ``found`` are folders whose modules are found at run time, and imported by no name.
    """
    start = [module, *(name for folder in modules for name in files(f"{folder}/*.py", package))]
    names = sorted(closure(start, package))
    lines = [f"{name} {file_hash(place(name, package))}" for name in names]
    return _digest("\n".join(lines))


def files(pattern: str, package: Path) -> list[str]:
    roots = [package, *filter(None, [own_folder()])]
    return sorted(
        {path.relative_to(root).as_posix() for root in roots for path in root.glob(pattern)}
    )


def place(name: str, package: Path = PACKAGE) -> Path:
    own = own_folder()
    return package / name if own is None or (package / name).is_file() else own / name


def closure(start: Iterable[str], package: Path = PACKAGE) -> set[str]:
    """Return modules, all that they import, lazily or not, and the YAML beside them."""
    waiting, known = list(start), set()
    while waiting:
        name = waiting.pop()
        if name not in known and name not in SPEAKING:
            known.add(name)
            waiting += _imported(place(name, package), package)
    return known | {data for name in known for data in _data(name, package)}


@cache
def _imported(path: Path, package: Path) -> list[str]:
    modules = []
    for dotted in _names(_tree(path)):
        outer, *parts = dotted.split(".")
        if outer != "revocab":
            continue
        for depth in range(len(parts) + 1):
            module = "/".join(parts[:depth])
            names = [f"{module}/__init__.py", f"{module}.py"] if module else ["__init__.py"]
            modules += [name for name in names if place(name, package).is_file()]
    return modules


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # ``from revocab.initialise import methods`` may name a module or an attribute.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def _data(name: str, package: Path) -> list[str]:
    """Return the YAML that is a module's data: of its name; for an __init__, of no other's name."""
    module = PurePosixPath(name)
    if module.name == "__init__.py":
        beside = files(str(module.with_name("*.yaml")), package)
        return [
            module for module in beside if not place(module, package).with_suffix(".py").is_file()
        ]
    data = str(module.with_suffix(".yaml"))
    return [data] if place(data, package).is_file() else []


@cache
def file_hash(path: Path) -> str:
    return _digest(ast.unparse(_tree(path)) if path.suffix == ".py" else path.read_text("utf-8"))


@cache
def _tree(path: Path) -> ast.AST:
    """Return what runs of a module: no docstrings, nothing under ``if TYPE_CHECKING:``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            running = [statement for statement in body if not _never_runs(statement)]
            node.body = running or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def _never_runs(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return getattr(node.test, "id", None) == "TYPE_CHECKING"
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
