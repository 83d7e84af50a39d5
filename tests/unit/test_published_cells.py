"""Published values of any table: the file, its mistakes, notes, and where values land."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_results import change_experiment, fake_results

from revocab.errors import RevocabError
from revocab.report.make_tables import build_table
from revocab.report.published import COLUMNS, PaperValues
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.table import MISSING
from revocab.report.template import rendered

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
    text = "\n".join([",".join(COLUMNS), *lines, ""])
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
    assert "(0.750)" in rendered(table, "md") and "(0.750)" in rendered(table, "tex")
    assert '<span class="published">(0.500)</span>' in rendered(table, "html")
    head, *rows = rendered(table, "csv").splitlines()
    assert "last checkpoint published" in head and rows[1].endswith(",0.75")
    choices = build_table(found, "choices")
    row = next(one for one in choices.rows[3:] if one.cells and one.cells[0].text == "SAVA")
    assert row.cells[choices.header.index("MMLU")].published == pytest.approx(0.475)


def test_a_dash_takes_no_value(tmp_path):
    found = results(tmp_path, f"t,Mistral stand-in,SAVA,{LAST},0.75,,")
    table = build_table(found, "t")
    table.rows[2].cells[2].text = MISSING
    assert "0.750" not in rendered(table, "md")


def test_a_file_of_another_tables_cells_is_refused(tmp_path):
    found = results(tmp_path, "t,,SAVA,MMLU,47.5,,")
    with pytest.raises(RevocabError) as caught:
        build_table(found, "t")
    (line,) = caught.value.problems
    assert line.startswith("published values of table 't': none has a place there, such as 'SAVA, ")
    assert "rows: Mistral stand-in, SAVA; columns: Italian, bits per byte first" in line


def test_every_wrong_line_is_told(tmp_path):
    folder = put(
        tmp_path / "paper",
        "t,,SAVA,MMLU,4x,,",
        ",,SAVA,MMLU,4,,",
        "t,,SAVA,A,,inf,",
        "t,,SAVA,B,,,",
    )
    with pytest.raises(RevocabError) as caught:
        PaperValues(folder)
    file = folder / "any-name.csv"
    places = [problem.partition(": ")[0] for problem in caught.value.problems]
    assert places == [
        f"{file}, line 2.value",
        f"{file}, line 3.table",
        f"{file}, line 4.stderr",
        f"{file}, line 5",
    ]
    assert "'4x'" in caught.value.problems[0] and "note" in caught.value.problems[3]
    put(folder, "t,,SAVA,MMLU,4,,", "t,,SAVA,MMLU,5,,")
    with pytest.raises(RevocabError, match=r"line 2 .* line 3: t, SAVA, MMLU:"):
        PaperValues(folder)
    put(folder, "t,,SAVA,MMLU,4,")
    with pytest.raises(RevocabError, match=r"any-name\.csv, line 2:"):
        PaperValues(folder)


@pytest.mark.parametrize("content", [b"\xff\xfe", b'table,"a\n' + b"x" * 200_000])
def test_a_file_that_is_no_csv_is_refused(tmp_path, content):
    (tmp_path / "paper.csv").write_bytes(content)
    with pytest.raises(RevocabError, match=r"paper\.csv: not CSV in UTF-8"):
        PaperValues(tmp_path)


@pytest.mark.parametrize("strict", [False, True])
def test_values_of_other_items_have_a_mark_and_are_compared_with_nothing(tmp_path, strict):
    """So do means over the task, and a strict number of items stops."""
    step = "25 training steps"
    found = results(
        tmp_path, *(f"choices,{step},SAVA,{column},47.5,," for column in ("MMLU", "BoolQ", "AVG"))
    )
    scored = found.csv("runs", "mistral-sava", "multiple_choice.csv")
    (items,) = {int(row["items"]) for row in scored if row["task"] == "mmlu_it"}
    for number in (items, items + 1):
        where = ("evaluation", "multiple_choice", "tasks", "mmlu_it", "items")
        change_experiment(found.root, *where, value={"number": number, "strict": strict})
        if strict and number != items:
            with pytest.raises(RevocabError, match="mmlu_it"):
                collect_scores(found.root, found.root / "scores.parquet")
            continue
        collect_scores(found.root, found.root / "scores.parquet")
        table = build_table(Results(found.root), "choices")
        places = table.places()
        marked = {name for name in ("MMLU", "BoolQ", "AVG") if
                  places[step, "SAVA", name].published_number() == "47.50‡"}  # fmt: skip
        assert marked == (set() if number == items else {"MMLU", "AVG"})
        compared = {
            column for (*_, column), cell in table.places().items() if cell.difference() is not None
        }
        assert compared == {"MMLU", "BoolQ", "AVG"} - marked
        said = any("mmlu_it" in note and str(number) in note for note in table.notes)
        shown = "(47.50‡)" in rendered(table, "md"), "textdaggerdbl" in rendered(table, "tex")
        column = "MMLU published otherwise" in rendered(table, "csv").splitlines()[0]
        assert {said, *shown, column} == {bool(marked)}


def test_published_means_are_computed_anew_over_the_tasks_that_are_scored(tmp_path):
    tasks = {"Knowledge": ["mmlu_it"], "Reading": ["boolq_it"], "Both": ["mmlu_it", "boolq_it"]}
    columns = {name: {"label": name, "average": {"named": named}} for name, named in tasks.items()}
    shared = {"kind": "runs", "title": "T", "runs": ["mistral-base", "mistral-sava"]}
    single = {**shared, "columns": [columns["Knowledge"], columns["Reading"]]}
    recomputed = {"columns": ["Both"], "table": "single"}
    means = {**shared, "columns": [columns["Both"]], "recomputed": recomputed}
    lines = ("single,,SAVA,Knowledge,40,,", "single,,SAVA,Reading,50,,", "means,,SAVA,Both,60,,",
             "single,,Mistral stand-in,Knowledge,40,,", "means,,Mistral stand-in,Both,60,,",
             "single,,Mistral stand-in,Reading,,,missing")  # fmt: skip
    values = put(tmp_path / "paper", *lines)
    tables = {"single": single, "means": means}
    root = fake_results(tmp_path / "demo", tables=tables, figures={}, paper_values=str(values))
    table = build_table(Results(root), "means")
    cells = {row: cell for (_, row, column), cell in table.places().items() if column == "Both"}
    shown = {row: cell.published_number() for row, cell in cells.items()}
    assert shown == {"SAVA": "45.00†", "Mistral stand-in": "60.00‡"}
    compared = [row for row, cell in cells.items() if cell.difference() is not None]
    assert compared in ([], ["SAVA"])


def test_a_column_may_be_shown_and_not_compared(tmp_path):
    found = results(tmp_path, f"t,Mistral stand-in,SAVA,{LAST},0.75,,")
    reason = {"Italian, bits per byte last checkpoint": "the paper's text is another"}
    change_experiment(found.root, "tables", "t", "uncompared", value=reason)
    table = build_table(Results(found.root), "t")
    assert "(0.750‡)" in rendered(table, "md")
    assert any("the paper's text is another" in note for note in table.notes)
    change_experiment(found.root, "tables", "t", "uncompared", value={"Italian": "x"})
    with pytest.raises(RevocabError, match=r"tables\.t\.uncompared"):
        build_table(Results(found.root), "t")
