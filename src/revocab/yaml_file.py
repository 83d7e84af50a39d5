"""YAML files that mean what they seem to: a repeated key would silently replace what was said
before, and YAML reads 017 as 15 and 1:30 as 90.

Read as Snakemake reads ``--configfile``, by PyYAML, so that a file says one thing to both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError

from revocab.limits import YAML_CHARACTERS
from revocab.links import check_file

#: That of libyaml, ten times as fast, where PyYAML is built with it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
INTEGER, TIME = "tag:yaml.org,2002:int", "tag:yaml.org,2002:timestamp"
#: Digits; Python reads no number of over 4,300.
LONGEST_NUMBER = 1000
#: Octal numbers, and those to the base of 60.
ODD_NUMBER = re.compile(r"[-+]?0[0-7_]|[^:]*:")
#: Levels of mappings and lists, and values with aliases written out: far above any experiment.
DEEPEST, MOST_NODES = 100, 100_000


def read(path: Path) -> tuple[Any, list[str]]:
    """Return what a YAML file holds, and its problems; see :func:`parse`.

    Raises the errors of reading and of :mod:`yaml`.
    """
    check_file(path)
    value, problems = parse(path.read_text(encoding="utf-8"))
    return value, [f"{path}: {problem}" for problem in problems]


def parse(text: str) -> tuple[Any, list[str]]:
    """Return what YAML says, and a problem for each key that a mapping has a second time, and each
    number that is another one than it seems.

    Raises :class:`yaml.YAMLError` for what is no YAML, and for what would take a machine down.
    """
    check_size(text)
    loader = LOADER(text)
    root = loader.get_single_node()
    if root is None:
        return None, []
    nodes_written_out(root, {})
    # Before the value is made, which lays merged keys (<<) over the mapping's own.
    problems = list(problems_below(root, "", set()))
    try:
        return loader.construct_document(root), problems
    except (ValueError, OverflowError) as error:  # a number of many digits, the 31st of February
        raise ComposerError(None, None, unreadable("", error), root.start_mark) from None


def unreadable(path: str, error: Exception) -> str:
    reason = str(error).partition("; use sys")[0]
    return f"{path or 'a value'} cannot be read ({reason}); put it in quotes if it is text"


def check_size(text: str) -> None:
    """Raise :class:`yaml.YAMLError` for nesting at which libyaml would end the process, and for
    text or values without end.
    """
    if len(text) > YAML_CHARACTERS:
        raise yaml.YAMLError(f"longer than {YAML_CHARACTERS:,} characters")
    depth = nodes = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MOST_NODES:
            problem = f"more than {MOST_NODES:,} values"
            raise ComposerError(None, None, problem, event.start_mark)  # type: ignore[arg-type]
        if depth > DEEPEST:
            problem = f"nested more than {DEEPEST} levels deep"
            raise ComposerError(None, None, problem, event.start_mark)  # type: ignore[arg-type]


def nodes_written_out(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many nodes there are below one where each alias is written out.

    Raises :class:`yaml.YAMLError` for more than :data:`MOST_NODES`, and for an anchor that holds
    its own alias.
    """
    if id(node) not in known:
        known[id(node)] = 0
        value = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = chain.from_iterable(value) if isinstance(node, yaml.MappingNode) else value
        known[id(node)] = 1 + sum(nodes_written_out(child, known) for child in inner)
    if not 0 < known[id(node)] <= MOST_NODES:
        problem = f"aliases that stand for more than {MOST_NODES:,} values, or for themselves"
        raise ComposerError(None, None, problem, node.start_mark)
    return known[id(node)]


def fault(error: yaml.YAMLError) -> str:
    """Return where a file is no YAML and why, in words for whoever wrote it."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f": not valid YAML ({error})"
    return f", line {error.problem_mark.line + 1}: not valid YAML: {error.problem}"


def problems_below(node: yaml.Node, path: str, seen: set[int]) -> Iterator[str]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if node.tag == TIME or (node.tag == INTEGER and len(node.value) > LONGEST_NUMBER):
        try:
            yaml.safe_load(node.value)
        except ValueError as error:
            raise ComposerError(None, None, unreadable(path, error), node.start_mark) from None
    if node.tag == INTEGER and ODD_NUMBER.match(node.value):
        meant = yaml.safe_load(node.value)
        yield f"{path}: YAML reads {node.value} as {meant}; write that, or put it in quotes"
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from problems_below(item, f"{path}[{position}]", seen)
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
