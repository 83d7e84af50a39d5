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
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import psutil

from revocab.errors import ending
from revocab.workflow.gpus import end_with_parent
from revocab.workflow.progress import Progress

#: The number of the pipe, for Snakemake.
EVENTS = "REVOCAB_EVENTS"
#: What Snakemake says before this line is noise of its start, unless it ends before it.
BEGUN = "revocab: the workflow is read\n"
#: Seconds that jobs have to end after SIGTERM; killing the rest takes less than another.
GRACE = 3.5
#: Seconds between two looks.
EVERY = 0.2
#: Where Snakemake locks a working folder, by files that outlive it when it is killed.
LOCKS = Path(".snakemake/locks")
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


# --- in Snakemake ---------------------------------------------------------------------------------


class Announcer(logging.Handler):
    """Writes what Snakemake logs of jobs and errors into the pipe, a line of JSON each."""

    KEYS = ("jobid", "job_id", "rule_name", "wildcards", "output", "log", "stats")

    def __init__(self, pipe: int):
        super().__init__()
        self.pipe = os.fdopen(pipe, "w", encoding="utf-8")

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event is None and record.levelno < logging.ERROR:
            return
        values = {key: getattr(record, key) for key in self.KEYS if hasattr(record, key)}
        values |= {"event": getattr(event, "value", "error"), "text": str(record.msg or "")}
        with contextlib.suppress(OSError):  # nobody listens any more
            self.pipe.write(json.dumps(values, default=str) + "\n")
            self.pipe.flush()


def announce(results: str) -> None:
    """Tell the process that supervises this run, if one does, of its jobs from now on."""
    pipe = os.environ.pop(EVENTS, None)
    if pipe is None:
        return
    from snakemake.logging import logger  # type: ignore[import-untyped]

    for handler in [*logger.handlers]:
        if handler.name == "DefaultStreamHandler":  # what it says goes on in Snakemake's log
            logger.removeHandler(handler)
    announcer = Announcer(int(pipe))
    logger.addHandler(announcer)
    announcer.pipe.write(json.dumps({"event": "results", "text": results}) + "\n")
    sys.stderr.write(BEGUN)
    sys.stderr.flush()


# --- in the process that supervises it ------------------------------------------------------------


@contextlib.contextmanager
def stoppable(again: str) -> Iterator[None]:
    """End at a signal within the block, after a line that says how to go on with ``again``."""

    def end(number: int, frame: Any) -> NoReturn:
        name = signal.Signals(number).name
        print(f"stopped by {name}; kept: what is finished; to go on: {again}", file=sys.stderr)
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in STOPS}
    for number in STOPS:
        if number != signal.SIGHUP or before[number] is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
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
    received: list[signal.Signals] = []
    before = {number: signal.getsignal(number) for number in STOPS}
    for number in STOPS:
        if number != signal.SIGHUP or before[number] is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, lambda number, frame: received.append(signal.Signals(number)))
    progress = Progress(folder, sys.stderr)
    process, pipe = started(words, cwd or folder, inherited, quiet=quiet)
    try:
        follow(process, pipe, progress, received)
    finally:
        if process.poll() is None:
            stop(process, folder)
        for number, handler in before.items():
            signal.signal(number, handler)
    progress.close()
    if received:
        stopped(received[0], progress, again)
    if process.returncode:
        if not progress.told_errors:
            why = "see above" if not quiet else f"logs: {folder / '.snakemake/log'}"
            print(f"error: Snakemake ended with {ending(process.returncode)}; {why}",
                  file=sys.stderr)  # fmt: skip
        if progress.jobs:  # else the experiment was refused, and nothing began
            print(f"{progress.kept()}; mend the cause, and to go on: {again}", file=sys.stderr)
        raise SystemExit(process.returncode if process.returncode > 0 else 1)
    return progress


def stopped(number: signal.Signals, progress: Progress, again: str) -> NoReturn:
    print(f"stopped by {number.name}; {progress.kept()}; to go on: {again}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(128 + number)  # unloading libraries would take a second


def started(
    words: Sequence[str], folder: Path, inherited: Sequence[int], *, quiet: bool
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start Snakemake: deaf to Ctrl-C, which is ours to obey, and killed when this process is."""
    read, write = os.pipe()

    def child() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_with_parent()

    environment = {**os.environ, EVENTS: str(write)} if quiet else dict(os.environ)
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *words],
        cwd=folder, env=environment, pass_fds=[write, *inherited], preexec_fn=child,  # noqa: PLW1509
        stderr=subprocess.PIPE if quiet else None,
    )  # fmt: skip
    os.close(write)
    return process, os.fdopen(read, "rb")


def follow(
    process: subprocess.Popen[bytes],
    pipe: IO[bytes],
    progress: Progress,
    received: Sequence[signal.Signals],
) -> None:
    """Show what Snakemake tells until it has ended, or a signal has come."""
    begun, early = process.stderr is None, b""
    rest: dict[Any, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for source in filter(None, (pipe, process.stderr)):
            os.set_blocking(source.fileno(), False)
            selector.register(source, selectors.EVENT_READ)
        while not received and selector.get_map():
            ended, heard = process.poll() is not None, False
            for key, _ in selector.select(EVERY):
                stream: Any = key.fileobj
                data = stream.read()
                if not data:
                    selector.unregister(stream)
                    continue
                heard = True
                *lines, rest[stream] = (rest.get(stream, b"") + data).split(b"\n")
                for line in lines:
                    if stream is pipe:
                        progress.take(json.loads(line))
                    elif begun:
                        progress.say(line.decode(errors="replace"))
                    else:
                        begun = line + b"\n" == BEGUN.encode()
                        early += line + b"\n"
            progress.look()
            if ended and not heard:  # what it has started may hold its error stream
                break
        while not received and process.poll() is None:
            time.sleep(EVERY)
    if not begun and not received:  # it ended before the workflow was read: it says why
        text = (early + rest.get(process.stderr, b"")).decode(errors="replace").rstrip("\n")
        _, mark, ours = f"\n{text}".partition("\nerror: ")
        progress.say(f"error: {ours}" if mark else text)
        progress.told_errors = bool(text)


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
            time.sleep(EVERY / 4)
    process.wait()
    # Of another run in this folder there are none as young: it would have refused ours, or ours it.
    for lock in (folder / LOCKS).glob("*"):
        if lock.stat().st_mtime >= began:
            lock.unlink()
