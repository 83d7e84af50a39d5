"""Reference pages for the site, from the code: the commands with their flags, and Python."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from typing import Any, Literal, get_args, get_origin

from reference_pages import Model, about, cell, code, default, sentence

from revocab.__main__ import dispatch, verb_of
from revocab.closed import plain
from revocab.command_line import Leaf, flag_of, metavar
from revocab.verb import Verb, command_line
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
    for name in entry.BEGUN:
        lines += verb_part(name, verb_of(name))
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
    """Return a verb's flags, and after them those of each kind alone."""
    line = command_line(verb, name)
    lines = [f"### {name}", "", *paragraphs(verb.function.__doc__)]
    named_by = verb.options.named_by if verb.kinds else ""
    lines += flag_table(line.model, {key: line.known[key] for key in line.known if key != named_by})
    if verb.kinds:
        lines += [f"After the verb stands a {named_by}, with flags of its own:", ""]
    for kind in verb.kinds:
        own = command_line(verb, name, kind)
        lines += paragraphs(f"**{kind}**: {own.about}")
        flags = {key: leaf for key, leaf in own.known.items() if key not in line.known}
        lines += flag_table(own.model, flags) if flags else []
    return lines


def paragraphs(text: str | None) -> list[str]:
    words = [" ".join(part.split()) for part in (text or "").split("\n\n")]
    return [line for part in words for line in (cell(sentence(part)), "")]


def flag_table(model: Model, known: Mapping[str, Leaf]) -> list[str]:
    rows = []
    for key, leaf in known.items():
        value = "" if leaf.kind is bool else f" {value_name(leaf)}"
        meaning = cell(sentence(flag_about(model, leaf)))
        rows.append(f"| {code(flag_of(key) + value)} | {default(leaf.field)} | {meaning} |")
    return ["| flag | default | meaning |", "| --- | --- | --- |", *rows, ""]


def flag_about(model: Model, leaf: Leaf) -> str:
    if leaf.field.description:
        return leaf.field.description
    for part in leaf.path[:-1]:
        if part not in model.model_fields:  # a shorthand
            return ""
        model = plain(model.model_fields[part].annotation)
    return about(model, leaf.path[-1]) if leaf.path[-1] in model.model_fields else ""


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
    from revocab import __main__ as entry

    lines = [
        "# Python API",
        "",
        "What the package offers to Python programs; nothing else in it promises to keep its name."
        " [From Python](../quickstart.md#from-python) has examples. A keyword with a point is a key"
        " of a mapping: `parallel={'kind': …}`.",
        "",
    ]
    for name in revocab.__all__:
        thing = getattr(revocab, name)
        lines += [f"## {name}", ""]
        if inspect.isfunction(thing):
            lines += ["```python", signature(name, thing), "```", ""]
        for part in inspect.getdoc(thing).split("\n\n"):
            lines += [cell(sentence(" ".join(part.split()))), ""]
        if name in {*entry.BEGUN, *entry.VERBS}:
            lines += keyword_table(name)
    return "\n".join(lines).rstrip() + "\n"


def keyword_table(name: str) -> list[str]:
    """Return the keywords of a verb's function, but for those of one kind; a key with a point is
    one of a mapping.
    """
    line = command_line(verb_of(name), name)
    rows = [
        f"| {code(key)} | {default(leaf.field)} | {cell(sentence(flag_about(line.model, leaf)))} |"
        for key, leaf in line.known.items()
    ]
    return ["| keyword | default | meaning |", "| --- | --- | --- |", *rows, ""]


def signature(name: str, function: Any) -> str:
    """Return a function's first line as it is written, without the values that are objects."""
    source = inspect.getsource(function)
    return source[: source.index(':\n    """')].removeprefix("def ").join(["def ", ""])
