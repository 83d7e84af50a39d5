"""VocADT's published values as data: whole, and their averages and changes as they follow."""

from __future__ import annotations

import re

import pytest

from revocab.report.paper_values import PaperValues

#: Rows of each table, averages included; the last average is over all of them.
ROWS = {
    "table02-into-en": 12, "table02-from-en": 12, "table03": 12, "table04": 12, "table05": 6,
    "table06": 5, "table07": 13, "table08": 6,
}  # fmt: skip
RUNS = {"base", "vocadt", "zett", "ofa", "focus"}
#: Half a unit of the last printed digit, in per cent.
ROUNDED = 0.05


@pytest.fixture(scope="module")
def printed(repository):
    """The printed cells by table, by row, by column."""
    paper = PaperValues(repository / "config/vocadt")
    found = {}
    for table in ROWS:
        for one in paper.cells(table):
            found.setdefault(table, {}).setdefault(one.row, {})[one.column] = one
    return found


def test_every_printed_cell_is_there(printed):
    assert {table: len(rows) for table, rows in printed.items()} == ROWS
    for table, rows in printed.items():
        for row, cells in rows.items():
            lacking = {"zett"} if row in ("Ukrainian", "Kazakh") or cells.keys() != RUNS else set()
            assert cells.keys() == RUNS - lacking, (table, row)
            assert all(15 < one.value < 100 for one in cells.values())


def test_averages_are_those_of_the_rows(printed):
    for table, rows in printed.items():
        values = {name: cells for name, cells in rows.items() if "Average" not in name}
        for name, cells in rows.items():
            if name in values:
                continue
            first = list(values.values())[: int(name.rpartition(" ")[2])]
            for column, one in cells.items():
                mean = sum(row[column].value for row in first) / len(first)
                assert one.value == pytest.approx(mean, abs=2 * ROUNDED), (table, name, column)


def test_printed_changes_follow_from_the_printed_scores(printed):
    """Within what rounding both scores to a tenth of a per cent allows."""
    seen = 0
    for table, rows in printed.items():
        for row, cells in rows.items():
            base = cells["base"].value
            for column, one in cells.items():
                found = re.match(r"([+−])([\d.]+) % printed", one.note)
                if not found:
                    assert column == "base" or table.startswith("table02")
                    continue
                change = float(found[2]) * (-1 if found[1] == "−" else 1)
                allowed = 100 * ROUNDED / base * (1 + one.value / base) + 0.01
                assert change == pytest.approx(100 * (one.value / base - 1), abs=allowed), row
                seen += 1
    assert seen > 190


def test_where_the_papers_tables_weaken_its_sentences(printed):
    """Languages that lose by adapters (docs/vocadt.md)."""
    losing = {
        table: [row for row, cells in rows.items() if cells["vocadt"].value < cells["base"].value]
        for table, rows in printed.items()
    }
    assert losing["table08"] == list(printed["table08"])
    assert losing["table03"] == ["Indonesian", "Korean", "Russian", "Bulgarian", "Ukrainian"]
    assert losing["table04"] == ["Korean", "Russian", "Bulgarian", "Ukrainian"]
    assert losing["table05"] == ["Greek"]
    assert losing["table06"] == []
