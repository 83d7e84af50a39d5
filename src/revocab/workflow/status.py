"""``revocab status``: how far an experiment has come, from its files alone."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from revocab.config.layout import MANIFEST
from revocab.flags import Parser
from revocab.folder_claim import JOB_FILE
from revocab.io import read_json
from revocab.plan.plan import NamedJob, Plan
from revocab.plan.show import add_experiment, planned
from revocab.training.outputs.loss_tables import HELDOUT, LOSSES
from revocab.workflow.run import run_in_progress
from revocab.workflow.watch import bar, curve, thinned, watch

#: Where Snakemake keeps the log of each run.
LOGS = Path(".snakemake/log")


@dataclass(frozen=True)
class Training:
    """A training that has begun and is not finished."""

    name: str
    step: int
    steps: int
    #: Mean loss per token at the last step, in nats.
    loss: float
    #: Since the last checkpoint; none until a step has been made after it.
    tokens_per_second: float | None
    #: None where the speed is not known.
    seconds_left: float | None
    #: Since the last step was written: a training that runs writes one every few seconds.
    seconds_ago: float
    #: Held-out bits per byte by language, at the last checkpoint.
    bits_per_byte: dict[str, float]
    #: Losses from the first step to the last, each the mean of equally many steps.
    losses: list[float]


@dataclass(frozen=True)
class Status:
    """How far an experiment has come."""

    experiment: str
    #: Rules with the numbers of their jobs that are done and of all.
    jobs: dict[str, tuple[int, int]]
    trainings: list[Training]
    #: The log of the last run in this folder, and the folder of those of single jobs.
    logs: list[str] = field(default_factory=list)
    #: The address of the report; none before it is written.
    report: str | None = None

    @property
    def done(self) -> bool:
        return all(ready == every for ready, every in self.jobs.values())


def status(words: Sequence[str]) -> str:
    """Return the status of ``[--configfile FILE …] [--config KEY=VALUE …] [--json] [--watch]``.

    With ``--watch`` it is drawn on a terminal until the run has ended, before it is returned.
    Raises :class:`RevocabError` for an experiment that is not valid.
    """
    parser = Parser(prog="revocab status", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--watch", action="store_true", help="draw it again every few seconds until the run ends"
    )
    add_experiment(parser)
    arguments = parser.parse_args(words)
    plan = planned(arguments)
    jobs = plan.needed_jobs()
    if arguments.watch and not arguments.json:
        watch(lambda: status_of(plan, time.time(), jobs), render, run_in_progress, sys.stdout)
    status = status_of(plan, time.time(), jobs)
    if arguments.json:
        return json.dumps(asdict(status), ensure_ascii=False)
    stopped = arguments.watch and not status.done and not run_in_progress()
    return render(status) + ("\nno run goes on in this folder" if stopped else "")


def status_of(plan: Plan, now: float, jobs: Mapping[str, NamedJob] | None = None) -> Status:
    """Return the status of an experiment; ``now`` is in seconds since the epoch.

    ``jobs`` are those that the plan needs, which take a moment to find.

    A job is done if every file that others read of it is there; whether it is up to date is for
    Snakemake to say.
    """
    counts: dict[str, list[bool]] = defaultdict(list)
    trainings = []
    for job in (jobs or plan.needed_jobs()).values():
        counts[job.rule].append(all(Path(file).exists() for file in job.files))
        if job.step.command == "train_model":
            trainings.append(training_in(Path(job.step.out), job.name.partition("--")[2], now))
    numbers = {rule: (sum(done), len(done)) for rule, done in counts.items()}
    report = Path(plan.step("build_report").out).absolute()
    runs = sorted(map(str, LOGS.glob("*.log")))  # called after their time
    return Status(
        plan.experiment.experiment,
        dict(sorted(numbers.items())),
        [training for training in trainings if training],
        logs=[
            *runs[-1:],
            *(str(folder) for folder in [Path(plan.paths.results, "logs")] if folder.is_dir()),
        ],
        report=report.as_uri() if report.is_file() else None,
    )


def training_in(folder: Path, name: str, now: float) -> Training | None:
    """Return the training that writes ``folder``; None if it is finished or has made no step."""
    if (folder / MANIFEST).exists() or not (folder / LOSSES).exists():
        return None
    losses, heldout = rows_of(folder / LOSSES), rows_of(folder / HELDOUT)
    if not losses:
        return None
    last = losses[-1]
    step, tokens = int(last["step"]), int(last["tokens"])
    steps = int(read_json(folder / JOB_FILE)["job"]["steps"])
    written = (folder / LOSSES).stat().st_mtime
    rate = steps_per_second(folder, heldout, step, written)
    return Training(
        name=name,
        step=step,
        steps=steps,
        loss=float(last["loss"]),
        tokens_per_second=rate * tokens / step if rate else None,
        seconds_left=(steps - step) / rate if rate else None,
        seconds_ago=max(0.0, now - written),
        bits_per_byte=by_language(heldout),
        losses=thinned([float(row["loss"]) for row in losses]),
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the whole rows of a table that may be being written."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))


def steps_per_second(
    folder: Path, heldout: Sequence[dict[str, str]], step: int, written: float
) -> float | None:
    """Return the speed since the last checkpoint or saved state, by the times of the files.

    The tables hold no times, so that a training that is resumed ends with the same bytes.
    """
    moments = [(int(heldout[-1]["step"]), (folder / HELDOUT).stat().st_mtime)] if heldout else []
    for state in folder.glob("state/checkpoint-*"):
        moments.append((int(state.name.rpartition("-")[2]), state.stat().st_mtime))
    if not moments:
        return None
    # What a resumed training starts from is older than the tables that it has begun anew.
    since, begin = max(number for number, _ in moments), max(moment for _, moment in moments)
    return (step - since) / (written - begin) if step > since and written > begin else None


def by_language(heldout: Iterable[dict[str, str]]) -> dict[str, float]:
    """Return bits per byte by language at the last step measured, over all bytes of a language."""
    rows = list(heldout)
    bits: dict[str, float] = defaultdict(float)
    length: dict[str, int] = defaultdict(int)
    for row in rows:
        if row["step"] == rows[-1]["step"]:
            length[row["language"]] += int(row["bytes"])
            bits[row["language"]] += float(row["bits_per_byte"]) * int(row["bytes"])
    return {language: bits[language] / length[language] for language in sorted(bits)}


def render(state: Status) -> str:
    done = sum(ready for ready, _ in state.jobs.values())
    jobs = sum(every for _, every in state.jobs.values())
    lines = [f"{state.experiment}: {done} of {jobs} jobs done, {jobs - done} left"]
    lines += [f"  {bar(done / jobs)}"] if jobs else []
    left = {rule: (ready, every) for rule, (ready, every) in state.jobs.items() if ready < every}
    lines += [f"  {rule:<24}{ready:>4} of {every}" for rule, (ready, every) in left.items()]
    for training in state.trainings:
        lines += ["", *_training_lines(training)]
    lines += [f"logs: {', '.join(state.logs)}"] if state.logs else []
    lines += [f"report: {state.report}"] if state.done and state.report else []
    return "\n".join(lines)


def _training_lines(training: Training) -> list[str]:
    speed: dict[str, Any] = {"tokens per second": "not known yet", "time left": "not known yet"}
    if training.tokens_per_second is not None and training.seconds_left is not None:
        speed["tokens per second"] = f"{training.tokens_per_second:,.0f}"
        speed["time left"] = duration(training.seconds_left)
    bits = ", ".join(
        f"{language} {value:.4f}" for language, value in training.bits_per_byte.items()
    )
    rows = {"step": f"{training.step} of {training.steps}", "loss": f"{training.loss:.4f}"}
    rows |= {"loss until now": curve(training.losses), **speed}
    rows |= {"held-out bits per byte": bits or "not measured"}
    rows |= {"last step": f"{duration(training.seconds_ago)} ago"}
    return [f"{training.name}", *(f"  {name:<24}{value}" for name, value in rows.items())]


def duration(seconds: float) -> str:
    whole = round(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    parts = {"d": days, "h": hours, "min": minutes, "s": whole % 60}
    shown = [f"{value} {unit}" for unit, value in parts.items() if value]
    return " ".join(shown[:2]) or "0 s"
