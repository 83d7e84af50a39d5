"""What a number of a run is that tables may show."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from revocab.closed import Closed
from revocab.report.table_parts.run_rows import Better
from revocab.report.table_parts.table import Cell

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.report.results import Results


class RunValue(Closed):
    """One number of a run; hooks say nothing where a value has nothing to say."""

    #: Which value is the better one; None: neither.
    better: ClassVar[Better | None] = None

    @abstractmethod
    def header(self) -> str:
        """Return the header of its column."""

    @abstractmethod
    def cell(self, results: Results, run: Run) -> Cell:
        """Return the number of a run, empty where it is not there; a dash where it cannot be."""

    def notes(self, results: Results, header: str) -> Iterable[str]:
        """Return sentences that stand under a table which shows it, under a header."""
        return ()

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterable[str]:
        """Yield what the experiment lacks for it."""
        return ()

    def needs(self, layout: Layout, runs: Sequence[str]) -> Iterable[str]:
        """Return the files that it reads beside the scores."""
        return ()

    def tasks(self, experiment: Experiment) -> Iterable[str]:
        """Return the tasks whose scores it shows."""
        return ()
