"""YAML files that mean what they seem to: a repeated key would silently replace what was said
before, and YAML reads 017 as 15 and 1:30 as 90.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

#: That of libyaml, ten times as fast, where PyYAML is built with it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
INTEGER = "tag:yaml.org,2002:int"
#: Octal numbers, and those to the base of 60.
ODD_NUMBER = re.compile(r"[-+]?0[0-7_]|[^:]*:")


def read(path: Path) -> tuple[Any, list[str]]:
    """Return what a YAML file holds, and its problems; see :func:`parse`.

    Raises the errors of reading and of :mod:`yaml`.
    """
    value, problems = parse(path.read_text(encoding="utf-8"))
    return value, [f"{path}: {problem}" for problem in problems]


def parse(text: str) -> tuple[Any, list[str]]:
    """Return what YAML says, and a problem for each key that a mapping has a second time, and each
    number that is another one than it seems.
    """
    loader = LOADER(text)
    root = loader.get_single_node()
    if root is None:
        return None, []
    # Before the value is made, which lays merged keys (<<) over the mapping's own.
    problems = list(problems_below(root, "", set()))
    return loader.construct_document(root), problems


def problems_below(node: yaml.Node, path: str, seen: set[int]) -> Iterator[str]:
    """Yield the problems of ``node``, which stands at ``path``; aliases are looked at once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if node.tag == INTEGER and ODD_NUMBER.match(node.value):
        meant = yaml.safe_load(node.value)
        yield f"{path}: YAML reads {node.value} as {meant}; write that, or put it in quotes"
    if isinstance(node, yaml.SequenceNode):
        for position, one in enumerate(node.value):
            yield from problems_below(one, f"{path}[{position}]", seen)
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        name = f"{path}.{key.value}" if path else str(key.value)
        line = key.start_mark.line + 1
        if isinstance(key, yaml.ScalarNode) and key.value in lines:
            yield (
                f"{name}: is on line {lines[key.value]} and again on line {line}, which would"
                " override it; keep one of them, or give them different names"
            )
        lines[str(key.value)] = line
        yield from problems_below(key, name, seen)
        yield from problems_below(value, name, seen)
