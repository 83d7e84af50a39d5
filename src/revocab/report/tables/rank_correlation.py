"""How well the order of methods at an early step tells their order at the end of training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from revocab.closed import Step
from revocab.evaluation.ranking import early_against_late
from revocab.languages import language_label
from revocab.report.annotations import Experiment
from revocab.report.results import Results
from revocab.report.table_parts.ranked_runs import (
    Entry,
    RankedOptions,
    mean_cell,
    no_results,
    point_label,
)
from revocab.report.table_parts.table import Row, Table, text

#: Heading of the block over all groups.
ALL = "All"


class RankCorrelationTable(RankedOptions):
    """Rank correlation of methods' early held-out losses with their last ones."""

    kind: Literal["rank_correlation"]
    #: Rows.
    steps: list[Step] = Field(default=[0, "first"], min_length=1)
    #: The step whose order is to be told.
    end: Step = "last"

    def build(self, results: Results) -> Table:
        """Return a block per group, and one over all if there are several."""
        names = self.names(results)
        entries_G = [list(self.entries(results, [group], names)) for group in self.groups]
        labels = [results.experiment.runs[group].label for group in self.groups]
        blocks = [(label, [entries]) for label, entries in zip(labels, entries_G, strict=True)]
        if len(blocks) > 1:
            blocks.append((ALL, entries_G))
        rows: list[Row] = []
        for heading, compared_G in blocks:
            if len(blocks) > 1:
                rows.append(Row(section=heading))
            rows += [self.row(compared_G, step) for step in self.steps]
        listed = ", ".join(map(language_label, dict.fromkeys(self.groups.values())))
        said = [
            f"By loss on held-out text ({listed}). Rank correlation: Spearman's, of the order in "
            f"one training after so many steps with that at {point_label(self.end)} in the mean of "
            "the other seeds; 1 is the same order, 0 none in common.",
            "Lost by picking its best: how many bits per byte, at the end and in the mean over "
            "seeds, the method that was best after so many steps is above the best. After ±: half "
            "of the 95 % interval of Student's t over seeds.",
        ]
        return Table(["After", "Rank correlation", "Lost by picking its best"], rows, said)

    def row(self, entries_G: Sequence[Sequence[Entry]], step: Step) -> Row:
        correlations_GS, lost_GS = [], []
        for entries in entries_G:
            early, late = (
                [entry.sample(point, [None])[0] for entry in entries] for point in (step, self.end)
            )
            correlations_S, lost_S = early_against_late(early, late)
            correlations_GS.append(correlations_S)
            lost_GS.append(lost_S)
        cells = [mean_cell(correlations_GS, 2), mean_cell(lost_GS, 3)]
        provenance = next((entry.provenance for entries in entries_G for entry in entries), None)
        for cell in cells:
            cell.provenance = provenance
        if not all(entry.measured for entries in entries_G for entry in entries):
            cells = no_results(cells)
        return Row([text(point_label(step)), *cells])

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from self.run_problems(experiment, key, {"steps": self.steps, "end": [self.end]})


TABLE = RankCorrelationTable
