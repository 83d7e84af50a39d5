"""What a command is: named inputs, options, what the machine decides, and a function of the three.

Every rule of the workflow and every verb by hand is one :class:`Command` in ``commands/``. Inputs
and what the machine decides are flags, with help, choices and defaults from their models. So are
the options by hand; a rule gives them as JSON (``--options``), with its job's name (``--job``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from pydantic import BaseModel, Field, ValidationError, create_model

from revocab.closed import (
    OF_FOLDERS,
    Closed,
    Folder,
    Job,
    OfKinds,
    checked,
    kind_of,
    models_of,
    plain,
    problems_of,
    unknown,
)
from revocab.errors import RevocabError, UsageError, all_of, of_usage
from revocab.flags import asks_for_help, flag_of, leading, values_of

AnyModel = TypeVar("AnyModel", bound=BaseModel)
#: Parameters of a command's function, beside where it writes.
PARTS = ("inputs", "job", "machine")


class Nothing(Closed):
    """The inputs or the machine options of a command that has none."""


class Shorthand(Closed):
    """Flags that stand for others of a command, and that no job or rule knows."""

    def spelt_out(self, flags: dict[str, Any], job: type[Job]) -> dict[str, Any]:
        """Return the flags that are given with what these stand for in a job.

        Raises :class:`RevocabError` where they stand for nothing.
        """
        return flags


@dataclass(frozen=True)
class Command:
    """One command: ``run(inputs, job, machine, out)`` reads the inputs, writes ``out``.

    The types of its parameters are the models of ``inputs`` (paths of files and folders, by name),
    ``job``, and ``machine`` (what a computer decides and no output depends on: devices, threads,
    sizes of batches). It may return what was made and what comes next, for the person who called it
    by hand.
    """

    run: Callable[[Any, Any, Any, Path], str | None]
    #: By hand alone.
    shorthand: type[Shorthand] = Shorthand
    #: What is written, for the help.
    out: str = "folder to write"
    writes: Literal["folder", "file"] = "folder"
    #: Of one that makes a model of a model: the input, and which folders below the output are
    #: models. By hand, what :mod:`revocab.model_check` finds in them at a glance is told.
    remakes: tuple[str, str] | None = None
    #: Folders of the package whose modules it finds at run time (:mod:`revocab.extensions`).
    finds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.run.__module__.rpartition(".")[2]

    @cached_property
    def parts(self) -> dict[str, type[Closed]]:
        types = get_type_hints(self.run)
        return {name: types[name] for name in PARTS}

    @property
    def inputs(self) -> Any:
        return self.parts["inputs"]

    @property
    def job(self) -> Any:
        return self.parts["job"]

    @property
    def machine(self) -> type[Closed]:
        return self.parts["machine"]


@dataclass(frozen=True)
class Call:
    """A command line, read and checked."""

    inputs: Any
    job: Any
    machine: Any
    out: Path
    #: Of a rule: the name of its job.
    name: str = ""
    #: Whether a person typed it: models may then be named by their Hub ids.
    by_hand: bool = field(default=False, compare=False)


class Written(Closed):
    """What a rule says beside inputs and machine."""

    out: Folder
    #: The rule and its wildcards, which the marker of what is written names.
    job: str
    #: JSON, or - where it comes from standard input.
    options: str = "{}"


def read(command: Command, name: str, words: Sequence[str]) -> Call:
    """Return the call that a command line makes.

    Raises :class:`RevocabError` naming every key that is missing, unknown or wrong; ends with the
    help where that is wanted.
    """
    return (_of_rule if "--job" in words else _by_hand)(command, name, words)


@of_usage()
def _of_rule(command: Command, name: str, words: Sequence[str]) -> Call:
    models = [command.inputs, command.machine, Written]
    values = values_of(models, name, None, spelt_out(words, command.inputs))

    def part(model: type[BaseModel]) -> Any:
        return of_flags(model, {key: values[key] for key in model.model_fields if key in values})

    inputs, machine, written = all_of(partial(part, model) for model in models)
    options = sys.stdin.read() if written.options == "-" else written.options
    out = written.out if command.writes == "folder" else Path(values["out"])
    job = checked(command.job, options, "options")
    return Call(inputs, job, machine, out, "--".join(written.job.split()))


def spelt_out(words: Sequence[str], inputs: type[Closed]) -> list[str]:
    """Return a rule's words as a person would give them: a flag of an input that its job has not is
    followed by nothing, and a file that has a name needs none before it.
    """
    spelt, fields = [], {flag_of(key): field for key, field in inputs.model_fields.items()}
    by_id = False
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            kind = plain(fields[word].annotation) if word in fields else None
            by_id = get_origin(kind) is dict
            if word in fields and after.startswith("--"):
                continue
        elif by_id and "=" not in word:
            path = Path(word)
            named = path.parent.name if path.name in OF_FOLDERS else path.with_suffix("").name
            spelt.append(f"{named}={word}")
            continue
        spelt.append(word)
    return spelt


@of_usage()
def _by_hand(command: Command, name: str, words: Sequence[str]) -> Call:
    written = create_model("Written", out=(Path, Field(description=command.out)))
    job, name, about, words = kind_by_hand(command, name, words)
    parts: list[type[BaseModel]] = [command.inputs, job, command.machine, written]
    values = values_of([*parts[:-1], command.shorthand, written], name, about, words)
    short = {key: values.pop(key) for key in command.shorthand.model_fields if key in values}
    values = of_flags(command.shorthand, short).spelt_out(values, job)
    if issubclass(job, OfKinds):
        values[job.named_by] = kind_of(job)

    def part(model: type[BaseModel]) -> Any:
        return of_flags(model, {key: values[key] for key in model.model_fields if key in values})

    inputs, options, machine, to = all_of(partial(part, model) for model in parts)
    return Call(inputs, options, machine, to.out, by_hand=True)


def kind_by_hand(
    command: Command, name: str, words: Sequence[str]
) -> tuple[Any, str, str, Sequence[str]]:
    """Return the model of a job that a person writes, its name, what the help says of it, and the
    other words: where a job is of kinds, the first word is the kind.
    """
    about = sys.modules[command.run.__module__].__doc__ or ""
    if not issubclass(command.job, OfKinds):
        return command.job, name, about, words
    key, models = command.job.named_by, models_of(command.job)
    kind = next(iter(words), "")
    if kind in models:
        return models[kind], f"{name} {kind}", f"{kind}: {models[kind].__doc__}", words[1:]
    if asks_for_help(words[:1]):
        kinds = (f"{kind}: {model.__doc__}".partition("\n\n")[0] for kind, model in models.items())
        page = [about, f"{name} {key.upper()} --help tells its options. Allowed are:", *kinds]
        return command.job, name, "\n\n".join(page), words
    for number, word in enumerate(words):
        flag, _, value = word.partition("=")
        if flag == flag_of(key):
            form = " ".join([name, value or "".join(words[number + 1 : number + 2]), "…"])
            raise UsageError(f"{flag}: write the {key} after the verb: {form}")
    if kind and not kind.startswith("-"):
        raise UsageError(unknown(name, kind, models, key))
    raise UsageError(f"{name}: write a {key} after the verb: {', '.join(models)}")


def options_of(model: type[AnyModel], name: str, about: str, words: Sequence[str]) -> AnyModel:
    return of_flags(model, values_of([model], name, about, words))


def named_and_flags(
    model: type[AnyModel], words: Sequence[str], name: str, about: str, missing: str, count: int = 1
) -> tuple[list[str], AnyModel]:
    """Return the words before the flags, of which ``count`` are needed, and what the flags say.

    Raises :class:`UsageError` with ``missing`` where there are fewer.
    """
    named, flags = leading(words, count)
    if len(named) < count and not asks_for_help(flags):
        raise UsageError(missing)
    return named, options_of(model, name, about, flags)


@of_usage()
def of_flags(model: type[AnyModel], values: dict[str, Any]) -> AnyModel:
    """Return what flags say; raise :class:`RevocabError` that names flags in place of keys."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RevocabError(_as_flag(line, model) for line in problems_of(error, model)) from None


def _as_flag(problem: str, model: type[BaseModel]) -> str:
    if problem.startswith("exactly one of "):
        keys = "|".join(model.model_fields)
        return re.sub(rf"\b({keys})\b", lambda found: flag_of(found[0]), problem)
    key, mark, rest = problem.partition(": ")
    return f"{flag_of(key)}{mark}{rest}" if mark and " " not in key else problem
