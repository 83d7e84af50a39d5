"""What an experiment shows, computed from its files: each claim with its numbers and verdict.

A claim holds, or does not, only where the error of its difference allows it; else nobody can tell.
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


@dataclass(frozen=True)
class ClaimKind:
    """A kind of claim: a file in ``claims/`` has one or several as ``CLAIMS``."""

    name: str
    #: Claims are listed by this, lowest first.
    place: int
    #: Yields a claim for everything that the results have data on.
    find: Callable[[Results], Iterator[Claim]]


@cache
def claim_kinds() -> dict[str, ClaimKind]:
    from revocab.report import claims

    return found_in(claims, "CLAIMS")


def all_claims(results: Results) -> list[Claim]:
    kinds = sorted(claim_kinds().values(), key=lambda kind: kind.place)
    return [claim for kind in kinds for claim in kind.find(results)]
