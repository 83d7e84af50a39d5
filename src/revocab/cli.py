"""What every command shares: one entry point, and one way to fail."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from revocab.closed import Closed
from revocab.command import Call, Command, read
from revocab.errors import LONGEST_NAME, RevocabError, UsageError, on_one_line

#: A full disk, a quota, a limit on the size of files.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: How an error says in words that memory ran out, of the machine or of a device.
NO_MEMORY = (
    "out of memory",
    "STATUS_ALLOC_FAILED",
    "Cannot allocate memory",
    "failed to map segment from shared object",
    "not enough memory: you tried to allocate",
    "Unable to allocate",
    "can't start new thread",
)
MORE_MEMORY = "end other processes, or give this one more memory; no partial output was kept"


@contextmanager
def legible() -> Iterator[None]:
    """Print a :class:`RevocabError` for people, and end with exit code 1; 2 where it is of usage.

    So too a path that cannot be used, a disk that is full and Ctrl-C: writers leave nothing
    half-written (:mod:`revocab.io`).
    """
    try:
        yield
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        print("error: interrupted; no partial output was kept", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
    except OSError as error:
        if error.errno == errno.ENOMEM:
            print(f"error: memory ran out; {MORE_MEMORY}", file=sys.stderr)
            raise SystemExit(1) from None
        if error.errno not in NO_ROOM and not error.filename:
            raise
        name = str(error.filename or "")
        place = f"{name[:LONGEST_NAME]}{'…' * (len(name) > LONGEST_NAME)}: " if name else ""
        advice = "give another path"
        if error.errno in NO_ROOM:
            advice = "no partial output was kept; free some space and run the same command again"
        print(f"error: {place}{error.strerror}; {advice}", file=sys.stderr)
        raise SystemExit(1) from None
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        reason = on_one_line(str(error))[:LONGEST_NAME] or type(error).__name__
        print(f"error: memory ran out ({reason}); {MORE_MEMORY}", file=sys.stderr)
        raise SystemExit(1) from None


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it came from, says that a machine or device has no memory
    left: Python's own, and what the loader of libraries, torch and CUDA say in words.
    """
    while error is not None:
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def run(main: Callable[[], None]) -> None:
    with legible():
        main()


def call(command: Command, words: Sequence[str], name: str) -> None:
    asked = read(command, name, words)
    if asked.by_hand and handed_over(asked, words, name):
        return
    from revocab.marker import made_by, mark_file
    from revocab.training.machine.startup import process_variables

    # Of several processes by torchrun or srun, the first alone looks at what it reads and writes.
    first = {**os.environ, **process_variables(os.environ)}.get("RANK", "0") == "0"
    hashes = hashes_read(command, asked) if first else {}
    with made_by(command.name, asked.job, asked.name, hashes), inputs_of(asked) as inputs:
        telling = asked.by_hand and first and command.remakes is not None
        with glanced_at(command, inputs, asked.out) if telling else nullcontext():
            result = command.run(inputs, asked.job, asked.machine, asked.out)
        if first:
            mark_file(asked.out)
    if asked.by_hand and result is not None:
        print(result)


def hashes_read(command: Command, asked: Call) -> dict[str, str]:
    """Return the SHA-256 of what a job of the workflow reads; raise :class:`RevocabError` for files
    that are no longer as their jobs wrote them. By hand that is looked at of finished results.
    """
    from revocab.marker import hashes_of, paths_in

    paths = [*paths_in(asked.inputs)] if asked.name else []
    if hasattr(asked.inputs, "results"):
        from revocab.report.results import files_read

        paths = [*files_read(asked.inputs, command.name, getattr(asked.job, "group", None))]
    parts = asked.out.parts  # results/EXPERIMENT/… in a job of the workflow
    return hashes_of(paths, parts[1] if asked.name and len(parts) > 1 else "")


def handed_over(asked: Call, words: Sequence[str], name: str) -> bool:
    """Run a command that a person typed with the Python of its engine, where that is another one.

    Ends with its exit status if it fails.
    """
    named = getattr(asked.job, "engine", None)
    if not isinstance(named, str):
        return False
    from revocab.evaluation.inference.engine import elsewhere

    python = elsewhere(named)
    if python is None:
        return False
    ours = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    line = [python, "-m", "revocab", name.removeprefix("revocab "), *words]
    status = subprocess.run(
        line, env={**os.environ, "PYTHONPATH": os.pathsep.join(ours)}, check=False
    ).returncode
    if status:
        raise SystemExit(status if status > 0 else 128 - status)
    return True


@contextmanager
def glanced_at(command: Command, inputs: Closed, out: Path) -> Iterator[None]:
    """Tell what is wrong with the model that is read and, anew, with the last that is written."""
    from revocab.model_check.kind import tell

    assert command.remakes is not None  # or nothing is told
    name, pattern = command.remakes
    known = tell(getattr(inputs, name))
    yield
    for folder in sorted(out.glob(pattern))[-1:] if pattern else [out]:
        tell(folder, known)


@contextmanager
def inputs_of(asked: Call) -> Iterator[Closed]:
    """Yield the inputs of a call as files and folders; by hand they may be named otherwise."""
    if not asked.by_hand:
        yield asked.inputs
        return
    from revocab.evaluation.multiple_choice.named_tasks import as_task_files
    from revocab.models.hub_or_folder import fetch_inputs

    with as_task_files(fetch_inputs(asked.inputs)) as inputs:
        yield inputs
