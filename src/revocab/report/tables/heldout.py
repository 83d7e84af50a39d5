"""Held-out losses of chosen runs by language and step, and the steps to reach a given loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from revocab.closed import HeldoutLanguage, Id, Step, TokenizerId
from revocab.languages import language_label
from revocab.limits import Positive
from revocab.report.annotations import Experiment
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.table_parts.value_table import Column, ValueTable
from revocab.report.values import losses


class HeldoutTable(ValueTable):
    """Held-out losses of chosen runs."""

    kind: Literal["heldout"]
    languages: list[HeldoutLanguage] | None = Field(
        default=None, min_length=1, description="default: those of all held-out text"
    )
    #: Columns.
    steps: list[Step] = Field(default=["first", "last"], min_length=1)
    reference: TokenizerId | None = Field(
        default=None, description="tokenizer in whose tokens losses are shown next to bits per byte"
    )
    reach: dict[Id, list[Positive]] = Field(
        default_factory=dict, description="losses in bits per byte by language: steps to reach them"
    )

    def shown(self, experiment: Experiment) -> list[Column]:
        references = [None, self.reference] if self.reference else [None]
        columns: list[Column] = []
        for language in self.languages or losses.text_languages(experiment):
            label = language_label(language)
            for reference in references:
                for step in self.steps:
                    at = f"{step} steps" if isinstance(step, int) else f"{step} checkpoint"
                    value = losses.HeldoutLoss(language=language, step=step, reference=reference)
                    columns.append(Column(at, value, f"{label}, {losses.unit(reference)}"))
            for loss in self.reach.get(language, ()):
                steps_to = losses.StepsTo(language=language, loss=loss)
                columns.append(Column(f"steps to {loss:g}", steps_to, label))
        return columns

    def said(self, results: Results) -> list[str]:
        languages = self.languages or losses.text_languages(results.experiment)
        lines = [losses.unit_note(languages, None)]
        if self.reference:
            lines.append(losses.unit_note(languages, self.reference))
        if self.reach:
            lines.append(f"Steps to a loss in bits per byte: {losses.HOW_COUNTED}")
        return lines

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from losses.without_heldout_text(experiment, key)
        yield from losses.unmeasured_steps(experiment, f"{key}.steps", self.runs, self.steps)
        shown = self.languages or losses.text_languages(experiment)
        yield from unknowns(f"{key}.reach", self.reach, set(shown), "language of the table")


TABLE = HeldoutTable
