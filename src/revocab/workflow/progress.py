"""What a terminal shows of a run: a line for each stage, and what its longest job is doing."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

#: Seconds between lines on a job where there is no terminal to draw on.
SELDOM = 60.0
#: Bytes at the end of a job's log in which its bar is looked for.
TAIL = 4096
#: A bar as it is drawn; what it says before and behind stays.
BAR = re.compile(r"(?:\w+: )?\s*\d+%\|[^|]*\| ?")
CLEAR = "\r\x1b[K"


@dataclass
class Running:
    """A job that runs."""

    stage: str
    name: str
    outputs: list[Path]
    log: Path | None

    @property
    def bar(self) -> str | None:
        """What the progress bar says that it drew last, as its log has it."""
        try:
            tail = self.log.read_bytes()[-TAIL:].decode(errors="replace") if self.log else ""
        except OSError:
            return None
        bars = [part.strip() for part in re.split(r"[\r\n]", tail) if BAR.search(part)]
        return BAR.sub("", bars[-1]) if bars else None


@dataclass
class Progress:
    """Jobs of a run as Snakemake tells of them, shown on a stream.

    A stage is a file of rules.
    """

    folder: Path
    stream: TextIO
    results: str = ""
    #: What Snakemake gives as the reason of its end, and whether a job's own reason was shown.
    error: str = ""
    explained: bool = False
    #: By stage.
    jobs: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    _running: dict[Any, Running] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _looked: float = 0.0
    _draws: bool = False

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "results":
            self.results = event["text"]
        elif kind == "run_info":
            for rule, stage in event["stages"].items():
                self.jobs[stage] += event["stats"].get(rule, 0)
            self.say("jobs", f"{self.jobs.total()} to do")
        elif kind == "job_info":
            self._start(event)
        elif kind == "job_finished":
            self._finish(self._running.pop(event["job_id"], None))
        elif kind == "job_error":
            self._fail(event["rule_name"], self._running.pop(event["jobid"], None))
        elif kind == "error":
            self.error = self.error or event["text"]

    def _start(self, event: Mapping[str, Any]) -> None:
        if stage := event["stages"].get(event["rule_name"]):
            name = ", ".join((event.get("wildcards") or {}).values()) or event["rule_name"]
            outputs = [self.folder / output for output in event.get("output") or ()]
            log = next((self.folder / log for log in event.get("log") or ()), None)
            self._running[event["jobid"]] = Running(stage, name, outputs, log)
            self._since.setdefault(stage, time.monotonic())

    def _finish(self, job: Running | None) -> None:
        if job is None:
            return
        self.done[job.stage] += 1
        if (count := self.done[job.stage]) == self.jobs[job.stage]:
            took = duration(time.monotonic() - self._since[job.stage])
            self.say(job.stage, f"done: {count} job{'s' * (count > 1)}, {took}")

    def _fail(self, rule: str, job: Running | None) -> None:
        log = job.log if job else None
        text = log.read_text(encoding="utf-8", errors="replace") if log and log.is_file() else ""
        lines = [line for line in text.splitlines() if line.strip()]
        first = next((n for n, line in enumerate(lines) if line.startswith("error: ")), -1)
        why = "\n".join(lines[first:]) or "error: no reason"
        self.print(f"{rule} {job.name if job else ''}: {why}\nits log: {log or 'none'}")
        self.explained = True

    def look(self) -> None:
        """Draw how far a job has come that shows a bar; seldom where there is no terminal."""
        now, draws = time.monotonic(), self.stream.isatty()
        if now - self._looked < (1.0 if draws else SELDOM):
            return
        running = [(job, job.bar) for job in self._running.values()]
        running.sort(key=lambda each: each[1] is None)
        if not running or not (draws or running[0][1]):
            return
        self._looked = now
        job, bar = running[0]
        text = self._line(job.stage, f"{job.name}: {bar}" if bar else job.name)
        if draws:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(CLEAR + text[:width])
            self.stream.flush()
            self._draws = True
        else:
            self.print(text)

    def _line(self, stage: str, text: str) -> str:
        return f"{duration(time.monotonic() - self._began):>9}  {stage:<13}{text}"

    def say(self, stage: str, text: str) -> None:
        self.print(self._line(stage, text))

    def print(self, text: str) -> None:
        self.clear()
        self.stream.write(f"{text}\n")
        self.stream.flush()

    def clear(self) -> None:
        if self._draws:
            self.stream.write(CLEAR)
            self.stream.flush()
            self._draws = False

    def kept(self) -> str:
        """Return what a run that stops leaves to go on from."""
        if not self.jobs:
            return "kept: what is finished"
        text = f"kept: {self.done.total()} of {self.jobs.total()} jobs"
        for job in self._running.values():
            steps = [
                int(state.parent.name.rpartition("-")[2])
                for output in job.outputs
                for state in (output.parent / "state").glob("checkpoint-*/checksums.json")
            ]
            if steps:
                text += f", {job.name} up to step {max(steps)}"
        return text


def duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
