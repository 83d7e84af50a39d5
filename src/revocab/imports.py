"""A hash of what a command computes with: its module, and all of ours that these import.

The hash changes with what a module and the YAML beside it say, and not with lines of comments. A
user's own modules and YAML count as if they lay in the package (:mod:`revocab.extensions`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from revocab.extensions import PACKAGE, own_folder

#: Modules, relative to the package, on which no result depends: command lines, plans, progress.
SPEAKING = frozenset(
    {
        "cli.py", "command.py", "extensions.py", "flags.py", "imports.py", "progress.py"
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
    for dotted in _names(path.read_text(encoding="utf-8")):
        parts = dotted.split(".")[1:]
        for depth in range(len(parts) + 1):
            module = "/".join(parts[:depth])
            names = [f"{module}/__init__.py", f"{module}.py"] if module else ["__init__.py"]
            modules += [name for name in names if _is_module(name, package)]
    return modules


@cache
def _is_module(name: str, package: Path) -> bool:
    return place(name, package).is_file()


def _names(text: str) -> Iterator[str]:
    for module, listed, plain in IMPORTS.findall(FOR_TYPES.sub("", text)):
        # ``from revocab.initialise import methods`` may name a module or an attribute.
        yield from (f"{module}.{name}" for name in NAME.findall(listed))
        if plain:
            yield plain


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
