"""The one error that a user is meant to read."""

from __future__ import annotations

from collections.abc import Iterable


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
        lines = [f"error: {len(self.problems)} problems"]
        lines += [f"  {number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        return "\n".join(lines)
