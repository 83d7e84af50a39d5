"""Print one job of an experiment as a command line to paste into a shell."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from revocab.config import read
from revocab.errors import RevocabError
from revocab.extensions import VARIABLE, own_folder
from revocab.flags import Parser
from revocab.plan.plan import Plan, find_rule, rules


def show_job(words: Sequence[str]) -> str:
    """Return the command of ``RULE [NAME=VALUE …] [--configfile FILE] [--config KEY=VALUE …]``.

    Raises :class:`RevocabError` for a rule or id that the experiment does not have.
    """
    parser = Parser(prog="revocab job", description=__doc__)
    parser.add_argument("rule", help=f"one of {', '.join(sorted(rules()))}")
    parser.add_argument("wildcards", nargs="*", metavar="NAME=VALUE", help="such as run=demo-sava")
    add_experiment(parser)
    arguments = parser.parse_args(words)
    plan = planned(arguments)
    wildcards = pairs(arguments.wildcards)
    rule = find_rule(arguments.rule)
    known = rule.known(plan)
    if {*wildcards} != {*rule.wildcards} or tuple(map(wildcards.get, rule.wildcards)) not in known:
        shown = " ".join(f"{name}={value}" for name, value in wildcards.items()) or "nothing"
        jobs = "; ".join(
            " ".join(f"{name}={value}" for name, value in zip(rule.wildcards, ids, strict=True))
            for ids in known
        )
        raise RevocabError(
            f"rule {arguments.rule!r} with {shown}: no such job in"
            f" {', '.join(map(str, arguments.configfile))} (known: {jobs or 'none'})"
        )
    step = plan.step(arguments.rule, **wildcards)
    own = own_folder()
    start = [] if own is None else ["env", f"{VARIABLE}={own}"]
    return shlex.join([*start, "python", *plan.words(step)])


def add_experiment(parser: Parser) -> None:
    default = [Path("config/demo.yaml")]
    parser.add_argument(
        "--configfile", nargs="+", type=Path, default=default, metavar="FILE",
        help=f"an experiment file and its overlays (default: {default[0]})",
    )  # fmt: skip
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="replace keys of the file"
    )


def flags_of(files: Iterable[str | Path], keys: Sequence[str]) -> list[str]:
    near = [os.path.relpath(file) for file in files]
    return [*(["--configfile", *near] if near else []), *(["--config", *keys] if keys else [])]


def planned(arguments: Namespace) -> Plan:
    """Return the plan of the experiment that a command line names.

    Raises :class:`RevocabError` for an experiment that is not valid.
    """
    return Plan(read(*arguments.configfile, **pairs(arguments.config)))


def pairs(words: Sequence[str]) -> dict[str, str]:
    wrong = [word for word in words if "=" not in word]
    if wrong:
        raise RevocabError(f"{word!r}: expected NAME=VALUE" for word in wrong)
    return dict(word.split("=", 1) for word in words)
