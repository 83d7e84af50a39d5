"""Table 1: vocabulary size and parameter count, counted on the meta device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from revocab.report import notes
from revocab.report.annotations import Experiment, Layout
from revocab.report.kind import TableOptions
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, text

FILE = "parameters.csv"


class ParametersTable(TableOptions):
    """Table of parameter counts."""

    kind: Literal["parameters"]

    of_text: ClassVar[bool] = False

    def build(self, results: Results) -> Table:
        counts = {
            (row["label"], int(row["vocabulary_size"])): int(row["parameters"])
            for row in results.csv(FILE)
        }
        rows = []
        for model in results.experiment.parameters:
            count = counts.get((model.label, model.vocabulary_size))
            printed = results.paper.parameters(model.label)
            shown = MISSING if count is None else human(count)
            shown += f" ({printed})" if printed else ""
            exact = MISSING if count is None else f"{count:,}"
            cells = [text(model.label), text(str(model.vocabulary_size))]
            rows.append(Row([*cells, text(shown, FILE), text(exact, FILE)]))
        note = "Counted from the architectures alone, without weights. a.w.: adapted with."
        header = ["Model", "Vocabulary", "Parameters", "Exactly"]
        return Table(header, rows, [note, *notes.published(results)])

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if not experiment.parameters:
            yield f"{key}: shows the models of 'parameters', which names none; add one"

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.parameters]


def human(count: int) -> str:
    """Return a parameter count as papers print it, such as ``7.24B`` or ``8.1M``."""
    if count >= 1e9:
        return f"{count / 1e9:.2f}B"
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}K"


TABLE = ParametersTable
