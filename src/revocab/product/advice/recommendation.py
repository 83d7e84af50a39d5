"""Which construction is recommended and what speaks against it, by numbers, beside the published
figures that advice stands on (``published.yaml``), each with its source and grade.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Literal

from revocab import yaml_file
from revocab.closed import Closed, OneLine, checked
from revocab.vocabulary.token_counts import NEAR_FLOOR

FILE = Path(__file__).with_name("published.yaml")
#: By how much slower the other construction may be before it is taken for keeping every old id.
ALIKE = 1.03


class Figure(Closed):
    """One figure: who says what, and how well it is known."""

    grade: Literal["measured", "published", "folklore"]
    source: OneLine
    says: OneLine


class Recovered(Figure):
    """Tokens of training after which quality was as before; no ``high``: not reached."""

    constructions: list[OneLine]
    low: float
    high: float | None


class Threshold(Figure):
    """A finding with the number that a rule compares with."""

    value: float


class Published(Closed):
    """The file."""

    recovered: dict[str, Recovered]
    says: dict[str, Threshold]


@cache
def published() -> Published:
    return checked(Published, yaml_file.read(FILE)[0], f"{FILE.name}: ")


def about(construction: str) -> list[Recovered]:
    return [
        figure for figure in published().recovered.values() if construction in figure.constructions
    ]


def interval(figures: Sequence[Recovered]) -> tuple[float, float, bool]:
    """Return the fewest and the most tokens, and whether some curve has no end."""
    ends = [figure.high for figure in figures if figure.high is not None]
    return min(figure.low for figure in figures), max(ends), len(ends) < len(figures)


@dataclass(frozen=True)
class Option:
    """One construction at the size that its curve and the text allow."""

    construction: str
    added: int
    vocabulary: int
    #: Shares of the text's tokens, and of the time of writing it, that it saves.
    saved_tokens: float
    saved_time: float
    #: Characters after which it pays at the earliest: with the fewest tokens of published curves,
    #: or those that were asked for; infinite where it never does.
    pays: float

    @property
    def settings(self) -> dict[str, Any]:
        """The options of the construction besides base, corpora and size."""
        return {} if self.construction == "extend" else {"keep": self.vocabulary - self.added}


@dataclass(frozen=True)
class Facts:
    """What the rules look at."""

    #: Bytes of all of the text, and its tokens today.
    bytes: int
    tokens: float
    #: Tokens over the least that the splitter allows, and over that of a repaired one.
    over_floor: float
    over_repaired: float
    options: Sequence[Option]
    #: Tokens of training that are planned, and characters served a month, if they are stated.
    planned: float
    passes: float
    served: float | None

    @property
    def best(self) -> Option:
        return fastest(self.options, self.planned)

    @property
    def speak_against(self) -> list[str]:
        """The rules that say don't; the first is the headline's."""
        says, best = published().says, self.best
        rules = {
            "least-text": self.bytes < says["least-text"].value,
            "floor": self.over_floor <= NEAR_FLOOR,
            "little": best.saved_time < says["little"].value,
            "months": self.served is not None and best.pays > self.served * says["months"].value,
        }
        return [rule for rule, speaks in rules.items() if speaks]


def fastest(options: Sequence[Option], trained: float = inf) -> Option:
    """Return `extend` unless another writes clearly faster: it keeps every old id.

    So too where ``trained`` tokens are fewer than any published curve of the other construction
    needed: what is dropped would not be learned again.
    """
    enough = trained >= interval(about("optimise"))[0]
    best = max(options, key=lambda option: option.saved_time)
    for option in options:
        slower = (1 - option.saved_time) / (1 - best.saved_time)
        if option.construction == "extend" and (slower <= ALIKE or not enough):
            return option
    return best
