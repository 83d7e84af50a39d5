"""What a verb is: an annotated function, called by people with flags and by rules of the workflow.

A parameter that is a path, or holds paths, is an input; ``options`` is what decides the result
beside the inputs; ``out`` is where the verb writes. All others, and the fields of ``machine``, are
what a computer decides and no result depends on.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from revocab.closed import (
    OF_FOLDERS,
    Closed,
    OfKinds,
    checked,
    is_model,
    kind_of,
    look_up,
    models_of,
)
from revocab.command_line import (
    INPUTS,
    MACHINE,
    CommandLine,
    Shorthand,
    flag_of,
    leaves,
    paragraphs,
)
from revocab.errors import UsageError, of_usage


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
    #: models. By hand, what :mod:`revocab.product.check` finds in them at a glance is printed.
    remakes: tuple[str, str] | None = None
    #: Folders of the package whose modules it finds at run time (:mod:`revocab.extensions`).
    finds: tuple[str, ...] = ()
    #: Flags by hand alone.
    shorthand: type[Shorthand] = Shorthand

    def __call__(self, words: Sequence[str]) -> str | None:
        """Do what the words of a person say, and return what the terminal shows."""
        arguments = dict(read_by_hand(self, f"revocab {self.name}", words).arguments)
        parameters = inspect.signature(self.function).parameters
        if "words" in parameters and "words" not in self.model.model_fields:
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
            if hint == Sequence[str]:  # the command line itself
                continue
            if default is parameter.empty:
                filled = is_model(hint) and not any(
                    field.is_required() for field in hint.model_fields.values()
                )
                default = Field(default_factory=hint) if filled else ...
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
        field = self.model.model_fields.get("options")
        return field and field.annotation

    @cached_property
    def machine(self) -> dict[str, FieldInfo]:
        """Return the fields of what a computer decides, by the names of their flags."""
        return {leaf.key: leaf.field for leaf in leaves(self.model) if leaf.panel == MACHINE}


def verb(**facts: Any) -> Callable[[Callable[..., str | None]], Verb]:
    """Make a function a verb; ``facts`` are fields of :class:`Verb`."""
    return lambda function: Verb(function, **facts)


# --- reading a command line -----------------------------------------------------------------------


def read(verb: Verb, name: str, words: Sequence[str]) -> Call:
    """Return the call of a step that a rule's words make, or a person's."""
    return (read_rule if "--job" in words else read_by_hand)(verb, name, words)


@of_usage()
def read_by_hand(verb: Verb, name: str, words: Sequence[str]) -> Call:
    """Return the call that a person's words make.

    Raises :class:`UsageError` naming every flag that is missing, unknown or wrong; prints the help
    and ends where that is wanted.
    """
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


@of_usage()
def read_rule(verb: Verb, name: str, words: Sequence[str]) -> Call:
    """Return the call of a rule, whose options are JSON, or ``-`` for standard input.

    Raises :class:`UsageError` as :func:`read_by_hand`.
    """
    model: Any = create_model(verb.name, __base__=verb.model, options=(str, "{}"), job=(str, ...))
    values = CommandLine(name, None, model).read(spelt_out(words, model))
    arguments = {key: getattr(values, key) for key in verb.model.model_fields}
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
