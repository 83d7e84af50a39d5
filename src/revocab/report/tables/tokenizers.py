"""Every measure of every tokenizer, a block per corpus."""

from __future__ import annotations

from typing import Literal

from revocab.languages import language_label
from revocab.report import notes
from revocab.report.kind import KindOptions, TableKind
from revocab.report.prerequisites import fertility_report
from revocab.report.references import no_fertility
from revocab.report.results import Results, number
from revocab.report.table_parts.table import Cell, Row, Table, text

#: Column of ``fertility.csv``, header, scale and digits.
MEASURES = (
    ("fertility", "Tokens/word", 1, 3),
    ("fertility_corpus", "Tokens/word, whole corpus", 1, 3),
    ("characters_per_token", "Characters/token", 1, 2),
    ("bytes_per_token", "Bytes/token", 1, 2),
    ("words_split", "Words split %", 100, 1),
    ("unknown_rate", "Unknown %", 100, 3),
    ("byte_rate", "Byte tokens %", 100, 3),
)
FILE = "fertility/fertility.csv"


class TokenizersTable(KindOptions):
    """Tokens per word and character, words split, unknown and byte tokens, by corpus."""

    kind: Literal["tokenizers"]


def build(results: Results, identifier: str, options: TokenizersTable) -> Table:
    """Return the measures of every tokenizer, a block per corpus."""
    setting = results.experiment.fertility
    measured = {(row["tokenizer"], row["corpus"]): row for row in results.csv(FILE)}
    rows = []
    for corpus in setting.corpora:
        language = results.experiment.corpora[corpus].language
        rows.append(Row(section=f"{corpus} ({language_label(language)})"))
        for tokenizer in setting.tokenizers:
            found = measured.get((tokenizer, corpus), {})
            cells = [
                Cell(number(found.get(key)), scale=scale, digits=digits, provenance=FILE)
                for key, _, scale, digits in MEASURES
            ]
            rows.append(Row([text(tokenizer), *cells]))
    splitters = sorted({row["splitter"] for row in measured.values()})
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Tokenizer", *(header for _, header, _, _ in MEASURES)],
        rows,
        [
            "Tokens/word: mean over documents; whole corpus: all tokens / all words. Words split:"
            " share of words with a letter that are several tokens after a space. Byte tokens:"
            " tokens that are not text by themselves.",
            *([f"Words split by {', '.join(splitters)}."] if splitters else []),
            *notes.synthetic(results),
        ],
    )


TABLE = TableKind(
    options=TokenizersTable, build=build, problems=no_fertility, needs=fertility_report
)
