"""How many items a task's data should have: others are scored, and not compared with a paper."""

from __future__ import annotations

import sys

from pydantic import Field

from revocab.closed import Closed, Revision
from revocab.errors import RevocabError
from revocab.limits import Count


class ExpectedItems(Closed):
    """How many rows a task's data should have, and which commit of a Hub data set has them."""

    number: Count = Field(description="number of rows that the scored split should have")
    revision: Revision | None = Field(
        default=None,
        description="commit expected to have them, named in the warning if the data does not",
    )
    strict: bool = Field(
        default=False,
        description="stop at another number; else published values are shown and not compared",
    )


def compare_items(
    task: str, where: str, number: int, expected: ExpectedItems, advice: str = ""
) -> None:
    """Warn where a task's data have another number of rows than expected.

    ``where`` names the data. Raises :class:`RevocabError` if that number is a must.
    """
    if number == expected.number:
        return
    found = (
        f"task {task!r}: {where}, has {number:,} items, expected {expected.number:,}: another "
        f"version of the data{advice}"
    )
    if expected.strict:
        raise RevocabError(f"{found}; drop 'strict' of the task's 'items' to score these")
    print(f"warning: {found}; published values are not compared with its scores", file=sys.stderr)
