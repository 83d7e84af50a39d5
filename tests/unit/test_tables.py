"""Tables: marks by hand, every ending, published values, layouts without results."""

from __future__ import annotations

import csv
import io

import pytest
from fake_results import change_experiment, copy_of_demo, fake_results, finished_demo
from hypothesis import given
from hypothesis import strategies as st

from revocab.experiment import as_json
from revocab.experiment.schema import Experiment
from revocab.io import write_csv, write_json
from revocab.report.kind import TABLE_ENDINGS
from revocab.report.make_tables import build_table, make_tables
from revocab.report.published import COLUMNS
from revocab.report.results import Results
from revocab.report.runs import headed, in_order
from revocab.report.table import Cell, Row, Table, decimal, mark_cells, text
from revocab.report.template import rendered
from revocab.report.values import metric_of


def small_table() -> Table:
    rows = [
        Row([text("base_model"), Cell(0.2, 0.01, scale=100)]),
        Row(section="200 training steps"),
        Row([text("FVT"), Cell(0.571, 0.004, 0.5634, scale=100, provenance="a.csv")]),
        Row([text("SAVA"), Cell(published=0.5673, scale=100)]),
    ]
    return Table(["Model", "MMLU"], rows, ["100% made up"], identifier="table03", title="A & B")


@pytest.fixture(scope="module")
def folder():
    return finished_demo()


@pytest.fixture
def changed(tmp_path):
    return copy_of_demo(tmp_path)


@pytest.fixture(scope="module")
def layout(repository, tmp_path_factory):
    """The paper's experiment without any result."""
    import yaml

    root = tmp_path_factory.mktemp("layout") / "sava"
    values = yaml.safe_load((repository / "config/sava.yaml").read_text(encoding="utf-8"))
    values["paper_values"] = str(repository / "config/published/sava")
    write_json(root / "experiment.json", as_json(Experiment.model_validate(values)))
    return root


def marks(values):
    rows = [Row([text("x"), Cell(value)]) for value in values]
    mark_cells([row.cells[1] for row in rows], "higher")
    return [row.cells[1].mark for row in rows]


def test_best_and_second_by_hand():
    assert marks([1, 3, 2]) == [None, "best", "second"]
    assert marks([3, 3, 2, 1]) == ["best", "best", "second", None]
    assert marks([1.001, 1.002, 0.5]) == ["best", "best", "second"]  # equal as shown
    assert marks([1, None]) == [None, None]
    assert marks([2, 2]) == [None, None]


@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=8))
def test_marks_follow_the_order(values):
    shown = [None if value is None else round(value, 2) for value in values]
    for value, mark in zip(shown, marks(values), strict=True):
        if mark == "best":
            assert value == max(v for v in shown if v is not None)
        if mark == "second":
            assert value == sorted({v for v in shown if v is not None})[-2]


def test_latex_is_balanced_and_escaped():
    content = rendered(small_table(), "tex")
    assert r"\caption{A \& B}" in content
    assert r"FVT & 57.10$\pm$0.40 {\small(56.34)} \\" in content
    assert r"\multicolumn{2}{c}{200 training steps}" in content
    assert r"100\% made up" in content
    assert content.count("{") == content.count("}")


def test_csv_has_numbers_in_the_unit_shown():
    rows = list(csv.DictReader(io.StringIO(rendered(small_table(), "csv"))))
    assert [row["MMLU"] for row in rows] == ["20.0", "57.1", ""]
    assert rows[1]["MMLU stderr"] == "0.4"
    assert rows[1]["MMLU published"] == "56.34"
    assert [row["block"] for row in rows] == ["", "200 training steps", "200 training steps"]


def test_blocks_follow_the_paper(folder):
    table = build_table(Results(folder), "table03")
    assert table.header == [
        "Model", "Hellaswag", "MMLU", "Arc Easy", "PIQA", "SciQ", "BoolQ", "AVG"
    ]  # fmt: skip
    sections = [line.section for line in table.rows if line.section]
    assert sections == ["25 training steps", "100 training steps"]
    labels = [line.cells[0].text for line in table.data_rows()]
    methods = ["Random", "FVT", "CLP", "SAVA", "SAVA (lstsq)", "LAPT"]
    assert labels == ["Mistral stand-in", *methods, *methods]
    assert all(cell.mark is None for cell in table.rows[0].cells)


def test_prompts_show_one_shot(folder):
    lines = build_table(Results(folder), "table08").data_rows()
    assert lines[0].cells[3].text == (
        "Traduci dall'Inglese all'Italiano\nText: The cat drinks | milk.\n"
        "Translation: Il gatto beve | il latte.\n\nText: The dog sleeps.\nTranslation:"
    )
    assert "drinks \\| milk" in (folder / "tables" / "table08.md").read_text(encoding="utf-8")


def test_layout_without_results_shows_published_values(layout):
    results = Results(layout)
    lines = build_table(results, "table03").data_rows()
    assert [line.cells[0].text for line in lines[:3]] == ["Mistral-7B-v0.1", "Random", "FVT"]
    markdown = rendered(build_table(results, "table03"), "md")
    assert "| FVT | – (56.34) |" in markdown
    assert "– (66.99) |" in markdown
    assert "– (7.24B)" in rendered(build_table(results, "table01"), "md")
    assert "| mistral | – (1.88) |" in rendered(build_table(results, "table02"), "md")
    assert "– (42.02) |" in rendered(build_table(results, "table07"), "md")
    make_tables(layout, layout / "tables")
    written = {file.name for file in (layout / "tables").glob("[!.]*")}
    assert written == {f"{one}.{end}" for one in results.experiment.tables for end in TABLE_ENDINGS}


def test_tokenizer_report(folder):
    """Every tokenizer on every corpus, and parity against the first language."""
    results = Results(folder)
    table = build_table(results, "tokenizers")
    assert [line.section for line in table.rows if line.section] == [
        "world-it (Italian)",
        "world-en (English)",
    ]
    assert len(table.data_rows()) == 6
    fertility = {row["tokenizer"]: row for row in results.csv("fertility", "fertility.csv")}
    last = table.data_rows()[-1].cells
    assert last[1].value == float(fertility["source-large"]["fertility"])
    assert (last[5].value, last[5].number()) == (0.4, "40.0")
    parity = build_table(results, "parity")
    assert parity.over == ["", *["English"] * 3, *["Italian"] * 3]
    assert [cell.number() for cell in parity.rows[0].cells[1:]] == [
        "6000", "3.80", "1.00", "6900", "3.80", "1.15",
    ]  # fmt: skip


def test_nothing_is_written_as_minus_zero():
    assert decimal(-0.004, 2) == "0.00" and decimal(-0.006, 2) == "-0.01"
    assert decimal(12.345, 1) == f"{12.345:.1f}"


def test_numbered_tables_come_first_and_others_as_given_with_a_title_alone():
    given = ["tokenizers", "table10", "parity", "table02"]
    assert in_order(given) == ["table02", "table10", "tokenizers", "parity"]
    assert headed("table02", "Fertility") == "Table 2: Fertility"
    assert headed("parity", "Tokens") == "Tokens"


@pytest.mark.parametrize("splitter", ["nltk-word_tokenize", "nltk-rules"])
def test_published_fertility_is_compared_only_where_words_are_the_papers(tmp_path, splitter):
    values = tmp_path / "paper"
    values.mkdir()
    line = dict(zip(COLUMNS, ["table02", "", "source", "Italian world-it", 1.88], strict=False))
    write_csv(values / "table02.csv", COLUMNS, [line])
    root = fake_results(tmp_path / "demo", paper_values=str(values))
    path = root / "fertility/fertility.csv"
    text = path.read_text(encoding="utf-8").replace("nltk-word_tokenize", splitter)
    path.write_text(text, encoding="utf-8")
    table = build_table(Results(root), "table02")
    shown = [cell.published for row in table.rows for cell in row.cells if cell.published]
    assert shown == ([1.88] if splitter == "nltk-word_tokenize" else [])


def test_metrics_of_a_task_are_chosen(changed):
    chosen = {"squad_it": ["rougeL-released", "rougeL"]}
    change_experiment(changed, "tables", "table05", "metrics", value=chosen)
    results = Results(changed)
    table = build_table(results, "table05")
    labels = ["ROUGE-L as released", "ROUGE-L"]
    assert [one for one in table.header if one.startswith("ROUGE-L")] == labels
    options = results.experiment.tables["table05"]
    wrong = options.model_copy(
        update={"metrics": {"squad_it": ["comet22"], "flores_en_it": ["bleu"]}}
    )
    (line,) = {*wrong.problems(results.experiment, "tables.table05")}
    assert "tables.table05.metrics.squad_it.metric: no metric of its kind 'comet22'" in line


def test_the_score_of_a_task_stands_first_and_counts_in_means(changed):
    path = ("evaluation", "generation", "tasks", "squad_it", "score")
    change_experiment(changed, *path, value="exact_match")
    results = Results(changed)
    labels = [one for one in build_table(results, "table05").header if one in ("EM", "ROUGE-L")]
    assert labels == ["EM", "ROUGE-L"]
    assert metric_of(results.experiment, "squad_it", {}) == "exact_match"
    assert metric_of(results.experiment, "squad_it", {"squad_it": "f1"}) == "f1"
