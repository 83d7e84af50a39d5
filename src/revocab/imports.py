"""Which of our own modules a command stands on, and a hash of what each of them computes.

The hash changes with what a module and the YAML beside it say, and not with comments, docstrings,
layout, or the Python that reads it. Modules that only speak or draw are left out, so that another
colour trains no model again.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

PACKAGE = "revocab"
#: Modules, relative to the package, on which no number depends: command lines, progress, pictures.
SPEAKING = frozenset(
    {
        "cli.py",
        "code_identity.py",
        "command.py",
        "flags.py",
        "imports.py",
        "progress.py",
        "initialise/diagnostics/figure.py",
        "report/figure_parts/style.py",
    }
)
#: What readers see of things and no number depends on, by the class that they are made with: what
#: they are called, how their lines are drawn, what is written under tables.
LABELS = {
    "Method": frozenset({"label", "summary", "citation", "colour", "dash", "variant_colours"}),
    "Metric": frozenset({"label"}),
    "GenerationKind": frozenset({"caption", "header", "place", "shown"}),
    "Field": frozenset({"description"}),
}
#: The same of YAML beside a module.
DRAWN = frozenset({"colours"})
#: Fields that say nothing which the rest of the tree does not, or that only some Pythons fill.
SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One file: the dotted names that it imports, and hashes of what it computes."""

    imports: frozenset[str]
    #: Without what only readers see (:data:`LABELS`).
    meaning: str
    #: With them: where tables, pictures or a page are the result.
    shown: str


class Writer:
    """Writes a syntax tree as text that is the same in every supported Python.

    Fields that are None or empty are left out, as a newer Python's additions (``type_params``) are
    in older code; docstrings, ``pass`` and what stands under ``if TYPE_CHECKING:`` never run.
    """

    def __init__(self, *, labels: bool):
        self.labels = labels
        self.words: list[str] = []
        self.imports: set[str] = set()
        #: Whether a label was met, written or not.
        self.labelled = False

    def node(self, node: ast.AST) -> None:
        """Write a node and all below it."""
        kind = type(node)
        if isinstance(node, ast.JoinedStr):
            self.format_string(node)
            return
        self.note_imports(node)
        self.words += ("(", kind.__name__)
        for name in kind._fields:
            value = getattr(node, name, None)
            if name in SILENT or (value is None and kind is not ast.Constant):
                continue
            if isinstance(value, list):
                value = [*self.kept(node, name, value)]
                if not value:
                    continue
            self.words.append(name)
            self.value(value)
        self.words.append(")")

    def value(self, value: Any) -> None:
        """Write what a field holds: a node, a list of them, or a constant."""
        if isinstance(value, ast.AST):
            self.node(value)
        elif isinstance(value, list):
            self.words.append("[")
            for one in value:
                self.value(one)
            self.words.append("]")
        else:
            self.words.append(ascii(value))  # repr of a text depends on the Python's Unicode

    def kept(self, node: ast.AST, name: str, members: list[Any]) -> Iterator[Any]:
        """Yield the members of a list that count."""
        if name == "body" and isinstance(node, DOCUMENTED) and is_docstring(members[:1]):
            members = members[1:]
        labels = LABELS.get(getattr(node.func, "id", ""), ()) if isinstance(node, ast.Call) else ()
        for one in members:
            if isinstance(one, ast.If) and getattr(one.test, "id", None) == "TYPE_CHECKING":
                yield from self.kept(one, "orelse", one.orelse)
            elif name == "keywords" and one.arg in labels:
                self.labelled = True
                if self.labels:
                    yield one
            elif not isinstance(one, ast.Pass):
                yield one

    def format_string(self, node: ast.JoinedStr) -> None:
        """Write an f-string; Pythons differ in where they cut the text between its values."""
        self.words += ("(", "JoinedStr")
        text = ""
        for one in node.values:
            if isinstance(one, ast.Constant):
                text += str(one.value)
                continue
            if text:
                self.words.append(ascii(text))
            text = ""
            self.node(one)
        if text:
            self.words.append(ascii(text))
        self.words.append(")")

    def note_imports(self, node: ast.AST) -> None:
        """Keep the dotted names that a statement imports."""
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # ``from revocab.initialise import methods`` may name a module or an attribute.
            self.imports |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            self.imports |= {one.name for one in node.names}


def is_docstring(statements: list[ast.stmt]) -> bool:
    """Return whether the first statement of a body is a docstring."""
    value = statements and isinstance(statements[0], ast.Expr) and statements[0].value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def digest(text: str) -> str:
    """Return a short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_module(source: str) -> Module:
    """Return what a module's source text says."""
    tree = ast.parse(source)
    plain = Writer(labels=False)
    plain.node(tree)
    meaning = shown = digest(" ".join(plain.words))
    if plain.labelled:
        labelled = Writer(labels=True)
        labelled.node(tree)
        shown = digest(" ".join(labelled.words))
    return Module(frozenset(plain.imports), meaning, shown)


def meaning(path: Path) -> str:
    """Return a hash of what a module computes: not of its words, nor of what only readers see."""
    return read_module(path.read_text(encoding="utf-8")).meaning


class Modules:
    """The modules of one copy of the package, each read once, with the YAML that is their data.

    Names are relative to ``folder``.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._read: dict[str, Module] = {}
        self._direct: dict[str, set[str]] = {}
        self._data: dict[str, dict[str, Any]] = {}

    @cached_property
    def names(self) -> dict[str, str]:
        """Return every module's file name by its dotted name."""
        found = {}
        for path in sorted(self.folder.rglob("*.py")):
            name = path.relative_to(self.folder)
            parts = name.parent.parts if name.stem == "__init__" else name.with_suffix("").parts
            found[".".join((PACKAGE, *parts))] = name.as_posix()
        return found

    def read(self, name: str) -> Module:
        """Return what a module says."""
        if name not in self._read:
            self._read[name] = read_module((self.folder / name).read_text(encoding="utf-8"))
        return self._read[name]

    def run_by_importing(self, dotted: str) -> Iterator[str]:
        """Yield the modules that an import runs: its packages' ``__init__`` and itself."""
        parts = dotted.split(".")
        for depth in range(1, len(parts) + 1):
            name = self.names.get(".".join(parts[:depth]))
            if name is not None:
                yield name

    def direct(self, name: str) -> set[str]:
        """Return the modules that one imports, lazily or not."""
        if name not in self._direct:
            imports = self.read(name).imports
            self._direct[name] = {file for one in imports for file in self.run_by_importing(one)}
        return self._direct[name]

    def data(self, name: str) -> dict[str, Any]:
        """Return what the YAML of a module says, by file."""
        if name not in self._data:
            self._data[name] = {
                path.relative_to(self.folder).as_posix(): read_data(path)
                for path in data_of(self.folder / name)
            }
        return self._data[name]

    def closure(self, start: Iterable[str], without: Collection[str] = ()) -> set[str]:
        """Return modules and all below them, but for some and what only they import."""
        waiting, found = list(start), set()
        while waiting:
            name = waiting.pop()
            if name not in found and name not in without:
                found.add(name)
                waiting += self.direct(name)
        return found

    def below(self, folder: str) -> list[str]:
        """Return the modules of a folder, which are found at run time and not imported by name."""
        return [name for name in self.names.values() if name.rpartition("/")[0] == folder]

    def code(self, start: Iterable[str], *, shows: bool = False) -> dict[str, str]:
        """Return the hashes of all that modules compute from, by file, sorted.

        ``shows``: tables, pictures or a page are the result, so that the modules which draw, labels
        and colours count as well.
        """
        found: dict[str, str] = {}
        for name in self.closure(start, () if shows else SPEAKING):
            module = self.read(name)
            found[name] = module.shown if shows else module.meaning
            for data, value in self.data(name).items():
                drawn = isinstance(value, dict) and not shows
                said = {key: value[key] for key in value if key not in DRAWN} if drawn else value
                found[data] = digest(ascii(said))
        return dict(sorted(found.items()))


def data_of(path: Path) -> list[Path]:
    """Return the YAML that is a module's data: of its name; for an __init__, of no other's name."""
    if path.name == "__init__.py":
        beside = sorted(path.parent.glob("*.yaml"))
        return [one for one in beside if not one.with_suffix(".py").is_file()]
    return [one for one in (path.with_suffix(".yaml"),) if one.is_file()]


def read_data(path: Path) -> Any:
    """Return what a YAML file says."""
    from revocab import yaml_file  # here alone, so that any Python reads modules

    return yaml_file.read(path)[0]
