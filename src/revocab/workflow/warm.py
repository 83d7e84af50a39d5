"""One process with the slow imports made, of which the local jobs of a run are forks.

Loading torch and transformers costs more than most jobs of a small experiment compute: the first
eight of the demo take 45 s of CPU time with this process and 69 s without. It listens in a folder.
A job connects to it, sends its words, environment, folder and standard streams, and gets a handle
of a fork that does its work; it passes signals on, and asks how the fork has ended. Where there is
no such process, or it differs in what is read at start-up, the job does its work itself: no result
depends on which. ``multiprocessing``'s servers and pools serve the program that began them alone.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from revocab.errors import ending
from revocab.workflow.gpus import VISIBLE, end_with_parent

#: Where jobs find the folder in which the process listens.
FOLDER = "REVOCAB_WARM"
#: Imported once, for all jobs; in this order.
SLOW = (
    "transformers.models.auto.modeling_auto",
    "revocab.training.loop",
    "revocab.evaluation.inference.engines.transformers",
    "revocab.evaluation.multiple_choice.scoring",
    "matplotlib.figure",
    "cyclopts",
)
#: Variables that no library reads when it is loaded; CUDA reads its own when it is first used.
OWN = ("_", "SHLVL", "PWD", "OLDPWD", "TMPDIR", "TMP", "TEMPDIR", "TEMP", VISIBLE, FOLDER)
#: Passed on to the fork; Ctrl-C reaches it without our help, as all processes of a terminal.
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
#: What ends jobs, and not the process that they are forks of.
STOPS = (signal.SIGINT, signal.SIGTERM)


def identity() -> str:
    """Return a name for our Python and what libraries may read of its environment when loaded.

    Numbers of threads are left out: a fork sets torch's own.
    """
    names = {name for name in os.environ if not name.endswith("_THREADS")}.difference(OWN)
    text = json.dumps([sys.executable, sorted((name, os.environ[name]) for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def start() -> None:
    """Start the process, in Snakemake; it ends after this one and the last of its jobs."""
    import atexit
    import subprocess
    import tempfile

    if not hasattr(os, "pidfd_open"):  # not Linux
        return
    os.environ[FOLDER] = f"{tempfile.gettempdir()}/revocab-{os.urandom(8).hex()}"
    # Its standard input stays open as long as we live, and nothing is written to it.
    process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE)
    atexit.register(process.communicate)
    atexit.register(process.terminate)  # comes first; has no effect unless it still loads


def run(main: Callable[[], None]) -> None:
    """Do this process' job: in a fork of the warm process, or here."""
    status = ask()
    if status is None:
        main()
        return
    if status < 0:
        print(f"error: the job was ended ({ending(status)})", file=sys.stderr)
        status = 128 - status  # as a shell has it
    sys.exit(status)


def ask() -> int | None:
    """Have this job done by a fork of the warm process; return how it ended, negative for a signal.

    None: there is no such process, or not with our Python and environment.
    """
    if FOLDER not in os.environ:
        return None
    request = [sys.argv, sys.path, str(Path.cwd()), dict(os.environ)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        try:
            server.connect(f"{os.environ[FOLDER]}/{identity()}")
            socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
            _, (fork,), *_ = socket.recv_fds(server, 1, 1)
        except (OSError, ValueError):
            return None

        def forward(number: int, frame: Any) -> None:
            with suppress(ProcessLookupError):  # it has just ended
                signal.pidfd_send_signal(fork, number)

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in FORWARDED:
            signal.signal(number, forward)
        while not select.select([fork], [], [], 1.0)[0]:  # a signal just before it waits no longer
            pass
        try:
            server.send(b"?")
            return os.waitstatus_to_exitcode(int(server.recv(16)))
        except (OSError, ValueError):
            print("error: the process that started this job has ended, and the job with it; "
                  "run the same command again", file=sys.stderr)  # fmt: skip
            return 1


def serve(listener: socket.socket) -> list[Any] | None:
    """Return a request in each fork, and None in the process itself once Snakemake and all jobs
    have ended.
    """
    jobs: dict[Any, int] = {}
    sources = [sys.stdin, listener]
    while sources or jobs:
        for source in select.select([*sources, *jobs], [], [])[0]:
            if source in jobs:
                report(source, jobs.pop(source))
            elif source is sys.stdin:  # Snakemake has ended; jobs that run go on
                sources = []
                listener.close()
            elif sources:
                client, _ = listener.accept()
                message, streams, *_ = socket.recv_fds(client, 1 << 20, 3)
                if (pid := os.fork()) == 0:
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                    return list(json.loads(message))
                handle = os.pidfd_open(pid)
                with suppress(OSError):  # the client is gone
                    socket.send_fds(client, [b"y"], [handle])
                for number in (handle, *streams):
                    os.close(number)
                jobs[client] = pid
    return None


def report(client: socket.socket, pid: int) -> None:
    """Tell a client that asks how its fork has ended; end the fork of a client that is gone."""
    question = b""
    with suppress(ConnectionError):
        question = client.recv(1)
    if not question:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    with client, suppress(OSError):
        client.send(b"%d" % status)


def main() -> None:
    """Load what is slow, then serve; a fork goes on here as the job that was asked for."""
    folder, name = Path(os.environ[FOLDER]), identity()
    # Ctrl-C is for the jobs; where who supervises the run sends them SIGTERM, they ignore it, too.
    on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    numbers = filter(lambda name: name.endswith("_THREADS"), ("OMP_NUM_THREADS", *os.environ))
    os.environ.update(dict.fromkeys(numbers, "1"))
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asks without a context, which none inherits
    for module in SLOW:
        import_module(module)
    gc.collect()
    gc.freeze()  # so that collecting in a fork copies none of its memory
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 (threads would be missing in a fork)
        return
    # Blocked, not ignored: one that reaches a fork before it is ready waits until it is.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    signal.signal(signal.SIGINT, on_interrupt)
    folder.mkdir(0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / name))
        listener.listen(64)
        request = serve(listener)
    if request is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    end_with_parent()  # so that what a client says of a killed process is true
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    sys.argv, sys.path[:], working, environment = request
    os.chdir(working)
    os.environ.clear()
    os.environ.update(environment)
    if "torch" in sys.modules and (threads := os.environ.get("OMP_NUM_THREADS", "1")) != "1":
        sys.modules["torch"].set_num_threads(int(threads))
    import_module("revocab.__main__").main()


if __name__ == "__main__":
    main()
