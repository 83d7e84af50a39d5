"""Tables by language whose columns name a run for each, claims on their cells, bars."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_results import change_experiment, experiment_alone, fake_results, write_csv

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.report.drawing import Palette
from revocab.report.figures.bars import ModelsByLanguageFigure
from revocab.report.make_tables import build_table
from revocab.report.references import shown_scores
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import collect_scores
from revocab.report.table import Cell, Table
from revocab.report.tables.claims import PaperClaim

TABLE: dict = {
    "kind": "models_by_language",
    "title": "Models",
    "blocks": [{"languages": ["en"]}, {"label": "Romance", "languages": ["it"]}],
    "columns": {
        "Base": {"en": "mistral-base", "it": "mistral-base"},
        "Multi": {"en": "mistral-sava", "it": "mistral-sava"},
        "Mono": {"it": "llama-sava"},
    },
    "family": "mmlu",
    "base": "Base",
    "averages": [1, 2],
}
#: MMLU by run and language, at the last step.
SCORES = {
    ("mistral-base", "en"): 0.50, ("mistral-base", "it"): 0.40,
    ("mistral-sava", "en"): 0.45, ("mistral-sava", "it"): 0.50,
    ("llama-sava", "it"): 0.30,
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = fake_results(tmp_path_factory.mktemp("models") / "demo", tables={"t": TABLE})
    for file in sorted(folder.glob("runs/*/multiple_choice.csv")):
        rows = [
            {**row, "value": SCORES.get((row["run"], row["task"].removeprefix("mmlu_")), 0.1)}
            for row in Results(folder).csv(str(file))
        ]
        write_csv(file, rows)
    collect_scores(folder, folder / "scores.parquet")
    return folder


def table(root: Path, **options: object) -> Table:
    change_experiment(root, "tables", "t", value={**TABLE, **options})
    return build_table(Results(root), "t")


def values(made: Table) -> list[list]:
    return [[cell.text or cell.value for cell in row.cells] for row in made.data_rows()]


def test_a_column_stands_for_another_model_in_every_language(root):
    made = table(root)
    assert [row.section for row in made.rows if row.section] == ["Romance", "All"]
    assert made.header == ["Language", "Base", "Multi", "Mono"]
    assert values(made) == [
        ["English", pytest.approx(50), pytest.approx(45), "–"],
        ["Italian", pytest.approx(40), pytest.approx(50), pytest.approx(30)],
        ["Average of 1", pytest.approx(50), pytest.approx(45), "–"],
        ["Average of 2", pytest.approx(45), pytest.approx(47.5), "–"],
    ]
    marks = [cell.mark for cell in next(r for r in made.rows if r.cells and r.cells[3].value).cells]
    assert marks == [None, None, "best", "second"]  # the base is not ranked


def test_changes_are_from_the_base(root):
    made = table(root, change="percent")
    assert made.header[3] == "Multi change (%)" and len(made.header) == 6
    assert values(made)[1][3::2] == [pytest.approx(25), pytest.approx(-25)]
    assert values(table(root, change="difference"))[0][3] == pytest.approx(-5)


def test_a_base_of_zero_has_differences_and_no_change_in_per_cent(root):
    table(root)
    options = Results(root).experiment.tables["t"]
    base, cell = Cell(0.0), Cell(0.3)
    for change, texts, number in (("percent", "–", None), ("difference", None, 0.3)):
        changing = options.model_copy(update={"change": change})
        changed = changing.change_cell(cell, base)
        assert (changed.text, changed.value) == (texts, number)


def test_translations_in_one_metric_and_losses(root):
    italian = [{"languages": ["it"]}]
    made = table(root, family=None, into="en", metric="bleu", blocks=italian, averages=[])
    scores = Results(root).scores
    assert values(made)[0][2] == scores.get("mistral-sava", 100, "flores_it_en", "bleu")["value"]
    made = table(root, family=None, heldout=True)
    results = Results(root)
    loss = heldout_curve(results, results.run("mistral-sava"), "it")[100]
    assert values(made)[1][2] == loss


def test_without_results_cells_are_missing_and_not_impossible(root, tmp_path):
    table(root)
    (tmp_path / "experiment.json").write_bytes((root / "experiment.json").read_bytes())
    made = build_table(Results(tmp_path), "t")
    assert values(made)[-1] == ["Average of 2", None, None, "–"]


def test_each_language_is_scored_for_the_groups_of_its_runs(demo):
    shown = shown_scores(validate({**demo, "tables": {"t": TABLE}, "figures": {}}))
    assert shown == {"mistral": {"mmlu_en", "mmlu_it"}, "llama": {"mmlu_it"}}


def heights(axes) -> list[list[float]]:
    return [[bar.get_height() for bar in one] for one in axes.containers]


def test_figures_of_averages_and_of_gains(root, tmp_path):
    """Averages: a bar per column and table; gains: a panel per column, a bar per language."""
    printed = ["t,,English,Multi,46,,", "t,Romance,Italian,Multi change (%),20,,"]
    header = "table,block,row,column,value,stderr,note"
    (tmp_path / "paper.csv").write_text("\n".join([header, *printed, ""]))
    change_experiment(root, "paper_values", value=str(tmp_path))
    results = Results(root)
    table = {**TABLE, "change": "percent", "averages": [2]}
    options = ModelsByLanguageFigure(
        kind="models_by_language", title="Figure", show="averages", tables={"t": table}
    )
    (axes,) = options.draw(results, Palette([])).axes
    assert heights(axes) == [[pytest.approx(45)], [pytest.approx(47.5)]]  # Mono has no English
    assert options.columns == ["Base", "Multi", "Mono"]
    by_language = options.model_copy(update={"show": "scores"})
    english, italian = by_language.draw(results, Palette([])).axes
    assert [len(panel.containers) for panel in (english, italian)] == [2, 3]
    assert english.get_title() == "English"
    gains = options.model_copy(update={"show": "changes"})
    multi, mono = gains.draw(results, Palette([])).axes
    assert heights(multi) == [[pytest.approx(-10), pytest.approx(25)]]
    assert heights(mono) == [[pytest.approx(-25)]]
    assert multi.get_ylim()[0] == 0
    (line,) = multi.collections
    assert line.get_segments()[0][:, 1].tolist() == [20, 20]  # the printed gain, where Italian is
    change_experiment(root, "paper_values", value=None)
    bare = experiment_alone(root, tmp_path / "bare")
    (axes,) = options.draw(Results(bare), Palette([])).axes
    assert not axes.containers


@pytest.mark.parametrize(
    ("show", "changes", "said"),
    [
        ("averages", {"averages": []}, "tables.t: no averages, which this figure shows"),
        ("changes", {}, "tables.t: no change, which this figure shows"),
    ],
)
def test_a_figure_of_what_a_table_lacks(demo, show, changes, said):
    figure = {"kind": "models_by_language", "title": "F", "show": show,
              "tables": {"t": {**TABLE, **changes}}}  # fmt: skip
    with pytest.raises(RevocabError, match=said):
        validate({**demo, "figures": {"f": figure}})


def claim(**changes: object) -> PaperClaim:
    gain = {"table": "t", "rows": ["Italian"], "columns": ["Multi"], "over_columns": ["Base"]}
    gain |= changes
    return PaperClaim(says="so", place="1", at_least=0, cell_gain=gain)


@pytest.mark.parametrize(
    ("changes", "gain"),
    [
        ({}, 10),
        ({"rows": ["Italian", "Average of 2"]}, 2.5),  # the least of the rows
        ({"over_columns": ["Base", "Mono"]}, 10),  # the best of the others
        ({"rows": ["English"], "over_columns": ["Mono"]}, None),
    ],
)
def test_a_claim_is_on_the_least_gain(root, changes, gain):
    table(root)
    results = Results(root)
    found = claim(**changes).measure.measured(results)
    assert found.ours == (gain if gain is None else pytest.approx(gain))
    assert found.printed is None  # the demo has no paper
    assert found.show(10) == "+10.00"


LOSS = {"heldout": {"language": "it"}, "label": "Loss"}
BAR_RUNS = {"first": ["mistral-base", "llama-sava"], "second": ["mistral-base", "mistral-sava"]}
BAR_TABLES = {
    name: {"kind": "runs", "title": name, "columns": [LOSS], "runs": runs}
    for name, runs in BAR_RUNS.items()
}
BARS = {"kind": "bars", "title": "Bars", "tables": ["first", "second"], "column": "Loss"}


@pytest.fixture
def bar_results(tmp_path) -> Results:
    root = fake_results(tmp_path)
    for name, table in BAR_TABLES.items():
        change_experiment(root, "tables", name, value=table)
    change_experiment(root, "figures", "bars", value=BARS)
    return Results(root)


def test_every_model_has_one_bar_with_the_tables_value(bar_results):
    figure = bar_results.experiment.figures["bars"]
    axes = figure.draw(bar_results, Palette([])).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["Mistral stand-in", "Llama stand-in: SAVA", "Mistral stand-in: SAVA"]
    values = [
        build_table(bar_results, table).rows[row].cells[1].value
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
    demo["tables"] |= BAR_TABLES
    demo["figures"]["bars"] = BARS | options
    with pytest.raises(RevocabError) as error:
        validate(demo)
    assert all(word in str(error.value) for word in words)
