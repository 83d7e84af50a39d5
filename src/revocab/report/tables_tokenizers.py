"""Tables of the tokenizer report: measures by corpus, and tokens for parallel text."""

from __future__ import annotations

from typing import Any

from revocab.report import notes
from revocab.report.layout import Cell, Line, Table, text
from revocab.report.names import language_label
from revocab.report.results import Results, number

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
FILE, PARALLEL = "fertility/fertility.csv", "fertility/parallel.csv"


def tokenizers_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return every measure of every tokenizer, a block per corpus."""
    setting = results.experiment["fertility"]
    rows = {(row["tokenizer"], row["corpus"]): row for row in results.csv(FILE)}
    lines = []
    for corpus in setting["corpora"]:
        language = results.experiment["corpora"][corpus]["language"]
        lines.append(Line(section=f"{corpus} ({language_label(language)})"))
        for tokenizer in setting["tokenizers"]:
            row = rows.get((tokenizer, corpus), {})
            cells = [
                Cell(number(row.get(key)), scale=scale, digits=digits, provenance=FILE)
                for key, _, scale, digits in MEASURES
            ]
            lines.append(Line([text(tokenizer), *cells]))
    splitters = sorted({row["splitter"] for row in rows.values()})
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Tokenizer", *(header for _, header, _, _ in MEASURES)],
        lines,
        [
            "Tokens/word: mean over documents; whole corpus: all tokens by all words. Words split:"
            " share of words with a letter that are several tokens after a space. Byte tokens:"
            " tokens that are no text by themselves.",
            *([f"Words split by {', '.join(splitters)}."] if splitters else []),
            *notes.synthetic(results),
        ],
    )


def parity_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return tokens for parallel text, tokenizers by languages, and the ratio to the first."""
    rows = {(row["tokenizer"], row["language"]): row for row in results.csv(PARALLEL)}
    parallel = results.experiment["fertility"]["parallel"]
    languages = parallel["languages"] if parallel else []
    header, over = ["Tokenizer"], [""]
    for language in languages:
        header += ["Tokens", "Characters/token", "Parity"]
        over += [language_label(language)] * 3
    lines = []
    for tokenizer in results.experiment["fertility"]["tokenizers"]:
        cells = []
        for language in languages:
            row = rows.get((tokenizer, language), {})
            cells += [
                Cell(number(row.get("tokens")), digits=0, provenance=PARALLEL),
                Cell(number(row.get("characters_per_token")), provenance=PARALLEL),
                Cell(number(row.get("parity")), provenance=PARALLEL),
            ]
        lines.append(Line([text(tokenizer), *cells]))
    sentences = sorted({int(row["sentences"]) for row in rows.values()})
    measured = f" {sentences[0]:,} sentences." if sentences else ""
    reference = language_label(languages[0]) if languages else "the first language"
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        header,
        lines,
        [
            f"The same sentences in each language.{measured} Parity: tokens divided by those of"
            f" {reference}, same tokenizer.",
            *notes.synthetic(results),
        ],
        over=over,
    )
