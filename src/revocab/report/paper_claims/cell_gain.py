"""By how many points some rows of a table are higher in one column than in another: as printed, and
in our results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from revocab.closed import Id, OneLine, unknown
from revocab.report.paper_claims.measure import Measure
from revocab.report.published.paper_values import PaperValues
from revocab.report.table_parts.published_table import places_of
from revocab.report.tables.models_by_language import ModelsByLanguageTable

if TYPE_CHECKING:
    from revocab.config.schema import Experiment
    from revocab.report.results import Results


class CellGain(Measure):
    """The least gain, over rows, of a column over the best of others in a table of models by
    language.
    """

    table: Id
    rows: list[OneLine] = Field(min_length=1, description="as the table names its rows")
    column: OneLine
    over: list[OneLine] = Field(min_length=1, description="columns")

    def published(self, results: Results) -> float | None:
        found = {(one.row, one.column): one.value for one in results.paper.cells(self.table)}
        return self._gain(lambda row, column: found.get((row, column)))

    def ours(self, results: Results) -> float | None:
        options = self._options(results.experiment)
        if options is None:
            return None
        places = places_of(options.build(results))
        cells = {(row, column): cell.value for (_, row, column), cell in places.items()}
        return self._gain(lambda row, column: cells.get((row, column)))

    def shown(self, value: float) -> str:
        return f"{100 * value:+.2f}"

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        options = self._options(experiment)
        if options is None:
            known = [
                name
                for name, one in experiment.tables.items()
                if isinstance(one, ModelsByLanguageTable)
            ]
            yield unknown(f"{key}.table", self.table, known, "table of kind models_by_language")
            return
        for row in self.rows:
            if row not in options.row_labels:
                yield unknown(f"{key}.rows", row, options.row_labels, f"row of {self.table!r}")
        for one in (self.column, *self.over):
            if one not in options.columns and one not in self._printed_columns(experiment):
                yield unknown(key, one, options.columns, f"column of {self.table!r}, also printed,")

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        options = self._options(experiment)
        if options is not None:
            yield from options.scores(experiment)

    def _options(self, experiment: Experiment) -> ModelsByLanguageTable | None:
        found = experiment.tables.get(self.table)
        return found if isinstance(found, ModelsByLanguageTable) else None

    def _printed_columns(self, experiment: Experiment) -> set[str]:
        """Return columns of the paper's table: models that are not run here may be among them."""
        if experiment.paper_values is None:
            return set()
        return {one.column for one in PaperValues(Path(experiment.paper_values)).cells(self.table)}

    def _gain(self, value: Callable[[str, str], float | None]) -> float | None:
        """Return the least gain in fractions of 100 points; None where a value is missing."""
        gains = []
        for row in self.rows:
            ours, others = value(row, self.column), [value(row, one) for one in self.over]
            known = [one for one in others if one is not None]
            if ours is None or len(known) < len(others):
                return None
            gains.append((ours - max(known)) / 100)
        return min(gains)
