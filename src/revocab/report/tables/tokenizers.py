"""Every measure of every tokenizer, a block per corpus."""

from __future__ import annotations

from typing import Literal

from revocab.languages import language_label
from revocab.report.kind import TableOptions, TokenizerOptions
from revocab.report.results import BY_CORPUS, Results, number
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


class TokenizersTable(TokenizerOptions, TableOptions):
    """Tokens per word and character, words split, unknown and byte tokens, by corpus."""

    kind: Literal["tokenizers"]

    def build(self, results: Results) -> Table:
        setting, measured = results.experiment.fertility, results.measured_tokenizers
        rows = []
        for corpus in setting.corpora:
            language = results.experiment.corpora[corpus].language
            rows.append(Row(section=f"{corpus} ({language_label(language)})"))
            for tokenizer in setting.tokenizers:
                row = measured.get((tokenizer, corpus), {})
                cells = [
                    Cell(number(row.get(key)), scale=scale, digits=digits, provenance=BY_CORPUS)
                    for key, _, scale, digits in MEASURES
                ]
                rows.append(Row([text(tokenizer), *cells]))
        splitters = sorted({row["splitter"] for row in measured.values()})
        note = (
            "Tokens/word: mean over documents; whole corpus: all tokens / all words. Words "
            "split: share of words with a letter that are several tokens after a space. Byte "
            "tokens: tokens that are not text by themselves."
        )
        split = [f"Words split by {', '.join(splitters)}."] if splitters else []
        return Table(["Tokenizer", *(row[1] for row in MEASURES)], rows, [note, *split])


TABLE = TokenizersTable
