"""Reference pages for the site, from the code: the commands with their flags, and Python."""

from __future__ import annotations

import inspect
import io
from contextlib import redirect_stdout, suppress
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

from reference_pages import cell, code, default, sentence

from revocab.__main__ import dispatch
from revocab.verb import CommandLine, Leaf, Verb, command_line, flag_of, metavar
from revocab.verbs import find, places
from revocab.workflow.plan import plan


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
    for name, (place, _) in entry.BEGUN.items():
        lines += verb_part(name, getattr(import_module(place.rpartition(".")[0]), name))
    lines += ["## On an experiment", ""]
    lines += ["### run", "", *help_of("run"), *verb_part("plan", plan)]
    by_hand = {step: name for name, step in entry.VERBS.items()}
    lines += ["## One step by hand", ""]
    for step, name in by_hand.items():
        lines += verb_part(name, find(step))
    lines += ["## Steps behind the workflow's rules", ""]
    lines += ["They have no short name, and take flags like the others.", ""]
    for step in places():
        if step not in by_hand:
            lines += verb_part(step, find(step))
    return "\n".join(lines).rstrip() + "\n"


def verb_part(name: str, verb: Verb) -> list[str]:
    """Return a verb's flags; of one with kinds, those of each."""
    lines = [f"### {name}", "", *paragraphs(verb.function.__doc__)]
    for kind in verb.kinds or [""]:
        line = command_line(verb, name, kind)
        if kind:
            lines += [f"#### {name} {kind}", "", *paragraphs(line.about)]
        lines += flag_table(line)
    return lines


def paragraphs(text: str | None) -> list[str]:
    words = [" ".join(part.split()) for part in (text or "").split("\n\n")]
    return [line for part in words for line in (cell(sentence(part)), "")]


def flag_table(line: CommandLine) -> list[str]:
    rows = []
    for key, leaf in line.known.items():
        value = "" if leaf.kind is bool else f" {value_name(leaf)}"
        meaning = leaf.field.description or ""
        rows.append(
            f"| {code(flag_of(key) + value)} | {default(leaf.field)} | {cell(sentence(meaning))} |"
        )
    return ["| flag | default | meaning |", "| --- | --- | --- |", *rows, ""]


def value_name(leaf: Leaf) -> str:
    choices = get_args(leaf.kind) if get_origin(leaf.kind) is Literal else ()
    return "|".join(map(str, choices)) or metavar(leaf)


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
