"""Similarity of a run's embeddings to those of its group's helper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from revocab.closed import Step
from revocab.report.kind import manifest
from revocab.report.results.score_table import HELPER_SIMILARITY
from revocab.report.table_parts.table import Better, Cell
from revocab.report.values.run_value import RunValue

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.report.results import Results


class HelperSimilarity(RunValue):
    """Mean cosine of relative representations to those of the helper, as a fraction."""

    better: ClassVar[Better | None] = "higher"

    step: Step

    def header(self) -> str:
        return f"@{self.step}"

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the similarity, with the paper's beside it."""
        (step,) = run.select([self.step]) or (None,)
        if step is None:
            return Cell(scale=100)
        cell = Cell(published=results.printed(run, step, "", HELPER_SIMILARITY), scale=100)
        for row in results.similarities:
            if (row["kind"], row["run"], row["step"]) == ("helper", run.id, step):
                cell.value, cell.provenance = row["similarity"], row["provenance"]
        return cell

    def needs(self, layout: Layout, runs: Sequence[str]) -> list[str]:
        groups = dict.fromkeys(one.group for run in runs for one in layout.replicates(run))
        return [manifest(layout.paths.similarity(group)) for group in groups]
