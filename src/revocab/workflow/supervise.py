"""A run of Snakemake as a child of ours: progress in lines, signals obeyed in seconds.

Snakemake tells of its jobs by JSON lines through a pipe (:func:`announce`), and what else it says
goes to its log. A signal to this process alone, or to its group, ends everything: trainings get
SIGTERM, at which they save their state, and after :data:`GRACE` whatever still runs is killed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import psutil

from revocab.errors import ending
from revocab.workflow.gpus import end_with_parent
from revocab.workflow.progress import Progress

#: For Snakemake: the numbers of the pipe, and of the error stream that it has after its start.
EVENTS = "REVOCAB_EVENTS"
#: Seconds that jobs have to end after SIGTERM; killing the rest takes less than another.
GRACE = 3.5
#: Where Snakemake locks a working folder, by files that outlive it when it is killed.
LOCKS = Path(".snakemake/locks")
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Announcer(logging.Handler):
    """Writes what Snakemake logs of jobs and errors into the pipe, a line of JSON each."""

    KEYS = ("jobid", "job_id", "rule_name", "wildcards", "output", "log", "stats")

    def __init__(self, pipe: int, rules: Any):
        super().__init__()
        self.pipe, self.rules = os.fdopen(pipe, "w", encoding="utf-8"), rules

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event is None and record.levelno < logging.ERROR:
            return
        values = {key: getattr(record, key) for key in self.KEYS if hasattr(record, key)}
        stages = {each.name: Path(each.snakefile).stem for each in self.rules}
        stages.pop("all", None)
        name = getattr(event, "value", "error")
        self.tell(name, text=str(record.msg or ""), stages=stages, **values)

    def tell(self, event: str, **values: Any) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            self.pipe.write(json.dumps({"event": event, **values}, default=str) + "\n")
            self.pipe.flush()


def announce(results: str, workflow: Any) -> None:
    """Tell the process that supervises this run, if one does, of its jobs from now on."""
    numbers = os.environ.pop(EVENTS, None)
    if numbers is None:
        return
    from snakemake.logging import logger  # type: ignore[import-untyped]

    pipe, errors = map(int, numbers.split())
    os.set_inheritable(pipe, False)
    os.dup2(errors, 2)
    os.close(errors)
    for handler in [*logger.handlers]:
        if handler.name == "DefaultStreamHandler":  # what it says goes on in Snakemake's log
            logger.removeHandler(handler)
    announcer = Announcer(pipe, workflow.rules)
    announcer.tell("results", text=results)
    logger.addHandler(announcer)


# --- in the process that supervises it ------------------------------------------------------------


class Stopped(BaseException):
    """A signal has come, by its number."""


@contextlib.contextmanager
def stoppable(
    again: str, kept: Callable[[], str] = lambda: "kept: what is finished"
) -> Iterator[None]:
    """End at a signal within the block, after a line that says how to go on with ``again``."""
    before = {number: signal.getsignal(number) for number in STOPS}

    def end(number: int, frame: Any) -> NoReturn:
        for each in STOPS:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    for number in STOPS:
        if number != signal.SIGHUP or before[number] is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, end)
    try:
        yield
    except Stopped as stopped:
        number = signal.Signals(stopped.args[0])
        print(f"stopped by {number.name}; {kept()}; to go on: {again}", file=sys.stderr, flush=True)
        os._exit(128 + number)  # unloading libraries would take a second
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def supervise(
    words: Sequence[str],
    folder: Path,
    again: str,
    *,
    cwd: Path | None = None,
    quiet: bool = True,
    inherited: Sequence[int] = (),
) -> Progress:
    """Run Snakemake with these words until it has ended; return what it did.

    It works in ``folder``, and starts in ``cwd`` where the words name the folder. With ``quiet`` a
    line tells of each stage, else Snakemake says what it likes. ``again`` is the command that goes
    on; all that is started has the ``inherited`` open files. Ends with exit status 1 where a job
    has failed, and 128 plus the signal's number at a signal, after a line that says what is kept.
    """
    progress = Progress(folder, sys.stderr)
    with stoppable(again, progress.kept), tempfile.TemporaryFile() as early:
        process, pipe = started(words, cwd or folder, inherited, early if quiet else None)
        try:
            follow(pipe, progress)
            process.wait()
        finally:
            progress.clear()
            if process.poll() is None:
                stop(process, folder)
        if process.returncode:
            early.seek(0)
            fail(process.returncode, progress, early.read().decode(errors="replace"), again)
    return progress


def fail(status: int, progress: Progress, early: str, again: str) -> NoReturn:
    """Say why Snakemake has failed, as far as nobody has, and end; ``early`` is what it said before
    the workflow was read.
    """
    if progress.error or progress.results or not early.strip():
        logs = progress.folder / ".snakemake/log"
        reason = f"Snakemake ended with {ending(status)}; see above, or its logs: {logs}"
        text = "" if progress.explained else f"error: {progress.error or reason}\n"
    else:
        _, mark, ours = f"\n{early}".rstrip().partition("\nerror: ")
        text = f"error: {ours}\n" if mark else f"{early.rstrip()}\n"
    sys.stderr.write(text)
    if progress.jobs.total():  # else the experiment was refused, and nothing began
        print(f"{progress.kept()}; mend the cause, and to go on: {again}", file=sys.stderr)
    raise SystemExit(status if status > 0 else 1)


def started(
    words: Sequence[str], folder: Path, inherited: Sequence[int], early: IO[bytes] | None
) -> tuple[subprocess.Popen[bytes], int]:
    """Start Snakemake: deaf to Ctrl-C, which is ours to obey, and killed when this process is.

    What it says is read from the pipe that is returned, and up to its first line from ``early``;
    without, it says all to the terminal.
    """
    read, write = os.pipe()
    errors = os.dup(2)

    def child() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_with_parent()

    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *words],
        cwd=folder, env={**os.environ, **({EVENTS: f"{write} {errors}"} if early else {})},
        pass_fds=[*((write, errors) if early else ()), *inherited],
        preexec_fn=child, stderr=early,  # noqa: PLW1509
    )  # fmt: skip
    os.close(write)
    os.close(errors)
    return process, read


def follow(pipe: int, progress: Progress) -> None:
    rest = b""
    while True:
        if select.select([pipe], [], [], 1.0)[0]:
            data = os.read(pipe, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                progress.take(json.loads(line))
        progress.look()


def gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def stop(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End Snakemake and all that it has started, within seconds; let trainings save their state."""
    deadline = time.monotonic() + GRACE
    root = psutil.Process(process.pid)
    began = root.create_time() - 1  # clocks of files are coarser
    root.suspend()  # so that it starts nothing more, and says nothing of jobs that end
    found = root.children(recursive=True)
    root.kill()
    for number in (signal.SIGTERM, signal.SIGKILL):
        for each in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(number)
        while not all(map(gone, found)) and (
            number == signal.SIGKILL or time.monotonic() < deadline
        ):
            time.sleep(0.05)
    process.wait()
    # Of another run in this folder there are none as young: it would have refused ours, or ours it.
    for lock in (folder / LOCKS).glob("*"):
        if lock.stat().st_mtime >= began:
            lock.unlink()
