"""Something that is wrong with a model folder: what, what it does to a user, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

#: Of an error something fails or computes nonsense; a warning is worth a look; a note is a fact.
Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong; :meth:`line` is what a :class:`RevocabError` says of it."""

    code: str
    severity: Severity
    what: str
    effect: str
    mend: str
    #: Mends it in a copy that ``revocab check --fix`` writes; none: only a guess could.
    fix: Callable[[Any], object] | None = field(default=None, compare=False)

    def line(self, place: object) -> str:
        return f"{place}: {self.what}; {self.effect}: {self.mend}"


def some(names: Collection[object], shown: int = 5) -> str:
    more = len(names) - shown
    listed = ", ".join(map(str, list(names)[:shown]))
    return listed + (f" and {more:,} more" if more > 0 else "")


def some_tokens(ids: Collection[int], tokens: Sequence[str]) -> str:
    """Return the first ids, each with its token where there is one."""
    return some([f"{n} {tokens[n]!r}" if n < len(tokens) else n for n in ids])
