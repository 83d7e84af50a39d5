"""What is kept when code changes: trained models, and all that they were made from.

Any other rule runs again when its code has changed (:mod:`revocab.code_identity`). To train again
may cost days: where Snakemake runs without its trigger ``code``, a change of code alone is told and
no more, ``revocab rerun`` asks for what is to be made again, and ``revocab accept`` says that the
change counts for nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.code_identity import COMMANDS, changes, code_of, identity
from revocab.config.paths import MANIFEST
from revocab.errors import RevocabError
from revocab.folder_claim import JOB_FILE, read_claim
from revocab.imports import digest
from revocab.io import read_json
from revocab.plan.decisions import Decisions
from revocab.plan.plan import Plan
from revocab.plan.training import packing
from revocab.training.recipe import ANSWERS

#: Rules whose outputs a training reads or is; the first output of each is a manifest.
LASTING = frozenset(
    {
        "build_demoworld",
        "prepare_corpus",
        "answer_prompts",
        "judge_answers",
        "build_tokenizer",
        "intersect_vocabularies",
        "fetch_model",
        "build_stand_in",
        "change_model",
        "train_auxiliary",
        "init_embeddings",
        "pack_tokens",
        "pack_heldout",
        "pack_heldout_answers",
        "pretrain_stand_in",
        "adapt_model",
    }
)
#: Those whose outputs belong to one run, or to one model that is pretrained here.
OWN = frozenset({"init_embeddings", "adapt_model", "build_stand_in", "pretrain_stand_in"})
#: What the param ``code`` of a rule looks like among those that Snakemake has recorded.
HASH = re.compile(r"'[0-9a-f]{16}'")
#: Files, or runs, that a message names.
SHOWN = 6


def code_now(rule: str) -> dict[str, str]:
    """Return what a rule computes from as it stands."""
    return code_of(COMMANDS.get(rule, rule))


def claimed_folder(rule: str, output: Path) -> Path:
    """Return the folder that a file written by a lasting rule belongs to."""
    return output.parent / "snapshot" if rule == "fetch_model" else output.parent


def made_by(rule: str, output: Path) -> Mapping[str, str] | None:
    """Return the code that made an output of a lasting rule; None where no command has made it."""
    claim = read_claim(claimed_folder(rule, output)) if output.exists() else None
    return None if claim is None else claim.code or {}


def asked_then(folder: Path) -> Any:
    """Return what the command that wrote a folder was asked for; None where it does not say."""
    try:
        return read_json(folder / JOB_FILE)
    except RevocabError:
        return None


@dataclass(frozen=True)
class LastingJob:
    """A job of a lasting rule, and the manifest that it writes."""

    rule: str
    wildcards: Mapping[str, str]
    manifest: Path

    @property
    def name(self) -> str:
        """Return the ids of what it makes."""
        return "--".join(self.wildcards.values())

    @property
    def maker(self) -> str:
        """Return the identity of the code that made its output."""
        return identity(made_by(self.rule, self.manifest) or {})

    def changed(self) -> list[str]:
        """Return the files that have changed since it ran; none where it has not."""
        code = made_by(self.rule, self.manifest)
        return [] if code is None else changes(code, code_now(self.rule))


def lasting_jobs(plan: Plan) -> Iterator[LastingJob]:
    """Yield the jobs of an experiment whose outputs last, finished or not."""
    for rule, wildcards in _wildcards(plan):
        out = Path(plan.step(rule, **wildcards).out)
        folder = out.parent if rule == "fetch_model" else out
        yield LastingJob(rule, wildcards, folder / MANIFEST)


def _wildcards(plan: Plan) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rule and wildcards of every job whose output lasts."""
    experiment = plan.experiment
    trained = [plan.runs[run] for run in plan.trained]
    packed = {
        (run.target, run.mixture, run.recipe) for run in trained if run.mixture and run.recipe
    }
    for model in experiment.models.values():
        if model.pretrain:
            packed.add((model.tokenizer, model.pretrain.mixture, model.pretrain.recipe))
    lengths = {(run.target, str(plan.heldout_length(run))) for run in plan.measured}
    answering = {one for one in packed if experiment.recipes[one[2]].loss == ANSWERS}
    lengths |= {
        (one[0], str(experiment.recipes[one[2]].sequence_length)) for one in packed - answering
    }
    shared = {(one[0], *packing(plan, *one)) for one in packed}
    answers = {(one[0], packing(plan, *one)[1]) for one in answering}
    auxiliary = {run.target for run in plan.runs.values() if run.auxiliary}
    if experiment.world:
        yield "build_demoworld", {}
    yield from _each("prepare_corpus", ("corpus",), zip(experiment.corpora))
    yield from _each("answer_prompts", ("corpus",), zip(plan.answered))
    yield from _each("judge_answers", ("corpus",), zip(plan.judged))
    yield from _each("build_tokenizer", ("tokenizer",), zip(experiment.tokenizers))
    yield from _each("intersect_vocabularies", ("source", "target"), plan.intersections)
    yield from _each("fetch_model", ("model",), zip(plan.fetched))
    yield from _each("build_stand_in", ("model",), zip(plan.stand_ins))
    yield from _each("change_model", ("model",), zip(plan.changed))
    yield from _each("train_auxiliary", ("target",), zip(sorted(auxiliary)))
    yield from _each("init_embeddings", ("run",), zip(plan.made))
    yield from _each("pack_tokens", ("tokenizer", "mixture", "recipe"), sorted(shared))
    yield from _each("pack_heldout", ("tokenizer", "length"), sorted(lengths))
    yield from _each("pack_heldout_answers", ("tokenizer", "recipe"), sorted(answers))
    yield from _each("pretrain_stand_in", ("model",), zip(plan.stand_ins))
    yield from _each("adapt_model", ("run",), zip(plan.trained))


def _each(
    rule: str, wildcards: tuple[str, ...], ids: Iterable[tuple[str, ...]]
) -> Iterator[tuple[str, dict[str, str]]]:
    for values in ids:
        yield rule, dict(zip(wildcards, values, strict=True))


@dataclass(frozen=True)
class Kept:
    """What Snakemake is told of the code of rules, so that it plans what is wanted.

    ``keeps``: whether lasting outputs stay when their code alone has changed.
    """

    plan: Plan
    keeps: bool
    decisions: Decisions

    def param(self, rule: str, output: Path, recorded: Sequence[str] | None) -> str:
        """Return the param that Snakemake compares with those it has recorded of an output.

        It is the recorded one where nothing is to be made again for the sake of its code, and
        another one else.
        """
        now, last = identity(code_now(rule)), recorded_code(recorded or ())
        if last is None or not output.exists():
            return now
        code = made_by(rule, output) if rule in LASTING else None
        maker = last if code is None else identity(code)
        stays = self.decisions.equal(rule, maker, now) or (self.keeps and rule in LASTING)
        asked = maker != now and self.decisions.asks_for(output, maker)
        if stays and not asked:
            return last
        # The recorded one may be older than the output, and today's again: it would change nothing.
        return now if now != last else digest(f"{maker} {now}")

    def told(self) -> list[tuple[LastingJob, list[str]]]:
        """Return the jobs whose outputs are kept for now though their code has changed, with files.

        Those that run again anyway, asked for or with other options, are left out.
        """
        if not self.keeps:
            return []
        found = [(job, job.changed()) for job in lasting_jobs(self.plan)]
        return [(job, files) for job, files in found if files and not self._is_settled(job)]

    def _is_settled(self, job: LastingJob) -> bool:
        """Return whether it is decided what becomes of a job whose code has changed."""
        if self.decisions.asks_for(job.manifest, job.maker):
            return True
        if self.decisions.equal(job.rule, job.maker, identity(code_now(job.rule))):
            return True
        step = self.plan.step(job.rule, **job.wildcards)
        asked = {"command": step.command, "job": step.job.model_dump(mode="json")}
        return asked_then(claimed_folder(job.rule, job.manifest)) not in (asked, None)

    def report(self, flags: Sequence[str]) -> str:
        """Return what is kept though its code has changed, and what can be done; else nothing.

        ``flags`` name the experiment on the command line.
        """
        groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for job, files in self.told():
            groups.setdefault((job.rule, tuple(files)), []).append(job.name)
        if not groups:
            return ""
        lines = ["The code of these has changed since they were made; they are kept as they are:"]
        lines += [
            f"  {rule} {', '.join(names)}: {shortened(files)}".replace(" :", ":")
            for (rule, files), names in groups.items()
        ]
        named = dict.fromkeys(name for names in groups.values() for name in names)
        few = all(rule in OWN for rule, _ in groups) and len(named) <= SHOWN
        which = named if few else ["--all"]
        lines += [
            f"to make them again: {shlex.join(['revocab', 'rerun', *which, *flags])}",
            "to accept them as made by the current code:"
            f" {shlex.join(['revocab', 'accept', *flags])}",
        ]
        return "\n".join(lines)


def shortened(files: Sequence[str]) -> str:
    """Return the names of files on one line."""
    more = len(files) - SHOWN
    return ", ".join(files[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def recorded_code(params: Sequence[str]) -> str | None:
    """Return the param ``code`` among those that Snakemake has recorded, each as its ``repr``."""
    return next((text.strip("'") for text in params if HASH.fullmatch(text)), None)
