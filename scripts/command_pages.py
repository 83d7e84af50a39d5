"""Reference pages for the site, from the code: the commands with their flags, and Python."""

from __future__ import annotations

import inspect
import io
from collections.abc import Collection, Iterable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from reference_pages import Model, about, cell, code, default, sentence

from revocab.__main__ import dispatch
from revocab.closed import OfKinds, models_of, plain
from revocab.flags import flag_of, leaves, metavar


def command_page() -> str:
    """Return the page of every verb and command with its flags."""
    from revocab import __main__ as entry

    lines = [
        "# Commands and flags",
        "",
        "Every verb of `revocab`, with its flags, from the models that read them. `revocab VERB"
        " --help` prints the same. MODEL and TOKENIZER are folders or Hub ids"
        " (`owner/name`, `owner/name@revision`).",
        "",
        "## To begin with",
        "",
    ]
    for verb, (function, _) in entry.BEGUN.items():
        lines += [f"### {verb}", "", *begun(verb, import_module(function.rpartition(".")[0]))]
    lines += ["## On an experiment", ""]
    for verb in entry.PLANNED:
        lines += [f"### {verb}", "", *help_of(verb)]
    by_hand = {command: verb for verb, command in entry.VERBS.items()}
    files = entry.command_files()
    lines += ["## One step by hand", ""]
    for command in entry.VERBS.values():
        lines += command_part(command, by_hand[command])
    lines += ["## Commands behind the workflow's rules", ""]
    lines += ["They have no short name, and take flags like the others.", ""]
    for command in files:
        if command not in by_hand:
            lines += command_part(command, command)
    return "\n".join(lines).rstrip() + "\n"


def begun(verb: str, module: ModuleType) -> list[str]:
    """Return a verb's flags if its module has their model and ABOUT; else what its help says."""
    model = getattr(module, f"{verb.title()}Options", None)
    if model is None or not hasattr(module, "ABOUT"):
        return help_of(verb)
    return [*paragraphs(module.ABOUT), *flag_table([model])]


def command_part(name: str, verb: str) -> list[str]:
    module = import_module(f"revocab.commands.{name}")
    command = module.COMMAND
    models = [*command.parts.values(), command.shorthand]
    out = f"| `--out PATH` | **required** | {cell(sentence(command.out))} |"
    lines = [f"### {verb}", "", *paragraphs(module.__doc__), *flag_table(models, out)]
    if issubclass(command.job, OfKinds):
        lines += [f"After the verb stands a {command.job.named_by}, with flags of its own:", ""]
        for kind, model in models_of(command.job).items():
            lines += paragraphs(f"**{kind}**: {model.__doc__}")
            own = [key for key, _ in leaves(model) if key not in command.job.model_fields]
            lines += flag_table([model], only=own) if own else []
    return lines


def paragraphs(text: str | None) -> list[str]:
    words = [" ".join(part.split()) for part in (text or "").split("\n\n")]
    return [line for part in words for line in (cell(sentence(part)), "")]


def flag_table(
    models: Iterable[Model], *more: str, only: Collection[str] | None = None
) -> list[str]:
    rows = []
    for model in models:
        for key, field in leaves(model):
            if only is not None and key not in only:
                continue
            kind = plain(field.annotation)
            value = "" if kind is bool else f" {value_name(kind, metavar(kind))}"
            rows.append(
                f"| {code(flag_of(key) + value)} | {default(field)} |"
                f" {cell(sentence(flag_about(model, key)))} |"
            )
    return ["| flag | default | meaning |", "| --- | --- | --- |", *rows, *more, ""]


def value_name(kind: Any, name: str) -> str:
    return "|".join(map(str, get_args(kind))) if get_origin(kind) is Literal else name


def flag_about(model: Model, key: str) -> str:
    for part in key.split(".")[:-1]:
        model = plain(model.model_fields[part].annotation)
    return about(model, key.rpartition(".")[2])


def help_of(verb: str) -> list[str]:
    text = io.StringIO()
    with redirect_stdout(text), suppress(SystemExit):
        dispatch(verb, ["--help"])
    return ["```text", text.getvalue().strip().replace("``", ""), "```", ""]


def python_page() -> str:
    """Return the page of the package's functions, with their signatures and docstrings."""
    import revocab

    lines = [
        "# Python API",
        "",
        "What the package offers to Python programs; nothing else in it promises to keep its name."
        " [From Python](../quickstart.md#from-python) has an example of each.",
        "",
    ]
    for name in revocab.__all__:
        thing = getattr(revocab, name)
        lines += [f"## {name}", ""]
        if inspect.isfunction(thing):
            lines += ["```python", signature(name, thing), "```", ""]
        for part in inspect.getdoc(thing).split("\n\n"):
            lines += [cell(sentence(" ".join(part.split()))), ""]
    return "\n".join(lines).rstrip() + "\n"


def signature(name: str, function: Any) -> str:
    """Return a function's first line as it is written, without the values that are objects."""
    source = inspect.getsource(function)
    return source[: source.index(':\n    """')].removeprefix("def ").join(["def ", ""])
