"""LEP's published values as data: whole, equal where printed twice, and what its averages are."""

from __future__ import annotations

import pytest

from revocab.experiment import as_json, read
from revocab.experiment.layout import Layout
from revocab.io import write_json
from revocab.report.make_tables import build_table
from revocab.report.published import PaperValues
from revocab.report.results import Results

#: Tasks behind each column of Darumeru, 17 in all.
TASKS = {"DaruMMLU": 3, "DaruMERA": 8, "DaruSum": 2, "DaruCopy (EN)": 2, "DaruCopy (RU)": 2}
AVERAGE = "Micro-Avg"
#: A mean of values that are rounded to a tenth, rounded itself, is within 0.1 of the printed one;
#: all are within this.
ROUNDING = 0.08
ROWS = {"table01": 8, "table02": 9, "table03": 9 + 12, "table04": 9 + 11}


@pytest.fixture(scope="module")
def printed(repository) -> dict[str, dict[tuple[str, str], dict[str, float]]]:
    """The printed values by table, by block and row, by column."""
    paper = PaperValues(repository / "config/published/lep")
    found: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for table in ROWS:
        rows = found.setdefault(table, {})
        for one in paper.cells(table):
            if one.value is not None:
                rows.setdefault((one.block, one.row), {})[one.column] = one.value
    return found


def test_every_printed_cell_is_there(printed):
    assert {table: len(rows) for table, rows in printed.items()} == ROWS
    for table, rows in printed.items():
        also = {"Symbols per token"} if table == "table02" else set()
        for place, row in rows.items():
            assert row.keys() == {AVERAGE, *TASKS, *also}, (table, place)
            assert all(25 <= row[column] <= 100 for column in (AVERAGE, *TASKS))


def test_a_model_in_two_tables_has_the_same_values(printed):
    seen: dict[tuple[str, str], dict[str, float]] = {}
    twice = 0
    for rows in printed.values():
        for place, row in rows.items():
            twice += place in seen
            assert seen.setdefault(place, row) == row, place
    assert twice == 2 + 2 + 4  # unadapted and best models of Tables 1 and 4; maps of Tables 3 and 4


@pytest.fixture
def results(repository, tmp_path, monkeypatch) -> Results:
    """The experiment without any result."""
    monkeypatch.chdir(repository)
    write_json(tmp_path / "experiment.json", as_json(read("config/lep.yaml")))
    return Results(tmp_path)


def test_the_average_weights_every_task_alike(printed, results):
    """The paper calls the mean over 17 tasks a micro-average; a claim of the experiment says so."""
    distances = [
        abs(sum(row[column] * number for column, number in TASKS.items()) / 17 - row[AVERAGE])
        for rows in printed.values()
        for row in rows.values()
    ]
    assert len(distances) == 58 and max(distances) <= ROUNDING
    ((claim,), table) = results.experiment.tables["claims"].claims, build_table(results, "claims")
    assert claim.measure.measured(results).printed == pytest.approx(max(distances))
    (row,) = table.data_rows()
    assert [cell.text for cell in row.cells[2:]] == [
        "at most 0.08", "0.08", "holds", "–", "not measured here",
    ]  # fmt: skip
    wrong = {**claim.measure.weights, "DaruMMLU": 2}
    wrong_mean = claim.measure.model_copy(update={"weights": wrong})
    assert not claim.holds(wrong_mean.measured(results).printed)


def test_the_columns_are_of_the_17_tasks(results):
    """In groups as the paper has them; the micro-average is over all, each counted once."""
    columns = {one.header: one.value for one in results.experiment.tables["table01"].columns}
    groups = {name: value.named for name, value in columns.items() if name != AVERAGE}
    assert {name: len(named) for name, named in groups.items()} == TASKS
    every = [task for named in groups.values() for task in named]
    assert sorted(every) == sorted(columns[AVERAGE].named) and len(set(every)) == 17
    evaluation = results.experiment.evaluation
    scored = {*evaluation.multiple_choice.tasks, *evaluation.generation.tasks}
    assert set(every) == {task for task in scored if task.startswith("daru_")}


@pytest.mark.parametrize(
    ("overlays", "tables"),
    [([], [*ROWS]), (["config/overlays/lep-released.yaml"], ["table04"])],
    ids=["all", "released"],
)
def test_printed_rows_stand_beside_ours(repository, tmp_path, monkeypatch, overlays, tables):
    """Every printed cell has its place in the experiment."""
    monkeypatch.chdir(repository)
    write_json(tmp_path / "experiment.json", as_json(read("config/lep.yaml", *overlays)))
    results = Results(tmp_path)
    for name in tables:
        table = build_table(results, name)
        rows = [row for row in table.data_rows() if "FVT" not in (row.cells[0].text or "")]
        scores = [cell for row in rows for cell in row.cells[-len(TASKS) - 1 :]]
        assert {cell.published is not None for cell in scores} == {True}
        if overlays:  # others' rows are named below the table
            continue
        assert len(rows) == ROWS[name]
        assert all(cell.published for row in rows for cell in row.cells[1:2])
        # The model that is left out has no printed value: the text names it, and no table.
        homeless = [note for note in table.notes if "without a place" in note]
        assert [note.split(": ")[1] for note in homeless] == (
            ["LLaMa-3-8B (instruct), unigram-self."] if name == "table04" else []
        )


def test_table_2_shows_the_checkpoints_that_are_carried_over(results):
    """And every checkpoint is scored on all 17 tasks, for Figure 2's micro-average."""
    experiment, table = results.experiment, results.experiment.tables["table02"]
    layout, (average, *_) = Layout(experiment), table.columns[2:]
    donors = dict(run.donor for run in experiment.expanded.values() if run.donor)
    assert donors and table.steps == donors
    for run, step in donors.items():
        assert table.at_step(average.value, run).step == step
        last = layout.runs[run].steps[-1]
        steps = [*range(5000, last, 5000), last]
        evaluation = experiment.evaluation
        for part in (evaluation.generation, evaluation.multiple_choice):
            assert list(layout.checkpoints(run, part.steps)) == steps
    assert table.at_step(average.value, "mistral-base").step == "last"
    figures = [experiment.figures[f"steps-{group}"] for group in ("mistral", "llama")]
    assert all(figure.named == average.value.named for figure in figures)
    assert len(average.value.named) == sum(TASKS.values())
    wrong = table.model_copy(update={"steps": {"mistral-bpe": 31000}})
    assert any("mistral-bpe" in problem for problem in wrong.problems(experiment, "t"))
