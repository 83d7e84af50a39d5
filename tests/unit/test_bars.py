"""One column of tables as bars."""

from __future__ import annotations

import pytest
from fake_results import change_experiment, fake_results

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.report.drawing import Palette
from revocab.report.make_tables import build_table
from revocab.report.results import Results

LOSS = {"heldout": {"language": "it"}, "label": "Loss"}
RUNS = {"first": ["mistral-base", "llama-sava"], "second": ["mistral-base", "mistral-sava"]}
TABLES = {
    name: {"kind": "runs", "title": name, "columns": [LOSS], "runs": runs}
    for name, runs in RUNS.items()
}
FIGURE = {"kind": "bars", "title": "Bars", "tables": ["first", "second"], "column": "Loss"}


@pytest.fixture
def results(tmp_path) -> Results:
    root = fake_results(tmp_path)
    for name, table in TABLES.items():
        change_experiment(root, "tables", name, value=table)
    change_experiment(root, "figures", "bars", value=FIGURE)
    return Results(root)


def test_every_model_has_one_bar_with_the_tables_value(results):
    figure = results.experiment.figures["bars"]
    axes = figure.draw(results, Palette([])).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["Mistral stand-in", "Llama stand-in: SAVA", "Mistral stand-in: SAVA"]
    values = [
        build_table(results, table).rows[row].cells[1].value
        for table, row in (("first", 1), ("first", 3), ("second", 1))
    ]
    assert [bar.get_width() for bar in axes.patches] == values


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tables": ["third"]}, ("figures.bars.tables", "'third'", "first")),
        ({"column": "Lost"}, ("figures.bars.column", "'Lost'", "'Loss'")),
    ],
)
def test_what_it_shows_must_be_there(demo, options, words):
    demo["tables"] |= TABLES
    demo["figures"]["bars"] = FIGURE | options
    with pytest.raises(RevocabError) as error:
        validate(demo)
    assert all(word in str(error.value) for word in words)
