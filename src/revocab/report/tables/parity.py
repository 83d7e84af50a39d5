"""Tokens for parallel text, tokenizers by languages, and the ratio to the first language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from revocab.languages import language_label
from revocab.report import notes
from revocab.report.kind import KindOptions, TableKind
from revocab.report.prerequisites import fertility_report
from revocab.report.references import no_parallel_text
from revocab.report.results import Results, number
from revocab.report.table_parts.table import Cell, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.schema import Experiment

FILE = "fertility/parallel.csv"


class ParityTable(KindOptions):
    """Tokens for parallel text, by tokenizer and language (``fertility.parallel``)."""

    kind: Literal["parity"]


def build(results: Results, identifier: str, options: ParityTable) -> Table:
    """Return tokens and characters per token of parallel text, and their parity."""
    measured = {(row["tokenizer"], row["language"]): row for row in results.csv(FILE)}
    parallel = results.experiment.fertility.parallel
    languages = parallel.languages if parallel else []
    header, over = ["Tokenizer"], [""]
    for language in languages:
        header += ["Tokens", "Characters/token", "Parity"]
        over += [language_label(language)] * 3
    rows = []
    for tokenizer in results.experiment.fertility.tokenizers:
        cells = []
        for language in languages:
            found = measured.get((tokenizer, language), {})
            cells += [
                Cell(number(found.get("tokens")), digits=0, provenance=FILE),
                Cell(number(found.get("characters_per_token")), provenance=FILE),
                Cell(number(found.get("parity")), provenance=FILE),
            ]
        rows.append(Row([text(tokenizer), *cells]))
    sentences = sorted({int(row["sentences"]) for row in measured.values()})
    told = f" {sentences[0]:,} sentences." if sentences else ""
    reference = language_label(languages[0]) if languages else "the first language"
    return Table(
        identifier,
        options.kind,
        options.title,
        header,
        rows,
        [
            f"The same sentences in each language.{told} Parity: tokens divided by those of"
            f" {reference}, same tokenizer.",
            *notes.synthetic(results),
        ],
        over=over,
    )


def problems(experiment: Experiment, key: str, options: ParityTable) -> Iterator[str]:
    """Yield a problem if the experiment names no parallel text."""
    return no_parallel_text(experiment, key, options.kind)


TABLE = TableKind(options=ParityTable, build=build, problems=problems, needs=fertility_report)
