"""One process with the slow imports made, of which the local jobs of a run are copies.

Loading torch and transformers costs more than most jobs of a small experiment compute. So a run of
the workflow starts one process that loads them, and a job asks it for a fork of itself, with the
job's own environment, folder and standard streams. Where there is no such process, or it differs in
what is read at start-up, the job goes on by itself: nothing that it computes depends on which.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from revocab.workflow.gpus import VISIBLE, end_with_parent

#: Where the jobs of a run find the process.
SOCKET = "REVOCAB_WARM"
#: Imported once, for all jobs; in this order.
SLOW = (
    "torch",
    "transformers.models.auto.modeling_auto",
    "revocab.training.loop.trainer",
    "revocab.evaluation.inference.engines.transformers",
    "revocab.evaluation.multiple_choice.scoring",
    "matplotlib.figure",
)
#: As Snakemake sets them for a job with one thread; libraries read them when they are loaded.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "GOTO_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
#: Of a process that will fork: no thread of pyarrow's; asking whether there is a GPU takes none.
FORKS = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}
#: Variables of a shell and its job that no library reads when it is loaded; CUDA reads which GPUs
#: it may see when a process first uses one.
OWN = frozenset(
    {"_", "SHLVL", "PWD", "OLDPWD", "TMPDIR", "TMP", "TEMPDIR", "TEMP", VISIBLE, SOCKET, *FORKS}
    | ONE_THREAD.keys()  # a fork sets torch's own number
)
ACCEPTED = b"y"
#: Passed on to the job; Ctrl-C reaches it without our help, as all processes of a terminal.
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
LONGEST = 1 << 20
STATUS = struct.Struct("i")


# --- in Snakemake ---------------------------------------------------------------------------------


def start() -> None:
    if not hasattr(os, "pidfd_open"):  # not Linux
        return
    path = Path(tempfile.mkdtemp(prefix="revocab-"), "warm")
    os.environ[SOCKET] = str(path)
    # Its standard input stays open as long as we live, and nothing is written to it.
    global _process  # noqa: PLW0603
    _process = subprocess.Popen(
        [sys.executable, "-m", "revocab.workflow.warm"],
        stdin=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD, **FORKS},
    )


def stop() -> None:
    """End the process once its jobs have ended; without this call it ends with this one."""
    if _process is not None and _process.stdin is not None:
        _process.stdin.close()
        _process.wait()
        shutil.rmtree(Path(os.environ[SOCKET]).parent, ignore_errors=True)


_process: subprocess.Popen[bytes] | None = None


# --- in a job -------------------------------------------------------------------------------------


def ask(words: list[str]) -> int | None:
    """Have a job done by a fork of the warm process; return its exit status, negative for a signal.

    None: there is no such process, or not with our Python and environment.
    """
    path = os.environ.get(SOCKET)
    if path is None:
        return None
    request = {
        "python": sys.executable,
        "path": sys.path,
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109 (pathlib is not loaded for this)
        "words": words,
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
            accepted = connection.recv(1) == ACCEPTED
        except OSError:
            return None
        if not accepted:
            return None
        answer = answer_of(connection)
    if not answer:
        print("error: the process that started this job has ended, and the job with it; "
              "run the same command again", file=sys.stderr)  # fmt: skip
        return 1
    return STATUS.unpack(answer)[0]


def answer_of(connection: socket.socket) -> bytes:
    """Return how a job has ended, nothing if nobody knows; pass signals on to it until then."""
    # A signal that comes just before a call that waits would wait with it; not so as bytes.
    signals, written = socket.socketpair()
    written.setblocking(False)
    signal.set_wakeup_fd(written.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in FORWARDED:
        signal.signal(number, lambda number, frame: None)
    with selectors.DefaultSelector() as selector, signals, written:
        selector.register(signals, selectors.EVENT_READ)
        selector.register(connection, selectors.EVENT_READ)
        try:
            while connection not in [key.fileobj for key, _ in selector.select()]:
                connection.send(signals.recv(16))
            return connection.recv(STATUS.size)
        except ConnectionError:  # Linux says so of a process killed before it read a signal
            return b""
        finally:
            signal.set_wakeup_fd(-1)


def run(main: Callable[[], None]) -> None:
    """Do this process' job: in a copy of the warm process, or here."""
    status = ask(sys.argv)
    if status is None:
        main()
    elif status >= 0:
        sys.exit(status)
    else:
        from revocab.errors import ending

        print(f"error: the job was ended ({ending(status)})", file=sys.stderr, flush=True)
        with contextlib.suppress(OSError):  # SIGKILL has no other effect anyway
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)


# --- the process ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """A job that runs: a fork of the process, and the connection to what asked for it."""

    pid: int
    ended: int
    connection: socket.socket


@dataclass
class Server:
    """Answers requests by forks of this process until Snakemake and its jobs have ended."""

    listener: socket.socket
    #: As it was before anything was loaded.
    environment: dict[str, str]
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    #: What a job does at Ctrl-C: ignored where who supervises the run sends SIGTERM.
    on_interrupt: Any = signal.default_int_handler

    def serve(self) -> dict[str, Any] | None:
        """Return a request in each fork, and None in the process itself when all is done."""
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while self.selector.get_map():
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    if request := self.answer():
                        return request
                elif key.data is None:  # Snakemake has ended; jobs that run go on
                    self.selector.unregister(self.listener)
                    self.listener.close()
                    self.selector.unregister(key.fileobj)
                elif key.fileobj is key.data.connection:
                    self.pass_on(key.data)
                else:
                    self.report(key.data)
        return None

    def answer(self) -> dict[str, Any] | None:
        """Fork for a request, if it is one for us; return it in the fork."""
        connection, _ = self.listener.accept()
        message, streams, _, _ = socket.recv_fds(connection, LONGEST, 3)
        request = json.loads(message or "{}")
        same = request and (
            request["python"] == sys.executable
            and comparable(request["environment"]) == self.environment
            and alone()
        )
        pid = os.fork() if same else -1
        if pid == 0:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            self.selector.close()
            end_with_parent()  # so that what a client says of a killed process is true
            signal.signal(signal.SIGINT, self.on_interrupt)
            return request
        for stream in streams:
            os.close(stream)
        if not same:
            connection.close()
            return None
        connection.send(ACCEPTED)
        job = Running(pid, os.pidfd_open(pid), connection)
        self.selector.register(job.ended, selectors.EVENT_READ, job)
        self.selector.register(connection, selectors.EVENT_READ, job)
        return None

    def pass_on(self, job: Running) -> None:
        """Send the job the signals that its client has received; end it if the client is gone."""
        numbers = job.connection.recv(16)
        for number in numbers or [signal.SIGKILL]:
            os.kill(job.pid, number)
        if not numbers:
            self.selector.unregister(job.connection)

    def report(self, job: Running) -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(job.pid, 0)[1])
        with contextlib.suppress(OSError):  # the client is gone
            job.connection.send(STATUS.pack(status))
        with contextlib.suppress(KeyError):
            self.selector.unregister(job.connection)
        self.selector.unregister(job.ended)
        os.close(job.ended)
        job.connection.close()


def comparable(environment: dict[str, str]) -> dict[str, str]:
    """Return what of an environment libraries may read when they are loaded."""
    return {name: value for name, value in environment.items() if name not in OWN}


def alone() -> bool:
    """Return whether the process has one thread: others would be missing in a fork."""
    return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208


def main() -> None:
    """Load what is slow, then serve; a fork goes on here as the job that was asked for."""
    path, environment = Path(os.environ[SOCKET]), comparable(dict(os.environ))
    # Ctrl-C is for the jobs; we end with Snakemake.
    on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in SLOW:
        import_module(module)
    gc.collect()
    gc.freeze()  # so that collecting in a fork copies none of its memory
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"{path}-")
        listener.listen(64)
        os.rename(f"{path}-", path)  # noqa: PTH104 (found by jobs only now that it can be asked)
        request = Server(listener, environment, on_interrupt=on_interrupt).serve()
    if request is None:
        shutil.rmtree(path.parent, ignore_errors=True)
        return
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    if "torch" in sys.modules and threads != "1":
        sys.modules["torch"].set_num_threads(int(threads))
    sys.argv, sys.path[:] = request["words"], request["path"]
    import_module("revocab.__main__").main()


if __name__ == "__main__":
    main()
