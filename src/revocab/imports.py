"""A hash of what a verb computes with: its function, and all modules of ours that it imports.

The hash changes with what a module and the YAML beside it say, and not with lines of comments. A
user's own modules and YAML count as if they lay in the package (:mod:`revocab.extensions`).
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from revocab.extensions import PACKAGE, own_folder

#: Modules, relative to the package, on which no result depends: command lines, plans, progress.
SPEAKING = frozenset(
    {
        "cli.py", "command_line.py", "extensions.py", "imports.py", "progress.py", "verb.py"
    }
)  # fmt: skip

#: Imports of ours, wherever they stand, and what runs in no process: imports for types, comments.
IMPORTS = re.compile(
    r"^\s*(?:from (revocab[\w.]*) import (\([^)]*\)|[^\n]*)|import (revocab[\w.]*))", re.MULTILINE
)
NAME = re.compile(r"(?<![\w.])(?!as\b)[a-zA-Z_]\w*")
FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ ]+.*\n|\n)*", re.MULTILINE)
UNREAD = re.compile(r"^\s*(?:#.*)?\n", re.MULTILINE)


@cache
def code_hash(function: str, module: str, finds: Collection[str] = ()) -> str:
    """Return the hash of a function of a module (``verbs/training.py``) and of all below it.

    ``finds`` are folders whose modules are found at run time, and imported by no name.
    """
    text = stands_on(function, place(module).read_text(encoding="utf-8"))
    modules = [name for folder in finds for name in files(f"{folder}/*.py", PACKAGE)]
    names = sorted(closure([*_modules(text, PACKAGE), *modules], PACKAGE))
    lines = [f"{name} {file_hash(place(name))}" for name in names]
    return _digest("\n".join([UNREAD.sub("", text), *lines]))


def stands_on(function: str, text: str) -> str:
    """Return what a function is made of in its own module: itself, and the functions, constants and
    imports that it names, and that these name.
    """
    places: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            places |= {alias.asname or alias.name.partition(".")[0]: node for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            places[node.name] = node
        elif isinstance(node, ast.Assign):
            targets = {name.id for target in node.targets for name in _ids(target)}
            places |= dict.fromkeys(targets, node)
    waiting, known = [function], dict[str, str]()
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        node = places[name]
        if isinstance(node, ast.ImportFrom):
            alias = next(alias for alias in node.names if name in (alias.name, alias.asname))
            known[name] = f"from {node.module} import {ast.unparse(alias)}"
        else:
            known[name] = ast.unparse(node)
            waiting += {each.id for each in _ids(node)} & places.keys()
    return "\n".join(known[name] for name in sorted(known))


def _ids(node: ast.AST) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))


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
    return _modules(path.read_text(encoding="utf-8"), package)


def _modules(text: str, package: Path) -> list[str]:
    modules = []
    for module, listed, plain in IMPORTS.findall(FOR_TYPES.sub("", text)):
        # ``from revocab.initialise import methods`` may name a module or an attribute.
        for dotted in [plain] if plain else [f"{module}.{name}" for name in NAME.findall(listed)]:
            parts = dotted.split(".")[1:]
            for depth in range(len(parts) + 1):
                file = "/".join(parts[:depth])
                names = [f"{file}/__init__.py", f"{file}.py"] if file else ["__init__.py"]
                modules += [name for name in names if _is_module(name, package)]
    return modules


@cache
def _is_module(name: str, package: Path) -> bool:
    return place(name, package).is_file()


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
    text = path.read_text(encoding="utf-8")
    return _digest(UNREAD.sub("", FOR_TYPES.sub("", text)) if path.suffix == ".py" else text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
