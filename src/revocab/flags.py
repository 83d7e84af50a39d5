"""Flags from closed models: one for each key, with its help, its choices and its default.

Only texts are read here; the models turn them into numbers, paths and lists, and complain.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from revocab import yaml_file
from revocab.closed import near, plain
from revocab.errors import RevocabError, UsageError, of_usage
from revocab.io import parse_json
from revocab.wording import LONGEST

#: What the help says of models.
NAMED = (
    "MODEL and TOKENIZER are folders, or Hub ids such as mistralai/Mistral-7B-v0.1, also with"
    " @revision."
)


class Paragraphs(argparse.HelpFormatter):
    """Help whose description keeps its paragraphs, without the marks of docstrings."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.replace("``", "").strip().split("\n\n")
        return "\n\n".join(
            super(Paragraphs, self)._fill_text(part, width, indent) for part in parts
        )


class Parser(argparse.ArgumentParser):
    """argparse, whose complaints are :class:`UsageError`."""

    def __init__(self, **options: Any):
        super().__init__(formatter_class=Paragraphs, **options)
        #: Flags that the models need: shown so, but missed by the models, all at once.
        self.needed: list[argparse.Action] = []

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

    def format_help(self) -> str:
        for action in self.needed:
            action.required = True
        return super().format_help()


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield key and field of everything that is no model itself; keys inside a part are dotted."""
    for name, field in model.model_fields.items():
        if name == getattr(model, "named_by", None):
            continue  # a word of its own
        inner = plain(field.annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from leaves(inner, f"{prefix}{name}.")
        else:
            yield prefix + (field.alias or name), field


def flag_of(key: str) -> str:
    return "--" + key.replace("_", "-")


def add_flag(parser: Parser, key: str, field: FieldInfo) -> None:
    kind = plain(field.annotation)
    origin = get_origin(kind)
    about = [field.description] if field.description else []
    default = field.get_default(call_default_factory=True) if not field.is_required() else None
    if field.is_required() and "." not in key:
        about.append("required")
    elif default not in (None, False, [], {}, ()):
        about.append(f"default: {default_text(default)}")
    options: dict[str, Any] = {
        "dest": key,
        "default": argparse.SUPPRESS,
        "help": "; ".join(about).replace("%", "%%") or None,
    }
    if kind is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif origin is Literal:
        options["choices"] = get_args(kind)
    elif origin in (list, tuple, dict):
        options |= {"nargs": "+", "action": "extend", "metavar": metavar(kind)}
    else:
        options["metavar"] = metavar(kind)
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "hub" in extra:
        named = str(extra["hub"]).upper()
        options["metavar"] = pair(kind, named) if origin is dict else named
    action = parser.add_argument(flag_of(key), **options)
    if field.is_required() and "." not in key:
        parser.needed.append(action)


def default_text(value: Any) -> str:
    """Return a value as a command line would give it."""
    if isinstance(value, dict):
        return " ".join(f"{name}={default_text(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(default_text, value))
    return "on" if value is True else str(value)


def pair(kind: Any, value: str) -> str:
    return f"{'STEP' if get_args(kind)[0] is int else 'NAME'}={value}"


def metavar(kind: Any) -> str:
    kind = plain(kind)
    if get_origin(kind) is dict:
        return pair(kind, metavar(get_args(kind)[1]))
    if get_origin(kind) in (list, tuple):
        return metavar(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "JSON"
    return {Path: "PATH", int: "N", float: "X"}.get(kind, "VALUE")


def leading(words: Sequence[str], most: int | None = None) -> tuple[list[str], list[str]]:
    """Return the words before the first flag, at most so many, and the rest.

    Without any words the rest is ``--help``.
    """
    named = [*takewhile(lambda word: not word.startswith("-"), words[:most])]
    return named, [*words[len(named) :]] if words else ["--help"]


def asks_for_help(flags: Sequence[str]) -> bool:
    return not {"-h", "--help"}.isdisjoint(flags)


@of_usage()
def values_of(
    models: Sequence[type[BaseModel]], name: str, about: str | None, words: Sequence[str]
) -> dict[str, Any]:
    """Return what a command line gives, by key; parts as mappings.

    Raises :class:`RevocabError` for flags that there are not, with the nearest ones.
    """
    fields = {key: field for model in models for key, field in leaves(model)}
    extras = [field.json_schema_extra for field in fields.values()]
    named = "MODEL" in name or any(isinstance(extra, dict) and "hub" in extra for extra in extras)
    parser = Parser(
        prog=name, description=about, epilog=NAMED if named else None, allow_abbrev=False
    )
    for key, field in fields.items():
        add_flag(parser, key, field)
    known = [flag for action in parser._actions for flag in action.option_strings]
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    unknown = [flag for flag in dict.fromkeys(flags) if flag not in known]
    if unknown:
        raise RevocabError(
            f"{flag}: no such flag; see {name} --help{near(flag, known)}" for flag in unknown
        )
    parsed = vars(parser.parse_args(list(words)))
    nested: dict[str, Any] = {}
    for key, value in parsed.items():
        *parts, last = key.split(".")
        inner = nested
        for part in parts:
            inner = inner.setdefault(part, {})
        inner[last] = value_of(key, plain(fields[key].annotation), value)
    return nested


@of_usage()
def value_of(key: str, kind: Any, value: Any) -> Any:
    if get_origin(kind) is dict:
        wrong = [word for word in value if not word.partition("=")[2]]
        if wrong:
            form = pair(kind, "VALUE")
            also = f", such as 0={wrong[0]}" if form.startswith("STEP") else ""
            raise RevocabError(
                f"{flag_of(key)} {word!r}: expected {form}{also or named_as(key, kind, word)}"
                for word in wrong
            )
        inner = get_args(kind)[1]
        # The value has no "=" of its own more often than the name (a special token) has one.
        cut = "rpartition" if inner is str else "partition"
        pairs = [getattr(word, cut)("=")[::2] for word in value]
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise RevocabError(f"{flag_of(key)}: {name!r} is given twice" for name in twice)
        return {name: element(inner, text) for name, text in pairs}
    if get_origin(kind) in (list, tuple):
        return [element(get_args(kind)[0], word) for word in value]
    return element(kind, value) if isinstance(value, str) else value


def named_as(key: str, kind: Any, word: str) -> str:
    """Return what to write for a file without its name, which is the file's where it has one, or
    the code of the language that the file is named after.
    """
    if get_args(kind)[1] is not Path or word.endswith("="):
        return ""
    from revocab.languages import codes_by_name

    name = Path(word).name.partition(".")[0] or "NAME"
    name = codes_by_name().get(name.lower(), name)
    return f"; write {flag_of(key)} {name}={word}"


def element(kind: Any, text: str) -> Any:
    """Return one value as a model reads it: JSON for a part, YAML where any type may stand."""
    kind = plain(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return parse_json(text, repr(text[:LONGEST]))
    listed = get_origin(kind) in (list, tuple) and text.lstrip().startswith("[")
    if kind is Any or listed:
        try:
            return yaml_file.parse(text)[0]
        except yaml.YAMLError as error:
            raise RevocabError(f"{text[:LONGEST]!r}{yaml_file.fault(error)}") from None
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        return text  # the model says what is wrong with it
