"""Results that older code has made: have them made again, or accept them as they are."""

from __future__ import annotations

import shlex
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from revocab.closed import unknown
from revocab.code_identity import changes, identity
from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.io import read_json
from revocab.plan.decisions import Accepted, Asked, Decisions
from revocab.plan.kept import (
    LASTING,
    OWN,
    LastingJob,
    code_now,
    lasting_jobs,
    made_by,
    recorded_code,
    shortened,
)
from revocab.plan.plan import Plan, steps
from revocab.plan.show import add_experiment, planned

#: Where Snakemake keeps a file for every output, whose name is the output's path.
RECORDS = Path(".snakemake/metadata")


class Made(NamedTuple):
    """A finished output, and what is known of the code that made it."""

    rule: str
    output: Path
    #: Identity of the code.
    maker: str
    #: Files that have changed since, as far as the output tells.
    changed: tuple[str, ...] = ()


def recorded_outputs(plan: Plan, folder: Path = RECORDS) -> Iterator[Made]:
    """Yield the outputs of an experiment that are there and that Snakemake has a record of."""
    places = (Path(plan.paths.results), Path(plan.paths.resources))
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        # A long name is cut into folders, which begin with "@".
        name = "".join(part.removeprefix("@") for part in file.relative_to(folder).parts)
        try:
            output = Path(urlsafe_b64decode(name).decode())
        except ValueError:  # none of Snakemake's
            continue
        if any(output.is_relative_to(place) for place in places) and output.exists():
            record = read_json(file)
            code = recorded_code(record.get("params") or ())
            if code and record["rule"] in steps():
                yield Made(record["rule"], output, code)


def made_outputs(plan: Plan) -> Iterator[Made]:
    """Yield what is there of an experiment: what lasts by its claims, the rest as recorded."""
    for job in lasting_jobs(plan):
        code = made_by(job.rule, job.manifest)
        if code is not None:
            changed = tuple(changes(code, code_now(job.rule)))
            yield Made(job.rule, job.manifest, identity(code), changed)
    yield from (one for one in recorded_outputs(plan) if one.rule not in LASTING)


def unmade(decisions: Decisions, plan: Plan) -> list[Asked]:
    """Return the outputs that were requested and have not been made again since."""
    makers = {str(job.manifest): job.maker for job in lasting_jobs(plan)}
    return [one for one in decisions.rerun if makers.get(one.output) == one.made_by]


def accept(words: Sequence[str]) -> str:
    """Accept outputs of older code as made by the current code; return what was accepted.

    ``[RULE …] [--configfile FILE …] [--config KEY=VALUE …]``; without rules, all. Raises
    :class:`RevocabError` for an unknown rule.
    """
    about = "Accept outputs of older code as made by the current code; nothing is computed."
    parser = Parser(prog="revocab accept", description=about)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="default: every rule")
    add_experiment(parser)
    given = parser.parse_args(words)
    wrong = [rule for rule in given.rules if rule not in steps()]
    if wrong:
        raise RevocabError(unknown("RULE", rule, steps(), "rule") for rule in wrong)
    plan = planned(given)
    decisions = Decisions.read(plan)
    found: dict[str, list[Made]] = {}
    for one in made_outputs(plan):
        wanted = not given.rules or one.rule in given.rules
        if wanted and not decisions.equal(one.rule, one.maker, identity(code_now(one.rule))):
            found.setdefault(one.rule, []).append(one)
    if not found:
        return "nothing to accept: all results were made by the current code"
    entries = [
        Accepted(
            rule=rule,
            code=identity(code_now(rule)),
            older=tuple(sorted({one.maker for one in made})),
            changed=tuple(sorted({file for one in made for file in one.changed})),
        )
        for rule, made in found.items()
    ]
    accepted = {one.output for made in found.values() for one in made}
    pending = tuple(one for one in unmade(decisions, plan) if Path(one.output) not in accepted)
    file = Decisions(accepted=(*decisions.accepted, *entries), rerun=pending).write(plan)
    lines = [
        f"  {one.rule} ({len(found[one.rule])}): {shortened(one.changed)}".removesuffix(": ")
        for one in entries
    ]
    return "\n".join(["accepted as made by the current code:", *lines, f"written to {file}"])


def rerun(words: Sequence[str]) -> str:
    """Request that outputs of older code be made again; return what was requested.

    ``RUN …|--all [--configfile FILE …] [--config KEY=VALUE …]``. Raises :class:`RevocabError` for
    unknown names, and for what was made by the current code.
    """
    about = "Request that outputs of older code be made again, by the next snakemake."
    parser = Parser(prog="revocab rerun", description=about)
    parser.add_argument("names", nargs="*", metavar="RUN", help="runs, or models pretrained here")
    parser.add_argument("--all", action="store_true", help="everything whose code has changed")
    add_experiment(parser)
    given = parser.parse_args(words)
    if bool(given.names) == given.all:
        raise RevocabError("give the runs to make again, or --all; see revocab rerun --help")
    plan = planned(given)
    decisions = Decisions.read(plan)
    jobs = [*lasting_jobs(plan)]
    stale = [
        job
        for job in jobs
        if job.changed() and not decisions.equal(job.rule, job.maker, identity(code_now(job.rule)))
    ]
    own = [job for job in jobs if job.rule in OWN]
    problems = [problem for name in given.names for problem in _unfit(name, own, stale)]
    if problems:
        raise RevocabError(problems)
    chosen = [job for job in stale if given.all or (job in own and job.name in given.names)]
    if not chosen:
        return "nothing to make again: all results were made by the current code"
    recorded = {one.output for one in recorded_outputs(plan)}
    if unrecorded := [str(job.manifest) for job in chosen if job.manifest not in recorded]:
        raise RevocabError(
            "Snakemake has no record of these, and would not make them again; run"
            f" snakemake --forcerun {shlex.join(unrecorded)}"
        )
    asked = [Asked(output=str(job.manifest), made_by=job.maker) for job in chosen]
    pending = dict.fromkeys((*unmade(decisions, plan), *asked))
    file = Decisions(accepted=decisions.accepted, rerun=tuple(pending)).write(plan)
    lines = [f"  {job.rule} {job.name}: {shortened(job.changed())}" for job in chosen]
    return "\n".join(["the next snakemake makes these again:", *lines, f"written to {file}"])


def _unfit(name: str, own: Sequence[LastingJob], stale: Sequence[LastingJob]) -> Iterator[str]:
    """Yield the reasons why a name cannot be requested."""
    jobs = [job for job in own if job.name == name]
    if not jobs:
        yield unknown("RUN", name, {job.name for job in own}, "run or pretrained model")
    elif not any(job.manifest.exists() for job in jobs):
        yield f"{name}: does not exist yet; the next snakemake makes it"
    elif not any(job in stale for job in jobs):
        forced = shlex.join(["snakemake", "--forcerun", str(jobs[-1].manifest)])
        yield f"{name}: was made by the current code; to make it again anyway: {forced}"
