"""The beginning of each measured text in the tokens of every tokenizer."""

from __future__ import annotations

from typing import Literal

from revocab.io import read_jsonl
from revocab.languages import language_label
from revocab.report.kind import TableOptions, TokenizerOptions
from revocab.report.results import SAMPLES, Results
from revocab.report.table_parts.table import Cell, Row, Table, text


class TokenSamplesTable(TokenizerOptions, TableOptions):
    """How the first words of each corpus are cut, by tokenizer."""

    kind: Literal["token_samples"]

    def build(self, results: Results) -> Table:
        setting, corpora = results.experiment.fertility, results.experiment.corpora
        samples = read_jsonl(results.root / SAMPLES) if results.has(SAMPLES) else ()
        pieces = {(row["corpus"], row["tokenizer"]): row["pieces"] for row in samples}
        rows = []
        for corpus in setting.corpora:
            rows.append(Row(section=f"{corpus} ({language_label(corpora[corpus].language)})"))
            for tokenizer in setting.tokenizers:
                cut = pieces.get((corpus, tokenizer))
                number = Cell(None if cut is None else len(cut), digits=0, provenance=SAMPLES)
                rows.append(Row([text(tokenizer), number, text("|".join(cut or ()), SAMPLES)]))
        header = ["Tokenizer", "Tokens", "Beginning of the text"]
        note = (
            "The first words that were measured. A line ends a token; a dot is a token that "
            "only goes on with the character before."
        )
        return Table(header, rows, [note], texts=True)


TABLE = TokenSamplesTable
