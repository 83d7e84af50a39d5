"""What others published of changed vocabularies, beside what is predicted: a table of
docs/costs.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from revocab.costs.devices import Service, Shape, known, memory, training, writing

HEAD = "| vocabulary that was changed | stated | predicted | difference | source |"
GPU = known("devices")["h100"]
#: A token at a time for one reader, nothing before it: what is read of weights decides.
ALONE = Service(GPU["peak"], GPU["bandwidth"], 1, 0, 256)


def shape_of(row: dict[str, Any]) -> Shape:
    rest, attended = row.get("rest", row.get("body", 0)), row.get("attended", 0)
    itemsize = 4 if row["kind"] == "bytes" else 2
    return Shape(
        row["before"], row["row"], int(row.get("body", 0)), int(rest), 1, attended, 0, itemsize
    )


def ratio(terms: Callable[..., Any], row: dict[str, Any]) -> float:
    """Return the time of the same text afterwards as a share of that before."""
    shape, service = shape_of(row), ALONE
    after = terms(shape.resized(row["after"]), row["tokens"], service)
    return sum(after.values()) / sum(terms(shape, 1.0, service).values())


PREDICTED: dict[str, Callable[[dict[str, Any]], float]] = {
    "writing": lambda row: 1 / ratio(writing, row),
    "training": lambda row: ratio(training, row),
    "context": lambda row: 1 / row["tokens"],
    "parameters": lambda row: shape_of(row).resized(row["after"]).parameters,
    "bytes": lambda row: memory(shape_of(row).resized(row["after"]), 1.0, ALONE)["weights"],
}
SHOWN = {"writing": "{:.2f}x", "training": "{:.2f} of it", "context": "{:.2f}x",
         "parameters": "{:.3g}", "bytes": "{:,.0f}"}  # fmt: skip


@pytest.fixture(scope="module")
def rows(repository) -> list[dict[str, Any]]:
    text = (repository / "tests/golden/published_savings.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def test_the_page_shows_every_backtest_as_it_is_predicted(repository, rows):
    lines = (repository / "docs/costs.md").read_text(encoding="utf-8").splitlines()
    begin = lines.index(HEAD) + 2
    expected = []
    for row in rows:
        found, form = PREDICTED[row["kind"]](row), SHOWN[row["kind"]]
        expected.append(
            f"| {row['what']} | {form.format(row['stated'])} | {form.format(found)}"
            f" | {found / row['stated'] - 1:+.0%} | {row['where']} |"
        )
    assert lines[begin : begin + len(rows)] == expected, "\n".join(expected)


def test_most_predictions_are_near(rows):
    apart = sorted(abs(PREDICTED[row["kind"]](row) / row["stated"] - 1) for row in rows)
    assert len(rows) > 6 and apart[len(apart) // 2] < 0.05
