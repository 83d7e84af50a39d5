"""The one error that a user is meant to read."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterable, Iterator

#: Problems that differ in their keys alone are all told up to the first of these numbers; of more,
#: the second.
ALIKE, SHOWN = 10, 3


def ending(status: int) -> str:
    """Return in words how a process ended; a negative status is a signal's number."""
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-status, f"signal {-status}")
    return f"{name}, as where memory runs out" if -status == signal.SIGKILL else name


class RevocabError(Exception):
    """Something the user can fix: every problem found, each in one line.

    A line names the key or file, the value received, what is allowed, and the next step.
    """

    def __init__(self, problems: str | Iterable[str]):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))

    def render(self) -> str:
        if len(self.problems) == 1:
            return f"error: {self.problems[0]}"
        lines = [f"error: {len(self.problems):,} problems"]
        lines += [f"  {number}. {problem}" for number, problem in enumerate(self._shown(), 1)]
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


def refuse(problems: Iterable[str]) -> None:
    """Raise :class:`RevocabError` with all problems, if there are any."""
    if listed := [*problems]:
        raise RevocabError(listed)
