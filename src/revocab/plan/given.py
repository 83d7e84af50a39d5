"""The experiment that a command line names: its files, and keys in place of theirs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from revocab.config import read
from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.plan.plan import Plan


def add_experiment(parser: Parser) -> None:
    default = [Path("config/demo.yaml")]
    parser.add_argument(
        "--configfile", nargs="+", type=Path, default=default, metavar="FILE",
        help=f"an experiment file and its overlays (default: {default[0]})",
    )  # fmt: skip
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="replace keys of the file"
    )


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
