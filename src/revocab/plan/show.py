"""Print one job of an experiment as a command line to paste into a shell."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from revocab.config import read
from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.plan.evaluation import comet_models
from revocab.plan.plan import Plan, steps


def show_job(words: Sequence[str]) -> str:
    """Return the command of ``RULE [NAME=VALUE …] [--configfile FILE] [--config KEY=VALUE …]``.

    Before it stand those that write the arguments which are too long for a command line.

    Raises :class:`RevocabError` for a rule or id that the experiment does not have.
    """
    parser = Parser(prog="revocab job", description=__doc__)
    parser.add_argument("rule", help=f"one of {', '.join(sorted(steps()))}")
    parser.add_argument("wildcards", nargs="*", metavar="NAME=VALUE", help="such as run=demo-sava")
    add_experiment(parser)
    given = parser.parse_args(words)
    plan = planned(given)
    wildcards = pairs(given.wildcards)
    try:
        check_ids(plan, given.rule, wildcards)
        step = plan.step(given.rule, **wildcards)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        # A missing section is None, a missing id a KeyError, a missing wildcard a TypeError.
        shown = " ".join(f"{name}={value}" for name, value in wildcards.items()) or "nothing"
        raise RevocabError(
            f"rule {given.rule!r} with {shown}: no such job in"
            f" {', '.join(map(str, given.configfile))} ({error}); give the ids of the experiment"
            " file as NAME=VALUE"
        ) from None
    command = shlex.join(["python", f"scripts/{step.command}.py", *step.arguments()])
    return "\n".join([*(writing(*one) for one in step.long().items()), command])


def writing(path: str, text: str) -> str:
    """Return the shell's command that writes a text of any length into a file."""
    folder, file = shlex.quote(str(Path(path).parent)), shlex.quote(path)
    return f"mkdir -p {folder} && printf %s {shlex.quote(text)} > {file}"


def add_experiment(parser: Parser) -> None:
    """Add the flags that name an experiment, as Snakemake has them."""
    default = [Path("config/demo.yaml")]
    parser.add_argument(
        "--configfile", nargs="+", type=Path, default=default, metavar="FILE",
        help=f"an experiment file and its overlays (default: {default[0]})",
    )  # fmt: skip
    parser.add_argument(
        "--config", nargs="+", default=[], metavar="KEY=VALUE", help="replace keys of the file"
    )


def flags_of(files: Iterable[str | Path], keys: Sequence[str]) -> list[str]:
    """Return the flags that name an experiment: its files, and ``KEY=VALUE`` words."""
    near = [os.path.relpath(file) for file in files]
    return [*(["--configfile", *near] if near else []), *(["--config", *keys] if keys else [])]


def planned(given: Namespace) -> Plan:
    """Return the plan of the experiment that a command line names.

    Raises :class:`RevocabError` for an experiment that is not valid.
    """
    return Plan(read(*given.configfile, **pairs(given.config)))


def check_ids(plan: Plan, rule: str, wildcards: Mapping[str, str]) -> None:
    """Raise ``ValueError`` for an id that is another kind of thing than the rule is for."""
    made = {
        "fetch_model": plan.fetched,
        "change_model": plan.changed,
        "build_stand_in": plan.stand_ins,
        "pretrain_stand_in": plan.stand_ins,
        "init_embeddings": plan.made,
        "adapt_model": plan.trained,
        "measure_heldout": [run.id for run in plan.measured],
        "build_probe": plan.probes,
        "score_multiple_choice": [run.id for run in plan.evaluated() if plan.choice_tasks(run)],
        "generate_text": [run.id for run in plan.evaluated() if plan.generation_tasks(run)],
        "score_comet": [run.id for run in plan.evaluated() if comet_models(plan, run)],
    }
    pairs_of = [f"{source}--{target}" for source, target in plan.intersections]
    if rule == "intersect_vocabularies" and "--".join(wildcards.values()) not in pairs_of:
        raise ValueError(f"known: {', '.join(pairs_of)}")
    if rule in made and not {*wildcards.values()} <= {*made[rule]}:
        raise ValueError(f"known: {', '.join(made[rule]) or 'none'}")


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` words as a mapping."""
    wrong = [word for word in words if "=" not in word]
    if wrong:
        raise RevocabError(f"{word!r}: expected NAME=VALUE" for word in wrong)
    return dict(word.split("=", 1) for word in words)
