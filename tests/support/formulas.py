"""The places of a module where it computes, and small faults that can be planted there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
           ast.FloorDiv: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
           ast.GtE: ast.Gt}  # fmt: skip
#: Functions that bring an axis down; the last of their positional arguments may be the axis.
ALONG = {"all", "any", "argmax", "argmin", "argsort", "cat", "concatenate", "cumsum",
         "index_select", "log_softmax", "logsumexp", "max", "mean", "min", "norm", "prod",
         "softmax", "sort", "squeeze", "stack", "std", "sum", "topk", "unsqueeze",
         "var"}  # fmt: skip
NORMS = {"norm": "ord", "vector_norm": "ord", "normalize": "p", "cdist": "p"}
BOUNDS = {"range", "max", "min", "clamp", "clip", "linspace", "arange", "round"}
#: What is added or divided and is no number: texts, paths, lists.
TYPES = ("str", "bytes", "Path", "list", "tuple", "set", "dict", "Sequence", "Iterable", "Counter")
CONTAINERS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Set, ast.SetComp, ast.Dict,
                 ast.DictComp)  # fmt: skip
MAKERS = {"Path", "bytes", "dict", "frozenset", "list", "repr", "set", "sorted", "str", "tuple",
          "decode", "encode", "format", "items", "join", "keys", "read_bytes", "read_text",
          "relative_to", "removeprefix", "removesuffix", "replace", "resolve", "rglob",
          "split", "strip", "values", "with_name", "with_suffix"}  # fmt: skip
#: A constant this small guards against a division by zero.
TINY = 1e-3


class Change(NamedTuple):
    """A fault: lines and columns (in bytes) of what it replaces, and what stands there then."""

    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str

    def planted(self, text: str) -> str:
        """Return a module's text with the fault."""
        lines = text.encode().splitlines(keepends=True)
        head = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.column]
        tail = lines[self.end_line - 1][self.end_column :] + b"".join(lines[self.end_line :])
        return (head + self.after.encode() + tail).decode()


def types(texts: Iterable[str]) -> dict[str, str]:
    """Return the types of fields, functions and constants of modules, if they are no numbers."""
    known: dict[str, set[str]] = {}
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                known.setdefault(node.name, set()).add(_type_of(node.returns))
            elif isinstance(node, ast.AnnAssign):
                known.setdefault(_name(node.target), set()).add(_type_of(node.annotation))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                kind = type(node.value.value).__name__
                known.setdefault(_name(node.targets[0]), set()).add(kind)
    return {name: min(kinds) for name, kinds in known.items() if all(map(_is_text, kinds))}


def changes(text: str, known: dict[str, str]) -> list[list[Change]]:
    """Return what can be changed at each place of a module that computes."""
    module = ast.parse(text)
    places = []
    for function in _functions(module):
        reader = _Reader(function, known)
        reader.read(function)
        places += reader.places if reader.computes else []
    return places


def _functions(module: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in module.body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                yield each


def _type_of(node: ast.expr | None) -> str:
    return ast.unparse(node) if node is not None else ""


def _is_text(kind: str) -> bool:
    return kind.partition("[")[0].partition(" |")[0] in TYPES


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


class _Reader:
    """Reads one function, and notes its places."""

    def __init__(self, function: ast.FunctionDef, known: dict[str, str]):
        self.places: list[list[Change]] = []
        self.computes = False
        self.types = dict(known)
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                self.types[node.arg] = _type_of(node.annotation)
            elif isinstance(node, ast.Assign) and self.no_number(node.value):
                self.types |= {_name(target): "list" for target in node.targets}

    def no_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, int | float)
        if isinstance(node, ast.BinOp):
            return self.no_number(node.left) or self.no_number(node.right)
        if isinstance(node, ast.IfExp):
            return self.no_number(node.body) or self.no_number(node.orelse)
        if isinstance(node, ast.Call):
            return _name(node.func) in MAKERS or self.no_number(node.func)
        if isinstance(node, ast.Subscript):
            return any(word in self.types.get(_name(node.value), "") for word in ("str", "Path"))
        return isinstance(node, CONTAINERS) or _is_text(self.types.get(_name(node), ""))

    def read(self, node: ast.AST, parent: ast.AST | None = None) -> None:
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.arguments):
            return
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            node = ast.Module(node.orelse, [])  # a refusal
        if faults := [_change(node, after) for after in self.faults(node, parent)]:
            self.places.append(faults)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "decorator_list", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.read(child, node)

    def faults(self, node: ast.AST, parent: ast.AST | None) -> Iterator[ast.AST]:
        """Yield what a node may become."""
        match node:
            case ast.BinOp(left, op, right) if type(op) in SWAPPED and not self.no_number(node):
                self.computes = True
                yield ast.BinOp(left, SWAPPED[type(op)](), right)
                yield left
                if isinstance(op, ast.Add | ast.Mult):
                    yield right
            case ast.AugAssign(target, op, value) if type(op) in SWAPPED and not (
                self.no_number(value) or self.no_number(target)
            ):
                yield ast.AugAssign(target, SWAPPED[type(op)](), value)
            case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
                self.computes = True
                yield operand
            case ast.Compare(left, [op], [right]) if type(op) in SWAPPED:
                if not (self.no_number(left) or self.no_number(right)):
                    yield ast.Compare(left, [SWAPPED[type(op)]()], [right])
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                computed = isinstance(parent, ast.BinOp | ast.Slice) or (
                    isinstance(parent, ast.Compare) and type(parent.ops[0]) in SWAPPED
                )
                bound = isinstance(parent, ast.Call) and _name(parent.func) in BOUNDS
                if (computed or bound) and (value == 0 or abs(value) > TINY):
                    yield ast.Constant(value + 1)
            case ast.Call(func, arguments, keywords):
                yield from self.calls(_name(func), func, arguments, keywords)

    def calls(
        self, name: str, func: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Iterator[ast.Call]:
        """Yield what a call may become: another range, axis, norm, or a sum for a mean."""
        if name == "range" and isinstance(func, ast.Name):
            first, *rest = arguments
            short = ast.BinOp(first, ast.Add() if rest else ast.Sub(), ast.Constant(1))
            yield ast.Call(func, [short, *rest], keywords)
        if name in ALONG and isinstance(func, ast.Attribute):
            self.computes = True
            if arguments and (other := _other_axis(arguments[-1])):
                yield ast.Call(func, [*arguments[:-1], other], keywords)
        for place, keyword in enumerate(keywords):
            if keyword.arg in ("axis", "dim") and (other := _other_axis(keyword.value)):
                changed = ast.keyword(keyword.arg, other)
                yield ast.Call(
                    func, arguments, [*keywords[:place], changed, *keywords[place + 1 :]]
                )
        if name in NORMS and not {"ord", "p"} & {keyword.arg for keyword in keywords}:
            self.computes = True
            order = "p" if name == "norm" and _name(func.value) != "linalg" else NORMS[name]
            yield ast.Call(func, arguments, [*keywords, ast.keyword(order, ast.Constant(1))])
        if name in ("mean", "sum") and isinstance(func, ast.Attribute):
            other = ast.Attribute(func.value, "sum" if name == "mean" else "mean")
            yield ast.Call(other, arguments, keywords)
        if name == "fmean":
            self.computes = True
            yield ast.Call(ast.Name("sum"), arguments, keywords)


def _other_axis(axis: ast.expr) -> ast.Constant | None:
    others = {"0": 1, "1": 0, "-1": 0}
    text = ast.unparse(axis)
    return ast.Constant(others[text]) if text in others else None


def _change(node: ast.AST, after: ast.AST) -> Change:
    before, text = ast.unparse(node), ast.unparse(after)
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        text = f"({text})"
    ends = node.end_lineno, node.end_col_offset
    return Change(node.lineno, node.col_offset, *ends, before, text)
