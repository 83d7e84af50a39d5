"""Chosen numbers of chosen runs: what they were trained on, their losses, their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from revocab.report.annotations import Experiment
from revocab.report.results import Results
from revocab.report.table_parts.value_table import Column, ValueTable
from revocab.report.values.one_value import OneValue


class RunsTable(ValueTable):
    """Chosen numbers of chosen runs, a column each."""

    kind: Literal["runs"]
    columns: list[OneValue] = Field(min_length=1)

    @model_validator(mode="after")
    def _headers_differ(self) -> RunsTable:
        headers = [column.header for column in self.columns]
        twice = next((header for header in headers if headers.count(header) > 1), None)
        if twice is not None:
            raise ValueError(f"columns: two are called {twice!r}; give one another 'label'")
        return self

    def shown(self, experiment: Experiment) -> list[Column]:
        return [Column(column.header, column.value) for column in self.columns]

    def said(self, results: Results) -> list[str]:
        return [
            note for column in self.columns for note in column.value.notes(results, column.header)
        ]

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        for place, column in enumerate(self.columns):
            where = f"{key}.columns.{place}.{column.name}"
            yield from column.value.problems(experiment, where, self.runs)


TABLE = RunsTable
