"""The one error that a user is meant to read."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

#: Problems that differ in their keys alone are all told up to the first of these numbers; of more,
#: the second.
ALIKE, SHOWN = 10, 3
#: Most characters of a path that a message repeats.
LONGEST_NAME = 120
#: Most characters of a value that a line repeats.
LONGEST = 200
#: What moves a terminal's cursor, changes its colours, or turns the text around it: control
#: characters but for the tabulator, line ends, and overrides of direction.
CONTROLS = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"


def ending(status: int) -> str:
    """Return in words how a process ended; a negative status is a signal's number."""
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-status, f"signal {-status}")
    return f"{name}, as where memory runs out" if -status == signal.SIGKILL else name


def on_one_line(text: str) -> str:
    """Return a text with its lines joined, and control characters as Python writes them."""
    joined = " ".join(text.split("\n"))
    return re.sub(f"[{CONTROLS}]", lambda control: ascii(control[0])[1:-1], joined)


#: What a progress bar leaves behind, and what says why a program ended.
PROGRESS = re.compile(r"\d+%\||\d+%\s*(completed|\(|$)|\bit/s\b|s/it\b", re.IGNORECASE)
FAULT = re.compile(r"error|exception|fatal|panic|abort|killed|cannot|could not|out of memory", re.I)


def ended(status: int, output: str) -> str:
    """Return how a process ended and what it last said: a line that tells of an error rather than
    others, and progress never.
    """
    said = [" ".join(line.split()) for line in output.splitlines()]
    said = [line for line in said if line and not PROGRESS.search(line)]
    last = next((line for line in reversed(said) if FAULT.search(line)), said[-1] if said else "")
    how = f"the process ended with {ending(status)}"
    return f"{how}; it last said: {last[:300]}" if last else f"{how} and said nothing"


def refuse(problems: Iterable[str]) -> None:
    """Raise :class:`RevocabError` with all problems; nothing happens where there are none."""
    if listed := list(problems):
        raise RevocabError(listed)


class RevocabError(Exception):
    """Something the user can fix: every problem found, each in one line.

    A line names the key or file, the value received, what is allowed, and the next step.
    """

    def __init__(self, problems: str | Iterable[str]):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))

    def render(self) -> str:
        """Return the problems as they are printed, a line each, control characters as escapes."""
        if len(self.problems) == 1:
            return f"error: {on_one_line(self.problems[0])}"
        lines = [f"error: {len(self.problems):,} problems"]
        shown = map(on_one_line, self._shown())
        lines += [f"  {number}. {problem}" for number, problem in enumerate(shown, 1)]
        return "\n".join(lines)

    def _shown(self) -> Iterator[str]:
        """Yield the problems; of many that differ in their keys alone, the first and how many more.

        What differs is the key before the first ``: ``.
        """
        whats = [problem.partition(": ")[2] or problem for problem in self.problems]
        numbers, shown = Counter(whats), Counter[str]()
        for problem, what in zip(self.problems, whats, strict=True):
            shown[what] += 1
            left = numbers[what] - SHOWN
            if numbers[what] <= ALIKE or shown[what] < SHOWN:
                yield problem
            elif shown[what] == SHOWN:
                yield f"{problem} (and {left:,} more like it)"


def all_of(calls: Iterable[Callable[[], Any]], problems: Iterable[str] = ()) -> list[Any]:
    """Return what calls return; raise the problems of all of them, after those given, at once."""
    returned, told = [], list(problems)
    for call in calls:
        try:
            returned.append(call())
        except RevocabError as error:
            told += error.problems
    if told:
        raise RevocabError(dict.fromkeys(told))
    return returned


def refused(call: Callable[..., object], *given: object) -> list[str]:
    try:
        call(*given)
    except RevocabError as error:
        return error.problems
    except OSError as error:  # a name that is too long, a folder that changes while it is read
        return [f"{str(error.filename)[:LONGEST_NAME]}: {error.strerror}; give another path"]
    return []


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Name the place before each problem of a :class:`RevocabError`."""
    try:
        yield
    except RevocabError as error:
        raise RevocabError(f"{place}: {problem}" for problem in error.problems) from error


class UsageError(RevocabError):
    """A command line that cannot be read; it ends with exit status 2, as is the custom."""


#: A requirement of an extra, as the installed package lists it: ``torch>=2.6; extra == "models"``.
OF_EXTRA = re.compile(r"""([\w.-]+).*\bextra == ["']([\w-]+)["']""")


def missing_library(error: ImportError) -> str | None:
    """Return what installs the library whose import failed; None for what no extra lists.

    The import name of each library of an extra is the name that it is installed by.
    """
    from importlib.metadata import PackageNotFoundError, distribution, requires

    library = (error.name or "").partition(".")[0]
    try:
        listed = [OF_EXTRA.match(line) for line in requires("revocab") or ()]
        origin = json.loads(distribution("revocab").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # a checkout on the path, not installed
        return None
    extras = [part[2] for part in listed if part and part[1].lower().replace("-", "_") == library]
    if not isinstance(error, ModuleNotFoundError) or not extras:
        return None
    # From where it was installed, if that is no index: a checkout, a wheel, a repository.
    program = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    where = f" @ {program}{origin['url']}" if origin else ""
    named = " or ".join(f"'revocab[{extra}]{where}'" for extra in dict.fromkeys(extras))
    return (
        f"{library!r}, which is not installed: pip install {named}, or 'revocab[all]{where}' for"
        " all verbs"
    )


@contextmanager
def of_usage() -> Iterator[None]:
    """Raise :class:`UsageError` with what another :class:`RevocabError` says."""
    try:
        yield
    except RevocabError as error:
        raise UsageError(error.problems) from None
