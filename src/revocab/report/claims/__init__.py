"""What an experiment shows, computed from its files: each claim with its numbers and verdict.

A file here has a function as ``CLAIMS``. It yields a claim for everything that the results have
data on. A claim holds, or does not, only where the error of its difference allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from revocab.extensions import found_in
from revocab.report.annotations import Results


@dataclass(frozen=True)
class Claim:
    """A statement on results, the numbers behind it, and whether it holds (None: cannot tell)."""

    statement: str
    numbers: str
    holds: bool | None


@cache
def claim_kinds() -> dict[str, Callable[[Results], Iterator[Claim]]]:
    """Return what finds claims, by the name of its file."""
    from revocab.report import claims

    return found_in(claims, "CLAIMS", lambda find: find.__module__.rpartition(".")[2])


def all_claims(results: Results) -> list[Claim]:
    return [claim for find in claim_kinds().values() for claim in find(results)]
