"""Chosen numbers of chosen runs: what they were trained on, their losses, their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from revocab.closed import ShownRunId, Step
from revocab.report.annotations import Experiment
from revocab.report.references import unknowns
from revocab.report.results import Results
from revocab.report.table_parts.value_table import Column, ValueTable
from revocab.report.values.one_value import OneValue
from revocab.report.values.run_value import RunValue


class RunsTable(ValueTable):
    """Chosen numbers of chosen runs, a column each."""

    kind: Literal["runs"]
    columns: list[OneValue] = Field(min_length=1)
    steps: dict[ShownRunId, Step] = Field(
        default_factory=dict,
        description="checkpoints of runs that are not shown at the step of the columns",
    )

    @model_validator(mode="after")
    def _headers_differ(self) -> RunsTable:
        headers = [column.header for column in self.columns]
        twice = next((header for header in headers if headers.count(header) > 1), None)
        if twice is not None:
            raise ValueError(f"columns: two are called {twice!r}; give one another 'label'")
        return self

    def shown(self, experiment: Experiment) -> list[Column]:
        return [Column(column.header, column.value) for column in self.columns]

    def at_step(self, value: RunValue, run: str) -> RunValue:
        if run not in self.steps or "step" not in type(value).model_fields:
            return value
        return value.model_copy(update={"step": self.steps[run]})

    def said(self, results: Results) -> list[str]:
        notes = [
            note for column in self.columns for note in column.value.notes(results, column.header)
        ]
        steps = ", ".join(f"{run} {step}" for run, step in self.steps.items())
        return [*notes, *([f"Checkpoints by run: {steps}."] if steps else [])]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for place, column in enumerate(self.columns):
            where = f"{key}.columns.{place}.{column.name}"
            others = [run for run in self.runs if run not in self.steps]
            yield from column.value.problems(experiment, where, others or self.runs)
            for run in self.steps if others != self.runs else ():
                yield from self.at_step(column.value, run).problems(experiment, where, [run])
        yield from unknowns(f"{key}.steps", self.steps, self.runs, "run of the table")


TABLE = RunsTable
