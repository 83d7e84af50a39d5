"""A table that says which value of which run stands where: all else follows from that."""

from __future__ import annotations

from typing import ClassVar, Literal

import pytest
from fake_results import finished_demo

from revocab.experiment import validate
from revocab.experiment.layout import Layout
from revocab.report.kind import Place
from revocab.report.pivot import Pivot, PivotRow, PivotTable
from revocab.report.results import Results
from revocab.report.table import Cell
from revocab.report.values import Average, Fertility, RunValue

RUNS = ("mistral-base", "mistral-fvt", "mistral-sava")


class Given(RunValue):
    """A number that stands in the value itself, by run."""

    better: ClassVar[str] = "lower"
    numbers: dict[str, float]

    def header(self) -> str:
        return "Given"

    def of_training(self, results: Results, run) -> Cell:
        return Cell(self.numbers[run.id])


class OwnTable(PivotTable):
    """Knowledge and fertility of three runs, the base not ranked."""

    kind: Literal["own"]
    step: int | str = "last"

    def pivot(self, index) -> Pivot:
        columns = {
            "Knowledge": Average(named=["mmlu_it", "squad_it"], step=self.step),
            "Fertility": Fertility(corpus="world-it"),
        }
        rows = [
            PivotRow(
                run.name,
                [
                    Place(value, run, None if run.base else name, f"columns.{name}")
                    for name, value in columns.items()
                ],
            )
            for run in map(index.run, RUNS)
        ]
        return Pivot(["Model", *columns], [*rows, PivotRow("nobody", [None, None], "Others")])


def own(**options: object) -> OwnTable:
    return OwnTable(kind="own", title="Own", **options)


def test_what_it_shows_is_scored_and_made_first(demo):
    experiment = validate({**demo, "tables": {}, "figures": {}})
    assert set(own().scores(experiment)) == {("mistral", "mmlu_it"), ("mistral", "squad_it")}
    assert set(own().needs(Layout(experiment))) == {"results/demo/fertility/manifest.json"}
    assert list(own().problems(experiment, "tables.own")) == []


@pytest.mark.parametrize("step", [3, 50])
def test_a_step_without_scores_is_named_once_for_each_run(demo, step):
    demo["evaluation"]["generation"]["steps"] = ["last"]
    experiment = validate({**demo, "tables": {}, "figures": {}})
    problems = list(own(step=step).problems(experiment, "tables.own"))
    assert [line.partition(": ")[0] for line in problems] == [
        "tables.own.columns.Knowledge.step"
    ] * 2
    assert all(repr(run) in line for run, line in zip(RUNS[1:], problems, strict=True))


def test_cells_headings_and_dashes():
    results = Results(finished_demo())
    table = own().build(results)
    knowledge = Average(named=["mmlu_it", "squad_it"])
    runs = [results.run(run) for run in RUNS]
    rows = table.data_rows()
    assert [row.cells[1].value for row in rows[:3]] == [
        knowledge.cell(results, run).value for run in runs
    ]
    assert [(block, row.cells[0].text) for block, row in table.rows_in_blocks()][-2:] == [
        ("", "sava"), ("Others", "nobody"),
    ]  # fmt: skip
    assert [cell.text for cell in rows[3].cells[1:]] == ["–", "–"]


def test_only_what_is_in_a_contest_is_ranked():
    """Lower is better: of 3, 1, 2 and an unranked 0 the best is 1, and 2 comes second."""
    results = Results(finished_demo())
    index = results
    value = Given(numbers={"mistral-base": 0.0, "mistral-fvt": 1.0, "mistral-sava": 2.0,
                           "mistral-random": 3.0})  # fmt: skip
    order = ["mistral-base", "mistral-random", "mistral-fvt", "mistral-sava"]
    places = [[Place(value, index.run(run), None if run == order[0] else "all")] for run in order]
    pivot = Pivot(["Model", "Given"], [PivotRow("", place) for place in places])
    assert [cells[0].mark for cells in pivot.cells(results)] == [None, None, "best", "second"]
