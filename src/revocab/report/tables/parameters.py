"""Table 1: vocabulary size and parameter count, counted on the meta device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from revocab.report import notes
from revocab.report.kind import KindOptions, TableKind
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

FILE = "parameters.csv"


class ParametersTable(KindOptions):
    """Table of parameter counts."""

    kind: Literal["parameters"]


def build(results: Results, identifier: str, options: ParametersTable) -> Table:
    """Return the parameter counts of the experiment's ``parameters``."""
    counts = {(r["label"], int(r["vocabulary_size"])): r for r in results.csv(FILE)}
    rows = []
    for one in results.experiment.parameters:
        found = counts.get((one.label, one.vocabulary_size))
        printed = results.paper.parameters(one.label)
        shown = human(int(found["parameters"])) if found else MISSING
        if printed:
            shown += f" ({printed})"
        exact = f"{int(found['parameters']):,}" if found else MISSING
        cells = [text(one.label), text(str(one.vocabulary_size)), text(shown, FILE)]
        rows.append(Row([*cells, text(exact, FILE)]))
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", "Vocabulary", "Parameters", "Exactly"],
        rows,
        [
            "Counted from the architectures alone, without weights. a.w.: adapted with.",
            *notes.published(results),
        ],
    )


def human(count: int) -> str:
    """Return a parameter count as papers print it, such as ``7.24B`` or ``8.1M``."""
    if count >= 1e9:
        return f"{count / 1e9:.2f}B"
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}K"


def problems(experiment: Experiment, key: str, options: ParametersTable) -> Iterator[str]:
    """Yield a problem if no configuration is named."""
    if not experiment.parameters:
        yield f"{key}: shows the models of 'parameters', which names none; add one"


def needs(layout: Layout, options: ParametersTable) -> list[str]:
    """Return the counts."""
    return [layout.paths.parameters]


TABLE = TableKind(options=ParametersTable, build=build, problems=problems, needs=needs)
