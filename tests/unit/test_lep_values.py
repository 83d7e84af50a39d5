"""LEP's published values as data: whole, equal where printed twice, and what its averages are."""

from __future__ import annotations

import pytest

from revocab.config import as_json, read
from revocab.io import write_json
from revocab.report.make_tables import build_table
from revocab.report.published import PaperValues
from revocab.report.results import Results
from revocab.report.tables.categories import CategoriesTable

#: Tasks behind each column of Darumeru, 17 in all.
TASKS = {"DaruMMLU": 3, "DaruMERA": 8, "DaruSum": 2, "DaruCopy (EN)": 2, "DaruCopy (RU)": 2}
AVERAGE = "Micro-Avg"
#: A mean of values that are rounded to a tenth, rounded itself, is this near to the printed one.
ROUNDING = 0.1
ROWS = {"table01": 8, "table02": 9, "table03": 9 + 12, "table04": 9 + 11}


@pytest.fixture(scope="module")
def printed(repository) -> dict[str, dict[tuple[str, str], dict[str, float]]]:
    """The printed values by table, by block and row, by column."""
    paper = PaperValues(repository / "config/lep")
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


def test_the_average_weights_every_task_alike(printed):
    """The paper calls the mean over 17 tasks a micro-average: `categories` with `overall`."""
    for rows in printed.values():
        for place, row in rows.items():
            mean = sum(row[column] * number for column, number in TASKS.items()) / 17
            assert abs(mean - row[AVERAGE]) <= ROUNDING, place


def test_a_table_of_categories_averages_over_the_17_tasks():
    names = {column: [f"{column}-{i}" for i in range(n)] for column, n in TASKS.items()}
    options = CategoriesTable.model_construct(categories=names, overall=AVERAGE)
    assert len(options.tasks) == 17


@pytest.mark.parametrize(
    ("overlays", "tables"),
    [([], [*ROWS]), (["config/overlays/lep-released.yaml"], ["table04"])],
    ids=["all", "released"],
)
def test_printed_rows_stand_beside_ours(repository, tmp_path, monkeypatch, overlays, tables):
    """Every row has its place; of the columns, those whose measure is the same."""
    monkeypatch.chdir(repository)
    write_json(tmp_path / "experiment.json", as_json(read("config/lep.yaml", *overlays)))
    results = Results(tmp_path)
    for name in tables:
        table = build_table(results, name)
        note = table.notes[-1]
        assert note.startswith("Published, and without a place in this table: columns Micro-Avg,")
        if overlays:
            assert {row.cells[-1].published is not None for row in table.data_rows()} == {True}
            continue
        ours = [row for row in table.data_rows() if "FVT" not in (row.cells[0].text or "")]
        assert len(ours) == ROWS[name]
        assert all(cell.published for row in ours for cell in row.cells[-2:])
        symbols = {row.cells[1].published is not None for row in ours}
        assert symbols == {name == "table02"}
