"""The first steps of a real training in a folder of their own: killed, resumed, evaluated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from revocab.errors import RevocabError
from revocab.evaluation.inference.engine import Part, interpreter
from revocab.folder_claim import is_whole
from revocab.io import read_jsonl, write_jsonl
from revocab.plan.plan import Plan, find_rule
from revocab.rule import Artefact, Step
from revocab.training.outputs.resume_state import CHECKSUMS, PREFIX
from revocab.workflow.launch import launcher, starter

#: Items of the one task that is scored, prompts of the one that text is generated for, and lines of
#: a log that an error shows.
ITEMS, PROMPTS, SHOWN_LINES = 8, 4, 15
SECONDS_BETWEEN_LOOKS = 0.005


@dataclass(frozen=True)
class Rehearsal:
    """One run's training, cut short. ``resources`` are what the profile gives to a rule."""

    plan: Plan
    run: str
    scratch: Path
    #: Of the training, a multiple of 2: half of them before the kill.
    steps: int
    #: The training has no more steps than these.
    whole: bool
    resources: Callable[[str], Mapping[str, Any]]

    @property
    def out(self) -> Path:
        return self.scratch / "run"

    @property
    def checkpoint(self) -> Path:
        return Path(self.plan.paths.checkpoint(str(self.out), self.steps))

    def kill(self) -> str:
        """Train until a state is saved, and kill all processes; return what was done."""
        half = self.steps // 2
        state = self.out / "state" / f"{PREFIX}{half}" / CHECKSUMS
        process = self._start("train-1", self._training())
        self._wait(process, "train-1", state.is_file)
        self._signal(process, signal.SIGKILL)
        if process.wait() == 0:
            raise self._failed("train-1", "ended before it could be killed")
        return f"trained {half} steps, saved the state, killed"

    def resume(self) -> str:
        """Go on to the last step, then send SIGTERM; return what was done."""
        process = self._start("train-2", self._training())
        self._wait(process, "train-2", lambda: is_whole(self.checkpoint))
        if not self.whole:
            self._signal(process, signal.SIGTERM)
        finished = process.wait() == 0
        log = self._log("train-2").read_text(errors="replace")
        if "resuming from step" not in log:
            raise self._failed("train-2", "did not resume from the saved state")
        if finished != self.whole or not (finished or "stopped by SIGTERM" in log):
            raise self._failed("train-2", "did not end as it should")
        last = "" if self.whole else ", saved its state at SIGTERM"
        return f"resumed, trained to step {self.steps}, exported the model{last}"

    def score(self) -> str | None:
        """Score some items with the exported checkpoint; None where the run is not scored so."""
        step = step_of(self.plan, "score_multiple_choice", self.run)
        if step is None:
            return None
        tasks = step.inputs["tasks"]
        assert isinstance(tasks, Sequence)
        limit = min(getattr(step.job, "limit", None) or ITEMS, ITEMS)
        step = replace(
            step,
            job=step.job.model_copy(update={"limit": limit}),
            inputs={**step.inputs, "tasks": tasks[:1]},
            out=str(self.scratch / "scores" / "multiple_choice.csv"),
        )
        self._evaluate(step, "multiple_choice")
        return f"scored {limit} items of {Path(tasks[0].path).stem}"

    def generate(self) -> str | None:
        """Continue some prompts with the exported checkpoint; None where the run is not asked to.

        COMET is not run.
        """
        step = step_of(self.plan, "generate_text", self.run)
        if step is None:
            return None
        prompts = step.inputs["prompts"]
        assert isinstance(prompts, Mapping)
        task, artefact = next(iter(prompts.items()))
        few = self.scratch / Path(artefact.path).name
        rows = [*islice(read_jsonl(artefact.path), PROMPTS)]
        write_jsonl(few, rows)
        step = replace(
            step,
            inputs={**step.inputs, "prompts": {task: Artefact.file(str(few))}},
            out=str(self.scratch / "generation"),
        )
        self._evaluate(step, "generation")
        return f"generated on {len(rows)} prompts of {task}"

    def _training(self) -> list[str]:
        from revocab.training.run import TrainingMachine

        step = self.plan.step("adapt_model", run=self.run)
        step = replace(
            step,
            job=step.job.model_copy(update={"checkpoint_every": self.steps // 2}),
            out=str(self.out),
        )
        words = self._words(step, "adapt_model", tuple(TrainingMachine.model_fields))
        resources = self.resources("adapt_model")
        begin = starter(resources)
        if begin:
            begin += ["--job-name", self.scratch.name]
        return [*begin, sys.executable, *launcher(resources), *words]

    def _signal(self, process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        if starter(self.resources("adapt_model")):
            signal_step(self.scratch.name, number)
        elif number == signal.SIGKILL:
            kill_all(process)
        else:
            process.send_signal(number)

    def _evaluate(self, step: Step, part: Part) -> None:
        name = step.command
        models = {self.steps: Artefact(str(self.checkpoint), ())}
        step = replace(step, inputs={**step.inputs, "models": models})
        engine = getattr(self.plan.experiment.evaluation, part).engine
        python = interpreter(engine, part, sys.executable)
        words = self._words(step, name, ("device", "dtype", "batch_size"))
        if self._start(name, [python, *words]).wait():
            raise self._failed(name, f"{name} failed")

    def _words(self, step: Step, rule: str, options: Sequence[str]) -> list[str]:
        resources = self.resources(rule)
        machine = {name: resources[name] for name in options if resources.get(name) is not None}
        flags = ["--machine", json.dumps(machine)] if machine else []
        # Without a name it leaves no record: that of the experiment's own job stays.
        return [*self.plan.words(replace(step, name="")), *flags]

    def _log(self, name: str) -> Path:
        return self.scratch / f"{name}.log"

    def _start(self, name: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._log(name).open("wb") as log:
            return subprocess.Popen(words, stdout=log, stderr=log)

    def _wait(
        self, process: subprocess.Popen[bytes], name: str, reached: Callable[[], bool]
    ) -> None:
        """Wait until something holds; raise if the process ends before it does."""
        while not reached():
            if process.poll() is not None and not reached():
                raise self._failed(name, f"training ended with exit status {process.returncode}")
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _failed(self, name: str, what: str) -> RevocabError:
        log = self._log(name)
        last = log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
        return RevocabError("\n".join([f"{what}; the end of {log}:", *last]))


def kill_all(process: subprocess.Popen[bytes]) -> None:
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid)
        for member in (*started.children(recursive=True), started):
            member.kill()


def signal_step(name: str, number: signal.Signals) -> None:
    listed = ["squeue", "--noheader", "--steps", "--jobs", os.environ["SLURM_JOB_ID"]]
    steps = subprocess.check_output([*listed, "--format=%i %j"], text=True).splitlines()
    (step,) = (line.split()[0] for line in steps if line.split()[1:] == [name])
    subprocess.run(["scancel", f"--signal={number.name.removeprefix('SIG')}", step], check=True)


def step_of(plan: Plan, rule: str, run: str) -> Step | None:
    return plan.step(rule, run=run) if (run,) in find_rule(rule).known(plan) else None
