"""Table 2: mean tokens per word, tokenizers by corpora."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from revocab.corpora.word_splitters import GET_SENTENCES, SENTENCES
from revocab.languages import language_label
from revocab.report import notes
from revocab.report.kind import TableOptions, TokenizerOptions
from revocab.report.results import BY_CORPUS, Results, number
from revocab.report.table_parts.table import Cell, Row, Table, text

if TYPE_CHECKING:
    from revocab.corpora.read import Split


class FertilityTable(TokenizerOptions, TableOptions):
    """Table of fertility by tokenizer and corpus."""

    kind: Literal["fertility"]

    def build(self, results: Results) -> Table:
        setting, corpora = results.experiment.fertility, results.experiment.corpora
        measured = results.measured_tokenizers
        rows = []
        for tokenizer in setting.tokenizers:
            cells = []
            for corpus in setting.corpora:
                row = measured.get((tokenizer, corpus), {})
                alike = not row or row["splitter"] == SENTENCES
                theirs = results.paper.fertility(tokenizer, corpus) if alike else None
                value = number(row.get("fertility"))
                cells.append(Cell(value, published=theirs, provenance=BY_CORPUS))
            rows.append(Row([text(tokenizer), *cells]))
        printed = any(cell.published for row in rows for cell in row.cells)
        said = [measured_note(list(measured.values()), setting.split), *trained_on_note(results)]
        said += notes.published(results) if printed else []
        said += other_words_note(results, list(measured.values()))
        over = ["", *[language_label(corpora[corpus].language) for corpus in setting.corpora]]
        return Table(["Tokenizer", *setting.corpora], rows, said, over=over)


def measured_note(measured: list[dict[str, str]], split: Split) -> str:
    note = "Mean over documents of tokens per word; lower is better."
    splitters = sorted({row["splitter"] for row in measured})
    if splitters:
        note += f" Words split by {', '.join(splitters)}."
    sizes = {row["corpus"]: (int(row["documents"]), int(row["bytes"])) for row in measured}
    parts = [f"{name} {n:,} documents, {size / 1e6:.1f} MB" for name, (n, size) in sizes.items()]
    which = "Text held out" if split == "heldout" else "Text measured"
    return f"{note} {which}: {'; '.join(parts)}." if parts else note


def other_words_note(results: Results, measured: list[dict[str, str]]) -> list[str]:
    """Return why published values are not shown: their words are not those counted here."""
    others = dict.fromkeys(row["corpus"] for row in measured if row["splitter"] != SENTENCES)
    if not results.paper or not others:
        return []
    return [
        f"The paper counts words by NLTK's word_tokenize ({SENTENCES}), which {', '.join(others)} "
        "was not measured with: its values are not comparable and not shown. The sentence data "
        f"that it needs can be installed with '{GET_SENTENCES}'; then measure again: snakemake"
        " --forcerun "
        "measure_fertility."
    ]


def trained_on_note(results: Results) -> list[str]:
    setting = results.experiment.fertility
    parts = []
    for tokenizer in setting.tokenizers:
        trained_on = results.trained_on(tokenizer)
        seen = [corpus for corpus in setting.corpora if corpus in trained_on]
        if seen:
            parts.append(f"{tokenizer} on {', '.join(seen)}")
    if not parts:
        return []
    return [f"Trained on text that is measured here, which flatters them: {'; '.join(parts)}."]


TABLE = FertilityTable
