"""Tokens per word beside the fewest that the splitter allows, a block per corpus."""

from __future__ import annotations

from typing import Literal

from revocab.fertility.floor import floor_sentence
from revocab.languages import language_label
from revocab.report.kind import TableOptions, TokenizerOptions
from revocab.report.results import FLOORS, Results, number
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, text

#: Column of ``floors.csv`` and header.
MEASURES = (
    ("tokens_per_word", "Tokens/word"),
    ("floor", "Floor"),
    ("joined_floor", "Floor, marks joined"),
)


class FloorTable(TokenizerOptions, TableOptions):
    """Tokens per word and the fewest that any vocabulary can have with the tokenizer's splitter."""

    kind: Literal["floor"]

    def build(self, results: Results) -> Table:
        setting = results.experiment.fertility
        measured = {(row["tokenizer"], row["corpus"]): row for row in results.csv(FLOORS)}
        rows, said = [], []
        for corpus in setting.corpora:
            language = results.experiment.corpora[corpus].language
            rows.append(Row(section=f"{corpus} ({language_label(language)})"))
            for tokenizer in setting.tokenizers:
                row = measured.get((tokenizer, corpus))
                values = [number(row[key]) if row else None for key, _ in MEASURES]
                # A splitter with nothing to repair has no joined floor: a dash, and no gap.
                cells = [
                    Cell(value, digits=2, provenance=FLOORS)
                    if value is not None or row is None
                    else text(MISSING)
                    for value in values
                ]
                rows.append(Row([text(tokenizer), *cells]))
                said.append(floor_sentence(tokenizer, corpus, *values))
        note = (
            "All tokens / all words of the first documents. Floor: the fewest tokens per word that"
            " any vocabulary can have with this splitter or, without one, with what extend joins."
            " Marks joined: the same if the splitter did not cut words at their marks."
        )
        sentences = (f"{sentence}." for sentence in said if sentence)
        return Table(["Tokenizer", *(header for _, header in MEASURES)], rows, [note, *sentences])


TABLE = FloorTable
