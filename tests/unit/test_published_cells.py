"""Published values of any table: the file, its mistakes, notes, and where values land."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_results import fake_results

from revocab.errors import RevocabError
from revocab.report.make_tables import build_table
from revocab.report.published import CELLS, PaperValues
from revocab.report.results import Results
from revocab.report.table_parts.render import to_csv, to_html, to_latex, to_markdown
from revocab.report.table_parts.table import MISSING

TABLES = {
    "t": {
        "kind": "heldout", "title": "Loss", "runs": ["mistral-base", "mistral-sava", "llama-sava"],
        "languages": ["it"],
    },
    "choices": {"kind": "multiple_choice", "group": "mistral", "language": "it", "title": "Tasks"},
}  # fmt: skip
LAST = '"Italian, bits per byte last checkpoint"'


def put(folder: Path, *lines: str) -> Path:
    folder.mkdir(exist_ok=True)
    text = "\n".join([",".join(CELLS), *lines, ""])
    (folder / "any-name.csv").write_text(text, encoding="utf-8")
    return folder


def results(tmp_path: Path, *lines: str) -> Results:
    values = put(tmp_path / "paper", *lines)
    root = fake_results(tmp_path / "demo", tables=TABLES, figures={}, paper_values=str(values))
    return Results(root)


def test_values_land_where_the_csv_file_names_them(tmp_path):
    found = results(
        tmp_path,
        f"t,Mistral stand-in,SAVA,{LAST},0.75,0.01,",
        f"t,Llama stand-in,SAVA,{LAST},0.5,,",
        "choices,25 training steps,SAVA,MMLU,47.5,,",
        "elsewhere,,SAVA,x,1,,",
    )
    table = build_table(found, "t")
    cells = [row.cells[2].published for row in table.data_rows()]
    assert cells == [None, 0.75, 0.5]
    assert "In parentheses: the value that the paper published." in table.notes
    assert "(0.750)" in to_markdown(table) and "(0.750)" in to_latex(table)
    assert '<span class="published">(0.500)</span>' in to_html(table)
    head, *rows = to_csv(table).splitlines()
    assert "last checkpoint published" in head and rows[1].endswith(",0.75")
    choices = build_table(found, "choices")
    row = next(one for one in choices.rows[3:] if one.cells and one.cells[0].text == "SAVA")
    assert row.cells[choices.header.index("MMLU")].published == pytest.approx(0.475)
    assert sum(note.startswith("In parentheses") for note in choices.notes) == 1


def test_notes_stand_under_the_table(tmp_path):
    found = results(
        tmp_path,
        f"t,Mistral stand-in,SAVA,{LAST},0.75,,printed mean of ten tasks; the table has eleven",
        'choices,25 training steps,SAVA,AVG,,,"not printed"',
        "choices,25 training steps,FVT,AVG,60,,",
    )
    note = (
        "Published, Mistral stand-in, SAVA, Italian, bits per byte last checkpoint: printed mean "
        "of ten tasks; the table has eleven"
    )
    assert build_table(found, "t").notes[-1] == note
    table = build_table(found, "choices")
    assert table.notes[-1] == "Published, 25 training steps, SAVA, AVG: not printed"
    shown = [row.cells[-1].published for row in table.data_rows()]
    assert [one for one in shown if one] == [pytest.approx(0.6)]


def test_a_model_that_is_not_run_here_is_listed_and_no_error(tmp_path):
    found = results(
        tmp_path, f"t,Mistral stand-in,SAVA,{LAST},0.75,,", f"t,Mistral stand-in,ZeTT,{LAST},0.7,,"
    )
    assert build_table(found, "t").notes[-1] == (
        "Published, and without a place in this table: Mistral stand-in, ZeTT."
    )


def test_a_column_that_is_not_shown_here_is_listed_once(tmp_path):
    found = results(
        tmp_path,
        f"t,Mistral stand-in,SAVA,{LAST},0.75,,",
        f"t,Mistral stand-in,ZeTT,{LAST},0.7,,",
        *(f"t,{model} stand-in,SAVA,{task},1,," for model in ("Mistral", "Llama") for task in "AB"),
    )
    assert build_table(found, "t").notes[-1] == (
        "Published, and without a place in this table: columns A, B; Mistral stand-in, ZeTT."
    )


def test_a_dash_takes_no_value(tmp_path):
    found = results(tmp_path, f"t,Mistral stand-in,SAVA,{LAST},0.75,,")
    table = build_table(found, "t")
    table.rows[2].cells[2].text = MISSING
    assert "0.750" not in to_markdown(table)


def test_a_file_of_another_tables_cells_is_refused(tmp_path):
    found = results(tmp_path, "t,,SAVA,MMLU,47.5,,")
    with pytest.raises(RevocabError) as caught:
        build_table(found, "t")
    (line,) = caught.value.problems
    assert line.startswith("published values of table 't': none has a place there, such as 'SAVA, ")
    assert "rows: Mistral stand-in, SAVA; columns: Italian, bits per byte first" in line


def test_every_wrong_line_is_told(tmp_path):
    folder = put(tmp_path / "paper", "t,,SAVA,MMLU,4x,,", ",,SAVA,MMLU,4,,", "t,,SAVA,A,,inf,")
    with pytest.raises(RevocabError) as caught:
        PaperValues(folder)
    file = folder / "any-name.csv"
    assert caught.value.problems == [
        f"{file}, line 2: value: '4x' is not a number; give one, or leave it empty",
        f"{file}, line 3: table is empty; every line names table, row, column",
        f"{file}, line 4: stderr: 'inf' is not a number; give one, or leave it empty",
        f"{file}, line 4: value and note are empty; give a value, or a note that says why there "
        "is none",
    ]
    put(folder, "t,,SAVA,MMLU,4,,", "t,,SAVA,MMLU,5,,")
    with pytest.raises(RevocabError, match="t, SAVA, MMLU: given 2 times; keep one"):
        PaperValues(folder)
