"""What a kind of table or figure is, and the registries of those in ``tables/``, ``figures/``.

The schema of an experiment file is made of their options (:mod:`revocab.report.kind_options`), so
nothing here or at the top of a kind's file imports matplotlib, numpy, pandas or the schema itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.closed import Step, kind_of
from revocab.registry import found_in
from revocab.report.kind_options import KindOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.report.figure_parts.palette import Palette
    from revocab.report.results import Results
    from revocab.report.table_parts.table import Table

__all__ = [
    "FIGURE_ENDINGS",
    "TABLE_ENDINGS",
    "FigureKind",
    "Kind",
    "KindOptions",
    "TableKind",
    "figure_kinds",
    "table_kinds",
]

TABLE_ENDINGS = ("csv", "md", "tex")
FIGURE_ENDINGS = ("svg", "png")


def nothing(*given: Any) -> tuple[()]:
    """Return nothing: what a kind answers where it has nothing to say."""
    return ()


def unlimited(results: Results, options: Any) -> str | None:
    """Return None: the kind shows nothing that a limit of items or queries changes."""


@dataclass(frozen=True)
class Kind:
    """What tables and figures have in common."""

    options: type[KindOptions]
    #: Yields what an experiment lacks for it; the key is where the experiment names the table.
    problems: Callable[[Experiment, str, Any], Iterable[str]] = nothing
    #: How its scores are limited, such as "first 100 items of each task"; None: not at all.
    limited: Callable[[Results, Any], str | None] = unlimited
    #: Run groups and tasks whose scores it shows, of an experiment: no other task is scored.
    scores: Callable[[Experiment, Any], Iterable[tuple[str, str]]] = nothing
    #: Files that it reads beside the scores, so that they are made first.
    needs: Callable[[Layout, Any], Iterable[str]] = nothing

    @property
    def name(self) -> str:
        """Return the name that an experiment file gives."""
        return kind_of(self.options)


@dataclass(frozen=True, kw_only=True)
class TableKind(Kind):
    """A kind of table: one file in ``tables/`` with one object ``TABLE``."""

    #: From results, the table's id and its options to the table; without results, with dashes.
    build: Callable[[Results, str, Any], Table]
    #: Groups whose runs are compared item by item for it, each with a step.
    compared: Callable[[Any], Iterable[tuple[str, Step]]] = nothing
    #: Those of the experiment's runs whose speed and memory are measured for it.
    timed: Callable[[Sequence[Run], Any], Iterable[Run]] = nothing
    #: Yields what finished results lack for it.
    gaps: Callable[[Results, Any], Iterable[str]] = nothing
    #: Yields what is wrong with its CSV file, given as its path, the table and the file's rows.
    check: Callable[[Path, Table, list[dict[str, str]]], Iterable[str]] = nothing


@dataclass(frozen=True, kw_only=True)
class FigureKind(Kind):
    """A kind of figure: one file in ``figures/`` with one object ``FIGURE``."""

    draw: Callable[[Results, Any, Palette], Figure]
    #: The sentences under it.
    caption: str
    #: A sentence more where published values are shown.
    caption_published: str = ""
    #: A sentence more where runs have replicates.
    caption_seeds: str = ""
    #: Shown no wider than half a page.
    small: bool = False


@cache
def table_kinds() -> dict[str, TableKind]:
    """Return every kind of table by name, as found in ``revocab.report.tables``."""
    from revocab.report import tables

    return found_in(tables, "TABLE")


@cache
def figure_kinds() -> dict[str, FigureKind]:
    """Return every kind of figure by name, as found in ``revocab.report.figures``."""
    from revocab.report import figures

    return found_in(figures, "FIGURE")
