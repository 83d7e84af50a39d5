"""Gosal et al.: the runs of config/bilingual.yaml, and the published values as data."""

from __future__ import annotations

import math
from statistics import fmean
from types import SimpleNamespace

import pytest

from revocab.experiment import options, read
from revocab.experiment.layout import Layout
from revocab.report.published import PaperValues
from revocab.report.runs import method_label
from revocab.report.table import RECOMPUTED

#: A mean of values that are rounded to a tenth, rounded itself, is this near to the printed one.
ROUNDING = 0.1
AVERAGE = "Average"
#: The tasks behind each category of Tables 3 and 4; the others are Commonsense.
KNOWLEDGE, MISINFORMATION = {"MMLU", "EXAMS", "RACE"}, {"TruthfulQA", "CrowS-Pairs"}
ADAPTED = ("Llama-2-7B", "adapted")
#: Cells that the paper prints and we have no place for: models and tasks that cannot be had.
WITHOUT_A_PLACE = {"AceGPT-13B", "Jais-30B", "MLV2 (Jais)", "extend100-wechsel (second row)"}
ARABIC_WITHOUT_DATA = {"SIQA", "CrowS-Pairs"}


@pytest.fixture(scope="module")
def layout(repository) -> Layout:
    return Layout(read(repository / "config/bilingual.yaml"))


@pytest.fixture(scope="module")
def printed(repository) -> dict[str, dict[tuple[str, str], dict[str, float | None]]]:
    """The printed values by table, by block and row, by column."""
    paper = PaperValues(repository / "config/published/bilingual")
    found: dict[str, dict[tuple[str, str], dict[str, float | None]]] = {}
    for number in range(1, 11):
        rows = found.setdefault(f"table{number:02}", {})
        for one in paper.cells(f"table{number:02}"):
            rows.setdefault((one.block, one.row), {})[one.column] = one.value
    return found


@pytest.fixture(scope="module")
def noted(repository) -> dict[tuple[str, str, str, str], str]:
    paper = PaperValues(repository / "config/published/bilingual")
    tables = [f"table{number:02}" for number in range(1, 11)]
    return {(one.table, *one.place): one.note for table in tables for one in paper.cells(table)}


def test_the_sweep_holds_the_arabic_tokens(layout):
    """Steps are ceil(14 B / share / (960 · 4096)), and three packings serve nine runs."""
    steps = {"one-nine": 3956, "one-three": 4748, "even": 7121}
    for mix, share in (("one-nine", 0.9), ("one-three", 0.75), ("even", 0.5)):
        assert math.ceil(14e9 / share / (960 * 4096)) == steps[mix]
    runs = {run.id: run for run in layout.runs.values() if run.id.startswith("sweep-all-")}
    assert len(runs) == 9
    assert all(run.steps[-1] == steps[run.mixture] for run in runs.values())
    rows = {layout.packed(layout.paths.run(run)) for run in runs}
    assert len(rows) == 3
    rates = {options.run_training(layout.experiment, run).learning_rate for run in runs}
    assert rates == {7.5e-5, 1.5e-4, 3.0e-4}


def test_tokens_and_stages_are_the_papers(layout):
    per_step = 960 * 4096
    tokens = {run: layout.runs[run].steps[-1] * per_step / 1e9 for run in layout.runs}
    text = {
        "llama-2": 87.5,
        "replace5-mean": 51,
        "replace30-subwords": 43.7,
        "extend100-mean": 39.7,
    }
    for run, billions in text.items():
        assert tokens[f"ablations-{run}"] == pytest.approx(billions, abs=0.004)
    finals = {"7b": 40, "13b": 280, "70b": 140 / 0.9}
    for size, billions in finals.items():
        run = f"llama-2-{size}-adapted"
        assert tokens[run] == pytest.approx(15 + billions, abs=0.008)
        assert layout.runs[run].stage_ends["embeddings"] == 3815
    for mix, share in (("arabic", 1), ("one-nine", 0.9)):
        assert tokens[f"blocks-mixes-{mix}"] == pytest.approx(67 / share, abs=0.004)
        stages = options.run_training(layout.experiment, f"blocks-mixes-{mix}").stages
        assert [one.train for one in stages] == [["added_blocks"]]


def test_the_jobs_are_planned(layout):
    assert len(layout.trained) == 36 and len(layout.changed) == 3
    for kind in ("generation/", "similarity/"):
        assert not any(kind in file for file in layout.scored)


def test_every_printed_cell_is_there(printed):
    sizes = {table: sum(map(len, rows.values())) for table, rows in printed.items()}
    assert sizes == {
        "table01": 16, "table02": 9 * 5, "table03": 8 * 4, "table04": 8 * 4, "table05": 6 * 6,
        "table06": 5 * 5, "table07": 7, "table08": 8, "table09": 8 * 11, "table10": 8 * 12,
    }  # fmt: skip
    without = [
        (place, column)
        for rows in printed.values()
        for place, row in rows.items()
        for column, value in row.items()
        if value is None
    ]
    assert without == [(ADAPTED, "BoolQ")]


def test_every_cell_has_its_place_in_a_table(layout, printed):
    """But those of models and tasks that cannot be had."""
    for table, rows in printed.items():
        options = layout.experiment.tables[table]
        runs = [layout.runs[run] for run in options.runs]
        headed = len({run.group for run in runs}) > 1
        labels = {one: layout.experiment.runs[one].label for one in layout.experiment.runs}
        places = {(labels[run.group] if headed else "", method_label(run)) for run in runs}
        headers = {column.header for column in options.columns_of(layout.experiment.index)}
        arabic = table == "table09"
        for place, row in rows.items():
            assert place in places or place[1] in WITHOUT_A_PLACE, (table, place)
            assert row.keys() <= headers | (ARABIC_WITHOUT_DATA if arabic else set()), table


@pytest.mark.parametrize(("cells", "averages"), [("table09", "table03"), ("table10", "table04")])
def test_averages_are_means_of_the_cells_but_for_one(printed, noted, cells, averages):
    """Of all rows only Llama-2-7B's, adapted, contradicts its cells in Arabic."""
    for place, row in printed[cells].items():
        tasks = {one: value for one, value in row.items() if value is not None and one != AVERAGE}
        mean = sum(tasks.values()) / len(tasks)
        wrong = abs(mean - row[AVERAGE]) > ROUNDING
        assert wrong == (cells == "table09" and place == ADAPTED), place
        assert abs(printed[averages][place][AVERAGE] - row[AVERAGE]) < 0.05, place
        assert bool(noted[cells, *place, AVERAGE]) == (place == ADAPTED)
        for category, members in (
            ("Knowledge", KNOWLEDGE),
            ("Misinformation", MISINFORMATION),
            ("Commonsense", {*tasks} - KNOWLEDGE - MISINFORMATION),
        ):
            found = [value for one, value in tasks.items() if one in members]
            mean = sum(found) / len(found)
            assert abs(mean - printed[averages][place][category]) <= ROUNDING, (place, category)


def test_notes_say_what_the_cells_average(printed, noted):
    row = printed["table09"][ADAPTED]
    mean = sum(value for column, value in row.items() if column != AVERAGE) / 10
    assert f"{mean:.2f}" in noted["table09", *ADAPTED, AVERAGE]
    base = printed["table10"]["Llama-2-7B", "Llama-2-7B"]
    same = [value for column, value in base.items() if column not in (AVERAGE, "BoolQ")]
    assert f"{sum(same) / 10:.1f} on the same ten" in noted["table10", *ADAPTED, AVERAGE]


def test_truthfulness_falls_in_arabic_at_every_size(printed):
    """The text says that every task gains."""
    for size in ("7B", "13B", "70B"):
        model = f"Llama-2-{size}"
        rows = printed["table09"]
        adapted, base = rows[model, "adapted"], rows[model, model]
        fell = {column for column, value in adapted.items() if value < base[column]}
        assert fell == {"TruthfulQA"}


def test_losses_in_two_tables_agree_or_are_noted(printed, noted):
    pairs = [
        (("table01", "Ar. val. loss"), ("table05", "AraV5 loss"), row)
        for row in ("llama-2", "replace30-subwords", "extend100-subwords")
    ]
    pairs += [
        (("table06", column), ("table05", column), f"extend100-{row}")
        for row in ("mean", "subwords")
        for column in ("Arabic tokens (M)", "AraV5 loss")
    ]
    for first, second, row in pairs:
        values = [printed[table]["", row][column] for table, column in (first, second)]
        told = [noted[table, "", row, column] for table, column in (first, second)]
        assert (values[0] == values[1]) != any(told), (first, row)


def test_arabic_means_are_over_the_tasks_that_are_scored_here(layout, printed, repository):
    """The paper's Commonsense, Misinformation and Average count SIQA and CrowS-Pairs."""
    paper = PaperValues(repository / "config/published/bilingual")
    results = SimpleNamespace(experiment=layout.experiment, paper=paper)
    tables = {name: layout.experiment.tables[name] for name in ("table03", "table09")}
    shown = {
        (name, *cell.place): cell for name, table in tables.items()
        for cell in table.published(results, name)
    }  # fmt: skip
    shared = {column.header for column in tables["table09"].columns} - {AVERAGE}
    for place, cells in printed["table09"].items():
        values = {task: value for task, value in cells.items() if task in shared}
        assert len(values) == 8 and not values.keys() & ARABIC_WITHOUT_DATA
        others = values.keys() - KNOWLEDGE - MISINFORMATION
        means = {
            "Average": fmean(values.values()),
            "Commonsense": fmean(values[task] for task in others),
            "Misinformation": values["TruthfulQA"],
        }
        for column, mean in means.items():
            cell = shown["table03", *place, column]
            assert (cell.value, cell.mark) == (pytest.approx(mean), RECOMPUTED)
        assert shown["table09", *place, "Average"].value == pytest.approx(means["Average"])
        assert not shown["table03", *place, "Knowledge"].mark
    adapted = shown["table03", "Llama-2-70B", "adapted", "Average"]
    values = (37.7, 39.1, 61.6, 68.2, 66.9, 41.2, 33.2, 45.6)
    assert adapted.value == pytest.approx(sum(values) / 8)
    assert "Arabic accuracy" in layout.experiment.tables["table08"].uncompared
