"""What others published of device hours and of changed vocabularies, beside what is counted and
predicted: the tables of docs/costs.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from revocab.costs.devices import UTILISATION, Service, Shape, known, memory, training, writing
from revocab.costs.model import Outline, operations
from revocab.training.stages import Stage, StagePlan

GPU = known("devices")["h100"]
#: A token at a time for one reader, nothing before it: what is read of weights decides.
ALONE = Service(GPU["peak"], GPU["bandwidth"], 1, 0, 256)


def counted_hours(row: dict[str, Any]) -> float:
    outline = Outline({**known("models")[row["model"]], **row.get("changes", {})})
    plan = StagePlan([Stage(name="all", steps=1, learning_rate=1e-3)])
    flops = row["tokens"] * operations(outline, plan.groups(outline)).flops(row["length"])
    return flops / (known("devices")[row["gpu"]]["peak"] * UTILISATION) / 3600


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
    "hours": counted_hours,
    "writing": lambda row: 1 / ratio(writing, row),
    "training": lambda row: ratio(training, row),
    "context": lambda row: 1 / row["tokens"],
    "parameters": lambda row: shape_of(row).resized(row["after"]).parameters,
    "bytes": lambda row: memory(shape_of(row).resized(row["after"]), 1.0, ALONE)["weights"],
}
FORMS = {"hours": "{:,.0f}", "writing": "{:.2f}x", "training": "{:.2f} of it", "context": "{:.2f}x",
         "parameters": "{:.3g}", "bytes": "{:,.0f}"}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "head", "near"),
    [
        ("costs", "| training | stated (device hours) | counted | difference | source |", 0.25),
        ("savings", "| vocabulary that was changed | stated | predicted | difference | source |",
         0.05),
    ],
)  # fmt: skip
def test_the_page_shows_every_backtest_and_most_are_near(repository, file, head, near):
    published = repository / f"tests/golden/published_{file}.yaml"
    lines = (repository / "docs/costs.md").read_text(encoding="utf-8").splitlines()
    expected, apart = [], []
    for row in yaml.safe_load(published.read_text(encoding="utf-8")):
        kind = row.get("kind", "hours")
        found, form, stated = PREDICTED[kind](row), FORMS[kind], row.get("stated", row.get("hours"))
        apart.append(found / stated - 1)
        expected.append(
            f"| {row['what']} | {form.format(stated)} | {form.format(found)}"
            f" | {apart[-1]:+.0%} | {row['where']} |"
        )
    begin = lines.index(head) + 2
    assert lines[begin : begin + len(expected)] == expected, "\n".join(expected)
    assert not lines[begin + len(expected)].startswith("|")
    assert len(apart) >= 6 and sorted(map(abs, apart))[len(apart) // 2] < near
