"""Device hours that others published, beside what is counted: the table of docs/costs.md."""

from __future__ import annotations

import pytest
import yaml

from revocab.costs.devices import UTILISATION, known
from revocab.costs.model import Outline, operations
from revocab.training.stages import Stage, StagePlan

HEAD = "| training | stated (device hours) | counted | difference | source |"


def counted_hours(row: dict) -> float:
    outline = Outline({**known("models")[row["model"]], **row.get("changes", {})})
    plan = StagePlan([Stage(name="all", steps=1, learning_rate=1e-3)])
    flops = row["tokens"] * operations(outline, plan.groups(outline)).flops(row["length"])
    return flops / (known("devices")[row["gpu"]]["peak"] * UTILISATION) / 3600


@pytest.fixture(scope="module")
def rows(repository) -> list[dict]:
    text = (repository / "tests/golden/published_costs.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def test_the_page_shows_every_backtest_as_it_is_counted(repository, rows):
    lines = (repository / "docs/costs.md").read_text(encoding="utf-8").splitlines()
    begin = lines.index(HEAD) + 2
    printed = lines[begin : begin + len(rows)]
    expected = [
        f"| {row['what']} | {row['hours']:,} | {counted_hours(row):,.0f}"
        f" | {counted_hours(row) / row['hours'] - 1:+.0%} | {row['where']} |"
        for row in rows
    ]
    assert printed == expected, "\n".join(expected)
    assert not lines[begin + len(rows)].startswith("|")


def test_counted_hours_are_of_the_size_of_those_stated(rows):
    apart = sorted(abs(counted_hours(row) / row["hours"] - 1) for row in rows)
    assert len(rows) >= 6 and apart[len(apart) // 2] < 0.25
