"""What an experiment file says of a table or figure: the options of its kind.

The schema of an experiment file imports this and no more of the report, which reads experiments.
"""

from __future__ import annotations

from collections.abc import Iterator

from revocab.closed import Closed, OneLine
from revocab.registry import found_in


class KindOptions(Closed):
    """Base of what an experiment file says of a table or figure: which kind, and its title.

    A kind narrows ``kind`` to its own name: ``kind: Literal["parity"]``.
    """

    kind: str
    title: OneLine


def table_options() -> Iterator[type[KindOptions]]:
    """Yield the options of every kind in ``revocab.report.tables``."""
    from revocab.report import tables

    return (kind.options for kind in found_in(tables, "TABLE").values())


def figure_options() -> Iterator[type[KindOptions]]:
    """Yield the options of every kind in ``revocab.report.figures``."""
    from revocab.report import figures

    return (kind.options for kind in found_in(figures, "FIGURE").values())
