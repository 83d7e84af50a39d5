"""Tokens for parallel text, tokenizers by languages, and the ratio to the first language."""

from __future__ import annotations

from typing import Literal

from revocab.languages import language_label
from revocab.report.kind import ParallelOptions, TableOptions
from revocab.report.results import PARALLEL, Results, number
from revocab.report.table_parts.table import Cell, Row, Table, text

#: Column of ``parallel.csv``, header and digits.
MEASURES = (
    ("tokens", "Tokens", 0),
    ("characters_per_token", "Characters/token", 2),
    ("parity", "Parity", 2),
)


class ParityTable(ParallelOptions, TableOptions):
    """Tokens for parallel text, by tokenizer and language (``fertility.parallel``)."""

    kind: Literal["parity"]

    def build(self, results: Results) -> Table:
        measured = results.parallel_text
        parallel = results.experiment.fertility.parallel
        languages = parallel.languages if parallel else []
        rows = []
        for tokenizer in results.experiment.fertility.tokenizers:
            cells = []
            for language in languages:
                row = measured.get((tokenizer, language), {})
                for key, _, digits in MEASURES:
                    cells.append(Cell(number(row.get(key)), digits=digits, provenance=PARALLEL))
            rows.append(Row([text(tokenizer), *cells]))
        sentences = sorted({int(row["sentences"]) for row in measured.values()})
        size = f" {sentences[0]:,} sentences." if sentences else ""
        reference = language_label(languages[0]) if languages else "the first language"
        note = (
            f"The same sentences in each language.{size} Parity: tokens divided by those of"
            f" {reference}, same tokenizer."
        )
        return Table(
            ["Tokenizer", *[header for _ in languages for _, header, _ in MEASURES]],
            rows,
            [note],
            over=["", *[language_label(language) for language in languages for _ in MEASURES]],
        )


TABLE = ParityTable
