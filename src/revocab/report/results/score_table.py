"""The long table of scores, as it is looked up: by run, step, task and metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.evaluation.multiple_choice.families import choice_metrics

#: One measurement: a row of a file of results, by column.
Record = dict[str, Any]
#: ``task`` of the mean over all multiple-choice tasks of a language; its metric is ``average``.
AVERAGE = "average"
#: The metric of similarity to a helper, of whatever task.
HELPER_SIMILARITY = "similarity_helper"


def average_task(language: str) -> str:
    return f"{AVERAGE}_{language}"


class Scores:
    """The long table of scores, and which metric stands for each family in it."""

    def __init__(self, rows: list[Record], metrics: dict[str, str]):
        self.rows = rows
        self.metrics = metrics
        self._by_key = {(r["run"], r["step"], r["task"], r["metric"]): r for r in rows}
        self._reported = {(row["task"], row["metric"]) for row in rows}

    @classmethod
    def read(cls, path: Path) -> Scores:
        import json

        import pyarrow.parquet as pq

        table = pq.read_table(path)
        stored = (table.schema.metadata or {}).get(b"revocab", b"{}")
        return cls(table.to_pylist(), json.loads(stored).get("metric_of_family", {}))

    def get(self, run: str, step: int, task: str, metric: str) -> Record | None:
        return self._by_key.get((run, step, task, metric))

    def choice(self, run: str, step: int, task: str, family: str) -> Record | None:
        """Return a multiple-choice row in its family's metric, or in one that its task reports."""
        found = (self.get(run, step, task, one) for one in choice_metrics(family, self.metrics))
        return next(filter(None, found), None)

    def shown_metric(self, task: str, family: str) -> str:
        known = choice_metrics(family, self.metrics)
        return next((one for one in known if (task, one) in self._reported), known[0])
