"""What every verb shares: one entry point, and one way to fail."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from revocab.errors import LONGEST_NAME, RevocabError, UsageError, missing_library, on_one_line
from revocab.verb import Verb, read

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
def legible(command: str = "revocab") -> Iterator[None]:
    """Print a :class:`RevocabError` for people, and end with exit code 1; 2 where it is of usage.

    So too a library that an extra installs, a path that cannot be used, a disk that is full and
    Ctrl-C: writers leave nothing half-written (:mod:`revocab.io`).
    """
    try:
        yield
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        print("error: interrupted; no partial output was kept", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
    except BrokenPipeError:  # what reads our output has seen enough, such as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(128 + signal.SIGPIPE) from None
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
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        print(f"error: {command} needs {library}", file=sys.stderr)
        raise SystemExit(2) from None
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


def call(verb: Verb, words: Sequence[str], name: str) -> None:
    """Run a step with the words of a rule or of a person, who is told what was written and what
    comes next.
    """
    arguments, job = read(verb, name, words)
    if not job and handed_over(arguments.options, words, name):
        return
    result = perform(verb, arguments, job)
    if not job and result is not None:
        print(result)


def perform(verb: Verb, arguments: Any, job: str = "") -> str | None:
    """Run a step with its arguments and write the marker of its output; return what it tells a
    person. Without the name of a ``job`` it is run by hand.
    """
    from revocab.marker import made_by, mark_file
    from revocab.training.startup import process_variables

    # Of several processes by torchrun or srun, the first alone looks at what it reads and writes.
    first = {**os.environ, **process_variables(os.environ)}.get("RANK", "0") == "0"
    hashes = hashes_read(verb, arguments, job) if first else {}
    with ExitStack() as stack:
        stack.enter_context(made_by(verb.name, arguments.options, job, hashes))
        if not job:
            from revocab.models.hub_or_folder import fetch_inputs

            # Folders in place of Hub ids.
            if inputs := getattr(arguments, "inputs", None):
                arguments = arguments.model_copy(update={"inputs": fetch_inputs(inputs)})
            arguments = fetch_inputs(arguments)
            if first and verb.remakes is not None:
                stack.enter_context(glanced_at(*verb.remakes, arguments))
        result = verb.function(**dict(arguments))
        if first:
            mark_file(arguments.out)
    return result


def hashes_read(verb: Verb, arguments: Any, job: str) -> dict[str, str]:
    """Return the SHA-256 of what a job of the workflow reads; raise :class:`RevocabError` for files
    that are no longer as their jobs wrote them. By hand that is looked at of finished results.
    """
    from revocab.marker import hashes_of, paths_in

    inputs = {name: value for name, value in arguments if name not in ("options", "out")}
    paths = [*paths_in(inputs)] if job else []
    if hasattr(inputs.get("inputs"), "results"):
        from revocab.report.results import files_read

        group = getattr(arguments.options, "group", None)
        paths = [*files_read(inputs["inputs"], verb.name, group)]
    parts = arguments.out.parts  # results/EXPERIMENT/… in a job of the workflow
    return hashes_of(paths, parts[1] if job and len(parts) > 1 else "")


def handed_over(options: Any, words: Sequence[str], name: str) -> bool:
    """Run a step that a person typed with the Python of its engine, where that is another one.

    Ends with its exit status if it fails.
    """
    engine = getattr(options, "engine", None)
    if not isinstance(engine, str):
        return False
    from revocab.evaluation.inference.engine import elsewhere

    python = elsewhere(engine)
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
def glanced_at(name: str, pattern: str, arguments: Any) -> Iterator[None]:
    """Print what is wrong with the model that is read and, anew, with the last that is written."""
    from revocab.product.check.kind import tell

    inputs = getattr(arguments, "inputs", arguments)
    known = tell(getattr(inputs, name))
    yield
    for folder in sorted(arguments.out.glob(pattern))[-1:] if pattern else [arguments.out]:
        tell(folder, known)


def run(main: Callable[[], None]) -> None:
    with legible():
        main()
