"""Figures of others that advice stands on, each with its source and grade: published.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from revocab import yaml_file
from revocab.closed import Closed, OneLine, checked

FILE = Path(__file__).with_suffix(".yaml")


class Figure(Closed):
    """One figure: who says what, and how well it is known."""

    grade: Literal["measured", "published", "folklore"]
    source: OneLine
    says: OneLine

    def told(self) -> str:
        return f"{self.says} ({self.grade}: {self.source})"


class Recovered(Figure):
    """Tokens of training after which quality was as before; no ``high``: not reached."""

    constructions: list[OneLine]
    low: float
    high: float | None


class Said(Figure):
    """A finding with the number that a rule compares with."""

    value: float


class Published(Closed):
    """The file."""

    recovered: dict[str, Recovered]
    says: dict[str, Said]


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
