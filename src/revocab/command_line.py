"""A command line from a model: a flag for each of its values, with help, choices and default.

cyclopts reads the words and prints the help, and pydantic checks all values together, so that
everything wrong with a call is named at once.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from revocab import yaml_file
from revocab.closed import Closed, Job, is_model, kinds_in, plain, problems_of, unknown
from revocab.errors import LONGEST, RevocabError, UsageError, refuse
from revocab.io import parse_json

#: Parameters of a verb that are models, whose fields are flags.
FLAT = ("inputs", "options", "machine")
#: Parts of the help, in their order.
PANELS = INPUTS, OPTIONS, MACHINE = "Inputs and output", "Options", "Machine"
HUB_IDS = (
    "MODEL and TOKENIZER are folders, or Hub ids such as mistralai/Mistral-7B-v0.1, also with"
    " @revision."
)


class Shorthand(Closed):
    """Flags that stand for others of a verb, and that no rule knows."""

    def spelt_out(self, flags: dict[str, Any], options: type[Job]) -> dict[str, Any]:
        """Return the flags with what these stand for among a verb's options.

        Raises :class:`RevocabError` where they stand for nothing.
        """
        return flags


class Leaf(NamedTuple):
    """A value of a call that has a flag of its own."""

    #: Parameter and, of a model, the fields on the way.
    path: tuple[str, ...]
    field: FieldInfo

    @property
    def key(self) -> str:
        return ".".join(self.path[self.path[0] in FLAT and len(self.path) > 1 :])

    @property
    def kind(self) -> Any:
        return plain(self.field.annotation)

    @property
    def constant(self) -> tuple[Any, ...]:
        """Return the one value that is allowed, if it is one: the kind, which the verb names."""
        values = get_args(self.kind) if get_origin(self.kind) is Literal else ()
        return values if len(values) == 1 else ()

    @property
    def panel(self) -> str:
        if self.path[0] == "options" and len(self.path) > 1:
            return OPTIONS
        extra = self.field.json_schema_extra
        model = isinstance(extra, dict) and "hub" in extra
        return INPUTS if model or Path in {*kinds_in(self.kind)} else MACHINE


def leaves(model: type[BaseModel], *path: str) -> Iterator[Leaf]:
    """Yield everything in a model that is no model itself."""
    for name, field in model.model_fields.items():
        inner = plain(field.annotation)
        if is_model(inner):
            yield from leaves(inner, *path, name)
        else:
            yield Leaf((*path, field.alias or name), field)


def flag_of(key: str) -> str:
    return "--" + key.replace("_", "-")


@dataclass(frozen=True)
class CommandLine:
    """The words that a model is read from."""

    #: As a person begins it: ``revocab pack``.
    name: str
    about: str | None
    model: type[BaseModel]
    shorthand: type[Shorthand] = Shorthand
    positional: Sequence[str] = ()

    @cached_property
    def known(self) -> dict[str, Leaf]:
        short = [Leaf(("options", *leaf.path), leaf.field) for leaf in leaves(self.shorthand)]
        every = [*leaves(self.model), *short]
        return {leaf.key: leaf for leaf in every if not leaf.constant}

    def read(self, words: Sequence[str]) -> Any:
        """Return the model; raise :class:`RevocabError` with all that is wrong."""
        texts = self.parse(words)
        try:
            flags = {key: value_of(self.known[key], value) for key, value in texts.items()}
        except RevocabError as error:
            first = next(iter(self.positional), "")
            if not first or first in texts:
                raise
            # A word after a flag of several is one of them.
            order = f"{first.upper()} comes first: {self.name} {first.upper()} …"
            raise RevocabError([order, *error.problems]) from None
        short = {key: flags.pop(key) for key in self.shorthand.model_fields if key in flags}
        if short:
            options: Any = self.model.model_fields["options"].annotation
            flags = self.checked(self.shorthand, short).spelt_out(flags, options)
        by_path = {self.known[key].path: value for key, value in flags.items()}
        return self.checked(self.model, self.nested(by_path))

    @cached_property
    def keywords(self) -> dict[str, tuple[str, ...]]:
        """Return what a Python program may give, as the way to it in the model: the keys of flags;
        what has several flags (``--parallel.kind``, …) is one mapping.
        """
        return {
            key.partition(".")[0]: leaf.path[: len(leaf.path) - key.count(".")]
            for key, leaf in self.known.items()
        }

    def of(self, **values: Any) -> Any:
        """Return the model of a Python program's keywords; None stands for a default.

        Raises :class:`RevocabError` with all that is wrong.
        """
        problems = [
            unknown(self.name, key, self.keywords, "keyword")
            for key in values
            if key not in self.keywords
        ]
        by_path = {
            self.keywords[key]: os.fspath(value) if isinstance(value, os.PathLike) else value
            for key, value in values.items()
            if key in self.keywords and value is not None
        }
        try:
            model = self.model.model_validate(self.nested(by_path))
        except ValidationError as error:
            problems += [
                f"{self.name}: {without_part(each)}" for each in problems_of(error, self.model)
            ]
        refuse(problems)
        return model

    def words(self, **values: Any) -> list[str]:
        """Return the words of a command line that says the same as a program's keywords."""
        first = {key: values.pop(key) for key in self.positional if key in values}
        words = [str(value) for value in first.values() if value is not None]
        for key, value in values.items():
            if value is None or value is False:
                continue
            words.append(flag_of(key))
            if isinstance(value, dict):
                words += [f"{name}={inner}" for name, inner in value.items()]
            elif isinstance(value, list | tuple):
                words += map(str, value)
            elif value is not True:
                words.append(str(value))
        return words

    def nested(self, by_path: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
        """Return values as the model has them, its parts as mappings: what a part lacks is named
        there.
        """
        values: dict[str, Any] = {
            key: {}
            for key, field in self.model.model_fields.items()
            if is_model(plain(field.annotation))
        }
        constants = {leaf.path: leaf.constant[0] for leaf in leaves(self.model) if leaf.constant}
        for path, value in {**by_path, **constants}.items():
            *way, last = path
            inner = values
            for part in way:
                inner = inner.setdefault(part, {})
            inner[last] = value
        return values

    def checked(self, model: type[BaseModel], values: dict[str, Any]) -> Any:
        try:
            return model.model_validate(values)
        except ValidationError as error:
            raise RevocabError(map(self.by_flag, problems_of(error, model))) from None

    def by_flag(self, problem: str) -> str:
        """Return a problem with flags in place of keys."""
        problem = without_part(problem)
        key, mark, rest = problem.partition(": ")
        if key in self.positional:
            return f"{key.upper()}: {rest}; see {self.name} --help"
        if problem.startswith("exactly one of "):
            keys = "|".join(self.known)
            return re.sub(rf"\b({keys})\b", lambda key: flag_of(key[0]), problem)
        return f"{flag_of(key)}: {rest}" if mark and key and " " not in key else problem

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the texts, lists of texts and truth values that are given, by key.

        Raises :class:`UsageError` for words that cannot be read; ends after printing the help.
        """
        from cyclopts import App, CycloptsError

        def values(*positional: Any, **flags: Any) -> dict[str, Any]:
            words = dict(zip(self.positional, positional, strict=False)) | flags
            return {key.replace("__", "."): word for key, word in words.items() if word is not None}

        parameters = sorted(map(self.parameter, self.known.values()), key=lambda each: each.kind)
        values.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        values.__annotations__ = {each.name: each.annotation for each in parameters}
        models = {metavar(leaf) for leaf in self.known.values()} & {"MODEL", "TOKENIZER"}
        usage = " ".join(["Usage:", self.name, *map(str.upper, self.positional), "[flags]"])
        app = App(
            name=self.name, usage=usage,
            help=paragraphs(self.about), help_format="plaintext", version_flags=[],
            help_epilogue=HUB_IDS if models else None, result_action="return_value",
            exit_on_error=False, print_error=False, help_on_error=False,
        )  # fmt: skip
        app["--help"].show = False
        app.default(values)
        joined: list[str] = []
        for word in words:  # cyclopts takes a lone "-" for a flag
            if word == "-" and joined:
                joined[-1] += "=-"
            else:
                joined.append(word)
        try:
            result = app(joined)
        except CycloptsError as error:
            problem = " ".join(str(error).split()).rstrip(".")
            problem = problem.replace("Unused Tokens: ", "no flag takes the words ")
            raise UsageError(f"{problem}; see {self.name} --help") from None
        if result is None:  # the help was printed
            raise SystemExit(0)
        return result

    def parameter(self, leaf: Leaf) -> inspect.Parameter:
        """Return what cyclopts knows of a flag: a text, a list of texts or a switch."""
        from cyclopts import Group, Parameter

        kind = leaf.kind
        several = get_origin(kind) in (list, tuple, dict)
        hint: Any = bool if kind is bool else list[str] if several else str
        kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        where = kinds[leaf.key in self.positional]
        facts = Parameter(
            name=flag_of(leaf.key), help=help_of(leaf),
            group=Group(leaf.panel, sort_key=PANELS.index(leaf.panel)),
            metavar=None if kind is bool else metavar(leaf), consume_multiple=several,
            negative=None if kind is bool else (), allow_repeating=True, show_default=False,
        )  # fmt: skip
        name = leaf.key.replace(".", "__")
        hint = Annotated[hint | None, facts]
        return inspect.Parameter(name, where, default=None, annotation=hint)


def without_part(problem: str) -> str:
    """Return a problem without the parameter whose fields are flags."""
    part, dot, _ = problem.partition(": ")[0].partition(".")
    return problem.removeprefix(part + (dot or ": ")) if part in FLAT else problem


# --- a flag's help and its value ------------------------------------------------------------------


def paragraphs(text: str | None) -> str:
    parts = (text or "").replace("``", "").split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


def help_of(leaf: Leaf) -> str:
    field, kind = leaf.field, leaf.kind
    about = [field.description] if field.description else []
    if get_origin(kind) is Literal:
        *others, last = map(str, get_args(kind))
        about.append(f"{', '.join(others)} or {last}" if others else last)
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if field.is_required() and len(leaf.path) <= 2:
        about.append("required")
    elif default not in (None, False, [], {}, ()):
        about.append(f"default: {default_text(default)}")
    return "; ".join(about)


def default_text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={default_text(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(default_text, value))
    return "on" if value is True else str(value)


def pair(kind: Any, value: str) -> str:
    return f"{'STEP' if get_args(kind)[0] is int else 'NAME'}={value}"


def metavar(leaf: Leaf) -> str:
    extra, kind = leaf.field.json_schema_extra, leaf.kind
    value = str(extra["hub"]).upper() if isinstance(extra, dict) and "hub" in extra else None
    if get_origin(kind) is dict:
        return pair(kind, value or kind_name(get_args(kind)[1]))
    return value or kind_name(kind)


def kind_name(kind: Any) -> str:
    kind = plain(kind)
    if get_origin(kind) in (list, tuple):
        return kind_name(get_args(kind)[0])
    names = {Path: "PATH", int: "N", float: "X"}
    return "JSON" if any(map(is_model, kinds_in(kind))) else names.get(kind, "VALUE")


def value_of(leaf: Leaf, value: Any) -> Any:
    """Return a flag's value for pydantic, which turns its texts into numbers and paths.

    Raises :class:`RevocabError` for pairs without a name or value, and for a name given twice.
    """
    kind = leaf.kind
    if get_origin(kind) is dict:
        inner = plain(get_args(kind)[1])
        if wrong := [word for word in value if not word.partition("=")[2]]:
            form = pair(kind, "VALUE")
            raise RevocabError(
                f"{flag_of(leaf.key)} {word!r}: expected {form}{named_as(leaf, word)}"
                for word in wrong
            )
        # The value has no "=" of its own more often than the name (a special token) has one.
        cut = "rpartition" if inner is str else "partition"
        pairs = [getattr(word, cut)("=")[::2] for word in value]
        names = [name for name, _ in pairs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise RevocabError(f"{flag_of(leaf.key)}: {name!r} is given twice" for name in twice)
        return {name: element(inner, text) for name, text in pairs}
    if get_origin(kind) in (list, tuple):
        return [element(plain(get_args(kind)[0]), word) for word in value]
    return element(kind, value) if isinstance(value, str) else value


def named_as(leaf: Leaf, word: str) -> str:
    """Return what to write for a file without its name, which is the file's where it has one, or
    the code of the language that the file is named after; of a step the first.
    """
    names, values = get_args(leaf.kind)
    if plain(values) is not Path or word.endswith("="):
        return ""
    from revocab.languages import codes_by_name

    name = Path(word).name.partition(".")[0] or "NAME"
    name = "0" if names is int else codes_by_name().get(name.lower(), name)
    return f"; write {flag_of(leaf.key)} {name}={word}"


def element(kind: Any, text: str) -> Any:
    """Return one value: JSON for a part, YAML where any type may stand, numbers for shorthands."""
    if any(map(is_model, kinds_in(kind))):
        return parse_json(text, repr(text[:LONGEST]))
    if kind is Any or (get_origin(kind) in (list, tuple) and text.lstrip().startswith("[")):
        try:
            return yaml_file.parse(text)[0]
        except yaml.YAMLError as error:
            raise RevocabError(f"{text[:LONGEST]!r}{yaml_file.fault(error)}") from None
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        return text  # the model says what is wrong with it
