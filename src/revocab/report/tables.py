"""Every configured table of an experiment, by kind, and its files."""

from __future__ import annotations

from pathlib import Path

from revocab.io import write_text
from revocab.output import OutputFolder
from revocab.report import notes
from revocab.report.layout import Table
from revocab.report.render import to_csv, to_latex, to_markdown
from revocab.report.results import Results
from revocab.report.tables_extra import efficiency_table, significance_table
from revocab.report.tables_plain import (
    fertility_table,
    parameters_table,
    prompts_table,
    similarity_table,
)
from revocab.report.tables_scores import generation_table, multiple_choice_table
from revocab.report.tables_tokenizers import parity_table, tokenizers_table

KINDS = {
    "parameters": parameters_table,
    "fertility": fertility_table,
    "tokenizers": tokenizers_table,
    "parity": parity_table,
    "multiple_choice": multiple_choice_table,
    "generation": generation_table,
    "similarity": similarity_table,
    "prompts": prompts_table,
    "significance": significance_table,
    "efficiency": efficiency_table,
}
ENDINGS = {"csv": to_csv, "md": to_markdown, "tex": to_latex}


def build_table(results: Results, identifier: str) -> Table:
    """Return one configured table; where results are missing, its cells show a dash."""
    entry = results.experiment["tables"][identifier]
    table = KINDS[entry["kind"]](results, identifier, entry)
    table.limited = notes.limited(results, entry)
    return table


def make_tables(root: str | Path, out: str | Path, experiment: str | Path | None = None) -> None:
    """Write every configured table into ``out`` as CSV, Markdown and LaTeX."""
    results = Results(root, experiment)
    with OutputFolder(Path(out), "tables", around=[results.root]).replaced() as folder:
        for identifier in sorted(results.experiment["tables"]):
            table = build_table(results, identifier)
            for ending, render in ENDINGS.items():
                write_text(folder / f"{identifier}.{ending}", render(table))
