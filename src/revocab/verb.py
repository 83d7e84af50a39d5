"""What a verb is: an annotated function, called by people with flags and by rules of the workflow.

A parameter that is a path, or holds paths, is an input; ``options`` is what decides the result
beside the inputs; ``out`` is where the verb writes. All others, and the fields of ``machine``, are
what a computer decides and no result depends on. cyclopts reads the words and prints the help, and
pydantic checks all values together, so that everything wrong with a call is named at once.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    get_args,
    get_origin,
    get_type_hints,
)

import yaml
from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from revocab import yaml_file
from revocab.closed import (
    OF_FOLDERS,
    Closed,
    Job,
    OfKinds,
    checked,
    is_model,
    kind_of,
    kinds_in,
    look_up,
    models_of,
    plain,
    problems_of,
)
from revocab.errors import RevocabError, UsageError, of_usage
from revocab.io import parse_json
from revocab.wording import LONGEST

#: Parameters that are models, whose fields are flags.
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


class Call(NamedTuple):
    """A command line, read and checked."""

    #: A value for each parameter of the verb.
    arguments: Any
    #: Of a rule: the rule and its wildcards, joined by ``--``; empty: a person called.
    job: str = ""


@dataclass(frozen=True)
class Verb:
    """An annotated function, and what its signature does not say."""

    function: Callable[..., str | None]
    #: What is written, for the help.
    out: str = "folder to write"
    writes: Literal["folder", "file"] = "folder"
    #: Of one that makes a model of a model: the input, and which folders below the output are
    #: models. By hand, what :mod:`revocab.model_check` finds in them at a glance is printed.
    remakes: tuple[str, str] | None = None
    #: Folders of the package whose modules it finds at run time (:mod:`revocab.extensions`).
    finds: tuple[str, ...] = ()
    #: Flags by hand alone.
    shorthand: type[Shorthand] = Shorthand

    def __call__(self, words: Sequence[str]) -> str | None:
        """Do what the words of a person say, and return what the terminal shows."""
        arguments = dict(read(self, f"revocab {self.name}", words).arguments)
        if "words" in inspect.signature(self.function).parameters:
            arguments["words"] = words
        return self.function(**arguments)

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def model(self) -> type[BaseModel]:
        """Return the model of a call's values, a field for each parameter."""
        hints = get_type_hints(self.function, include_extras=True)
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(self.function).parameters.items():
            hint, default = hints[name], parameter.default
            if name == "words":  # the command line itself
                continue
            if default is parameter.empty:
                default = Field(default_factory=hint) if has_defaults(hint) else ...
                if name == "out":
                    default = Field(description=self.out)
            fields[name] = hint, default
        return create_model(self.name, __base__=Closed, **fields)

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """Return the models of its options by kind, for those that are of some kind."""
        options = self.options
        of_kinds = is_model(options) and issubclass(options, OfKinds) and not kind_of(options)
        return models_of(options) if of_kinds else {}

    @cached_property
    def positional(self) -> list[str]:
        """Return the parameters that a person may give without a flag, in their order."""
        parameters = inspect.signature(self.function).parameters.values()
        return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]

    @property
    def options(self) -> Any:
        """Return the type of its options, or None."""
        field = self.model.model_fields.get("options")
        return field and field.annotation

    @cached_property
    def machine(self) -> dict[str, FieldInfo]:
        """Return the fields of what a computer decides, by the names of their flags."""
        return {leaf.key: leaf.field for leaf in leaves(self.model) if leaf.panel == MACHINE}


def has_defaults(hint: Any) -> bool:
    return is_model(hint) and not any(field.is_required() for field in hint.model_fields.values())


def verb(**facts: Any) -> Callable[[Callable[..., str | None]], Verb]:
    """Make a function a verb; ``facts`` are fields of :class:`Verb`."""
    return lambda function: Verb(function, **facts)


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


# --- reading a command line -----------------------------------------------------------------------


@of_usage()
def read(verb: Verb, name: str, words: Sequence[str]) -> Call:
    """Return the call that a command line makes.

    Raises :class:`UsageError` naming every flag that is missing, unknown or wrong; prints the help
    and ends where that is wanted.
    """
    if "--job" in words:
        return read_rule(verb, name, words)
    if not words and any(field.is_required() for field in verb.model.model_fields.values()):
        words = ["--help"]
    if not verb.kinds:
        return Call(command_line(verb, name).read(words))
    if not words or words[0].startswith("-"):
        kinds_page(verb, name, words)
    return Call(command_line(verb, name, words[0]).read(words[1:]))


def command_line(verb: Verb, name: str, kind: str = "") -> CommandLine:
    """Return how a person calls a verb, whose options may be of a ``kind``.

    Raises :class:`RevocabError` for a kind that there is not.
    """
    model, about = verb.model, verb.function.__doc__
    if kind:
        options = look_up(name, kind, verb.kinds, verb.options.named_by)
        model = create_model(verb.name, __base__=model, options=(options, ...))
        name, about = f"{name} {kind}", options.__doc__
    return CommandLine(name, about, model, verb.shorthand, verb.positional)


def kinds_page(verb: Verb, name: str, words: Sequence[str]) -> NoReturn:
    """Print the kinds of a verb and end, or raise :class:`UsageError` for flags before a kind."""
    from cyclopts import App, Group

    what = verb.options.named_by
    if set(words) - {"--help", "-h"}:
        flag = flag_of(what) if flag_of(what) in words else words[0]
        raise UsageError(f"{flag}: write the {what} after the verb: {name} {what.upper()} …")
    app = App(
        name=name, usage=f"Usage: {name} {what.upper()} [flags]", help_format="plaintext",
        help=paragraphs(verb.function.__doc__), version_flags=[],
    )  # fmt: skip
    app["--help"].show = False
    group = Group(what)
    for kind, options in verb.kinds.items():
        summary = (options.__doc__ or "").partition("\n\n")[0]
        app.command(print, name=kind, help=summary, group=group)
    app.help_print([])
    print(f"{name} {next(iter(verb.kinds))} --help lists its flags")
    raise SystemExit(0)


def read_rule(verb: Verb, name: str, words: Sequence[str]) -> Call:
    """Return the call of a rule, whose options are JSON, or ``-`` for standard input."""
    model: Any = create_model(verb.name, __base__=verb.model, options=(str, "{}"), job=(str, ...))
    values = CommandLine(name, None, model).read(spelt_out(words, model))
    arguments = {key: getattr(values, key) for key in verb.model.model_fields}
    if "options" in arguments:
        text = sys.stdin.read() if values.options == "-" else values.options
        arguments["options"] = checked(verb.options, text, "options")
    if verb.writes == "folder" and arguments["out"].name in OF_FOLDERS:
        arguments["out"] = arguments["out"].parent
    return Call(verb.model.model_construct(**arguments), "--".join(values.job.split()))


def spelt_out(words: Sequence[str], model: type[BaseModel]) -> list[str]:
    """Return a rule's words as a person would give them: a flag of an input that its job has not is
    followed by nothing, and a file that has a name needs none before it.
    """
    kinds = {flag_of(leaf.key): leaf.kind for leaf in leaves(model) if leaf.panel == INPUTS}
    spelt, by_name = [], False
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            by_name = get_origin(kinds.get(word)) is dict
            if word in kinds and after.startswith("--"):
                continue
        elif by_name and "=" not in word:
            path = Path(word)
            stem = path.parent.name if path.name in OF_FOLDERS else path.with_suffix("").name
            spelt.append(f"{stem}={word}")
            continue
        spelt.append(word)
    return spelt


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
        """Return what has a flag, by key."""
        short = [Leaf(("options", *leaf.path), leaf.field) for leaf in leaves(self.shorthand)]
        found = [*leaves(self.model), *short]
        return {leaf.key: leaf for leaf in found if not leaf.constant}

    def read(self, words: Sequence[str]) -> Any:
        """Return the model; raise :class:`RevocabError` with all that is wrong."""
        flags = self.parse(words)
        flags = {key: value_of(self.known[key], value) for key, value in flags.items()}
        short = {key: flags.pop(key) for key in self.shorthand.model_fields if key in flags}
        if short:
            options: Any = self.model.model_fields["options"].annotation
            flags = self.checked(self.shorthand, short).spelt_out(flags, options)
        # What a part lacks is named there.
        values: dict[str, Any] = {
            key: {}
            for key, field in self.model.model_fields.items()
            if is_model(plain(field.annotation))
        }
        found = {self.known[key].path: value for key, value in flags.items()}
        found |= {leaf.path: leaf.constant[0] for leaf in leaves(self.model) if leaf.constant}
        for path, value in found.items():
            *way, last = path
            inner = values
            for part in way:
                inner = inner.setdefault(part, {})
            inner[last] = value
        return self.checked(self.model, values)

    def checked(self, model: type[BaseModel], values: dict[str, Any]) -> Any:
        try:
            return model.model_validate(values)
        except ValidationError as error:
            raise RevocabError(map(self.by_flag, problems_of(error, model))) from None

    def by_flag(self, problem: str) -> str:
        """Return a problem with flags in place of keys."""
        part, dot, _ = problem.partition(": ")[0].partition(".")
        if part in FLAT:
            problem = problem.removeprefix(part + (dot or ": "))
        key, mark, rest = problem.partition(": ")
        if key in self.positional:
            return f"{key.upper()}: {rest}; see {self.name} --help"
        if problem.startswith("exactly one of "):
            keys = "|".join(self.known)
            return re.sub(rf"\b({keys})\b", lambda found: flag_of(found[0]), problem)
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
            found = app(joined)
        except CycloptsError as error:
            raise UsageError(f"{' '.join(str(error).split())}; see {self.name} --help") from None
        if found is None:  # the help was printed
            raise SystemExit(0)
        return found

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
    """Return a value as a command line would give it."""
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
    return "JSON" if is_model(kind) else names.get(kind, "VALUE")


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
    """Return one value: JSON for a part, YAML where any type may stand."""
    if is_model(kind):
        return parse_json(text, repr(text[:LONGEST]))
    if kind is Any or (get_origin(kind) in (list, tuple) and text.lstrip().startswith("[")):
        try:
            return yaml_file.parse(text)[0]
        except yaml.YAMLError as error:
            raise RevocabError(f"{text[:LONGEST]!r}{yaml_file.fault(error)}") from None
    return text
