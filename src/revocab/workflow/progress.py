"""What a terminal shows of a run: a line for each stage, and what its longest job is doing."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

#: Stages in their order, with their rules; all other rules are of the last.
STAGES: Mapping[str, tuple[str, ...]] = {
    "text": ("build_demoworld", "prepare_corpus", "answer_prompts", "judge_answers"),
    "tokenizers": ("build_tokenizer", "measure_fertility", "intersect_vocabularies"),
    "models": (
        "build_stand_in", "pretrain_stand_in", "fetch_model", "change_model", "train_auxiliary",
        "init_embeddings",
    ),
    "training": (
        "pack_tokens", "pack_heldout", "pack_heldout_answers", "adapt_model", "measure_heldout",
        "drop_checkpoints",
    ),
    "scores": (
        "build_task", "build_prompts", "score_multiple_choice", "generate_text",
        "score_comet", "measure_efficiency",
    ),
    "report": (),
}  # fmt: skip
TRAININGS = ("adapt_model", "pretrain_stand_in")
STAGE_OF = {rule: stage for stage, rules in STAGES.items() for rule in rules}
#: Seconds between lines on a training where there is no terminal to draw on.
SELDOM = 60.0
#: Bytes at the end of a job's log in which its bar is looked for.
TAIL = 4096
#: A bar as it is drawn; what it says before and behind stays.
BAR = re.compile(r"(?:\w+: )?\s*\d+%\|[^|]*\| ?")
CLEAR = "\r\x1b[K"


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {left} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@dataclass
class Running:
    """A job that runs."""

    rule: str
    ids: str
    outputs: list[Path]
    log: Path | None


@dataclass
class Progress:
    """Jobs of a run as Snakemake tells of them, shown on a stream."""

    folder: Path
    stream: TextIO
    results: str = ""
    errors: list[str] = field(default_factory=list)
    told_errors: bool = False
    _jobs: dict[Any, Running] = field(default_factory=dict)
    _all: Counter[str] = field(default_factory=Counter)
    _done: Counter[str] = field(default_factory=Counter)
    _since: dict[str, float] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _told: float = 0.0
    _drawn: bool = False

    @property
    def jobs(self) -> int:
        """Number of jobs of the run; 0 until Snakemake has planned it."""
        return self._all.total()

    @property
    def done(self) -> int:
        return self._done.total()

    def take(self, event: Mapping[str, Any]) -> None:
        """Note what Snakemake tells."""
        kind = event["event"]
        if kind == "results":
            self.results = event["text"]
        elif kind == "run_info":
            rules = {rule: n for rule, n in event["stats"].items() if rule not in ("total", "all")}
            for rule, count in rules.items():
                self._all[STAGE_OF.get(rule, "report")] += count
            self._rule("jobs", f"{self.jobs} to do")
        elif kind == "job_info":
            ids = ", ".join((event.get("wildcards") or {}).values())
            log = next(iter(event.get("log") or ()), None)
            outputs = [self.folder / name for name in event.get("output") or ()]
            self._jobs[event["jobid"]] = Running(
                event["rule_name"], ids, outputs, self.folder / log if log else None
            )
            stage = STAGE_OF.get(event["rule_name"], "report")
            self._since.setdefault(stage, time.monotonic())
        elif kind == "job_finished":
            self._finish(event["job_id"])
        elif kind == "job_error":
            self._fail(event)
        elif kind == "error" and not self.told_errors:
            self.say(f"error: {event['text']}")
            self.told_errors = True

    def _finish(self, job_id: Any) -> None:
        job = self._jobs.pop(job_id, None)
        if job is None or job.rule == "all":
            return
        stage = STAGE_OF.get(job.rule, "report")
        self._done[stage] += 1
        if self._done[stage] == self._all[stage]:
            took = duration(time.monotonic() - self._since[stage])
            jobs = f"{self._all[stage]} job{'s' * (self._all[stage] > 1)}"
            self._rule(stage, f"done: {jobs}, {took}")

    def _fail(self, event: Mapping[str, Any]) -> None:
        """Say why a job has failed, as its log does."""
        job = self._jobs.pop(event["jobid"], None)
        log = job.log if job else None
        text = log.read_text(encoding="utf-8", errors="replace") if log and log.is_file() else ""
        lines = [line for line in text.splitlines() if line.strip()]
        first = next((n for n, line in enumerate(lines) if line.startswith("error: ")), None)
        why = "\n".join(lines[first:] if first is not None else lines[-1:]) or "error: no reason"
        ids = f" {job.ids}" if job and job.ids else ""
        self.say(f"{event['rule_name']}{ids}: {why}")
        if log is not None:
            self.say(f"its log: {log}")
        self.told_errors = True

    def look(self) -> None:
        """Draw how far the job that takes longest has come; seldom where there is no terminal."""
        now = time.monotonic()
        draws = self.stream.isatty()
        if now - self._told < (1.0 if draws else SELDOM) or not self._jobs:
            return
        trainings = [job for job in self._jobs.values() if job.rule in TRAININGS]
        job = next(iter(trainings or self._jobs.values()))
        told = job.log and last_bar(job.log)
        if not (draws or told):
            return
        self._told = now
        what = job.ids if job.ids and told else f"{job.rule} {job.ids}".strip()
        line = self._line(STAGE_OF.get(job.rule, "report"), f"{what}: {told}" if told else what)
        if draws:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(CLEAR + line[:width])
            self.stream.flush()
            self._drawn = True
        else:
            self.say(line)

    def _line(self, stage: str, text: str) -> str:
        return f"{duration(time.monotonic() - self._began):>12}  {stage:<11}{text}"

    def _rule(self, stage: str, text: str) -> None:
        self.say(self._line(stage, text))

    def say(self, line: str) -> None:
        """Print a line, in place of what is drawn."""
        if self._drawn:
            self.stream.write(CLEAR)
            self._drawn = False
        self.stream.write(f"{line}\n")
        self.stream.flush()

    def close(self) -> None:
        if self._drawn:
            self.stream.write(CLEAR)
            self.stream.flush()

    def kept(self) -> str:
        """Return what a run that stops leaves to go on from."""
        text = f"kept: {self.done} of {self.jobs} jobs"
        for job in self._jobs.values():
            steps = [
                int(state.parent.name.rpartition("-")[2])
                for output in job.outputs
                for state in (output.parent / "state").glob("checkpoint-*/checksums.json")
            ]
            if job.rule in TRAININGS:
                text += f", {job.ids} up to step {max(steps, default=0)}"
        return text


def last_bar(log: Path) -> str | None:
    """Return what the progress bar says that a job drew last, as its log has it."""
    try:
        with log.open("rb") as handle:
            handle.seek(max(0, log.stat().st_size - TAIL))
            tail = handle.read().decode(errors="replace")
    except OSError:
        return None
    bars = [part.strip() for part in re.split(r"[\r\n]", tail) if BAR.search(part)]
    return BAR.sub("", bars[-1]) if bars else None
