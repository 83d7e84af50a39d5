"""Scores or losses by language: which they are, their changes against a base, their means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from revocab.closed import Id, OneLine, Step
from revocab.report.asked import choices_in
from revocab.report.kind import KindOptions
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve, loss_at, unit_note
from revocab.report.table_parts.table import MISSING, Cell, text
from revocab.report.values.task_means import macro, mean_cell, metrics_note

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.schema import Experiment

#: Kind of the generative tasks that translate.
TRANSLATION = "translation"


class LanguageScores(KindOptions):
    """What stands for a language.

    Of family, into, out_of and heldout, what is given; else the mean of all multiple-choice tasks.
    """

    step: Step = "last"
    family: Id | None = Field(default=None, description="family of multiple-choice tasks")
    into: Id | None = Field(default=None, description="translation into this language")
    out_of: Id | None = Field(default=None, description="translation out of this language")
    heldout: Literal[True] | None = Field(default=None, description="held-out bits per byte")
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )
    change: Literal["difference", "percent"] | None = Field(
        default=None, description="columns with the change against the base model; default: no such"
    )

    @model_validator(mode="after")
    def _one_score(self) -> LanguageScores:
        named = ("family", "into", "out_of", "heldout")
        given = [name for name in named if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given; give one of {', '.join(named)}")
        return self

    def tasks(self, experiment: Experiment, language: str) -> list[str]:
        """Return the tasks whose mean stands for a language."""
        if self.heldout:
            return []
        if self.into is None and self.out_of is None:
            return choices_in(experiment, language, [self.family] if self.family else None)
        pair = [language, self.into] if self.into else [self.out_of, language]
        return [
            name
            for name, task in experiment.evaluation.generation.tasks.items()
            if task.kind == TRANSLATION and list(task.direction) == pair
        ]

    @property
    def wanted(self) -> str:
        """Return what tasks a language must have."""
        if self.into:
            return f"translation into {self.into!r}"
        if self.out_of:
            return f"translation out of {self.out_of!r}"
        of = f" of family {self.family!r}" if self.family else ""
        return f"multiple-choice task{of}"

    def value_cell(self, results: Results, run: Run | None, language: str) -> Cell:
        """Return what a run has for a language; a dash where there is no run, or none scored."""
        if run is None or not (run.evaluate or self.heldout):
            return text(MISSING)
        if self.heldout:
            curve = heldout_curve(results, run, language)
            loss = loss_at(run, curve, self.step)
            return Cell(loss, digits=3, provenance=results.heldout(run)[1])
        tasks = self.tasks(results.experiment, language)
        return mean_cell(results, run, self.step, tasks, self.metrics, macro)

    def change_cell(self, cell: Cell, base: Cell) -> Cell:
        """Return the change from the base's value, in its unit or in per cent of it."""
        if cell.text is not None:
            return text(MISSING)
        if cell.value is None or not base.value:
            return Cell(provenance=cell.provenance)
        change = cell.value - base.value
        if self.change == "percent":
            return Cell(100 * change / base.value, provenance=cell.provenance)
        return Cell(change, digits=cell.digits, provenance=cell.provenance)

    def said(self, results: Results, languages: Sequence[str], base: str | None) -> list[str]:
        """Return what stands under a table of languages: its unit, and what changes are from."""
        if self.heldout:
            lines = [unit_note(languages, None)]
        else:
            tasks = [task for one in languages for task in self.tasks(results.experiment, one)]
            lines = [
                "Means over a language's tasks, 0 to 100, ± standard error over items.",
                *metrics_note(results, tasks, self.metrics),
            ]
        if self.change:
            unit = "per cent of it" if self.change == "percent" else "its unit"
            lines.append(f"Change: from {base}, in {unit}.")
        return lines


def average_cells(rows: Sequence[Sequence[Cell]]) -> list[Cell]:
    """Return the mean of every column; a dash where a language cannot have a value."""
    found = []
    for column in zip(*rows, strict=True):
        values = [cell.value for cell in column if cell.value is not None]
        if any(cell.text is not None for cell in column):
            found.append(text(MISSING))
        elif len(values) < len(column):
            found.append(Cell())
        else:
            found.append(Cell(sum(values) / len(values), digits=column[0].digits))
    return found
