"""Claims that a column is the mean of others: on our cells and on printed ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_results import change_experiment, fake_results

from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.tables.claims import PaperClaim

RUNS = ["mistral-sava", "mistral-fvt"]
TASKS = ["arc_easy_en", "hellaswag_en"]
COLUMNS = [
    {"average": {"named": [task]}, "label": label}
    for task, label in zip(TASKS, ("ARC", "HellaSwag"), strict=True)
]
COLUMNS += [{"average": {"named": TASKS}, "label": "Mean"}]
TABLES = {"t": {"kind": "runs", "title": "T", "runs": RUNS, "columns": COLUMNS}}
#: Two rows, off by 0.1 and 0.25 points where both tasks count alike; the third has no mean.
PRINTED = [("SAVA", 10.0, 20.0, 15.1), ("FVT", 30.0, 20.5, 25.5), ("CLP", 1.0, 2.0, None)]


def claim(**changes: object) -> PaperClaim:
    weights = {"ARC": 1, "HellaSwag": 1}
    measure = {"tables": ["t"], "column": "Mean", "weights": weights, **changes}
    return PaperClaim(says="so", place="1", at_most=0.3, mean=measure)


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("means")
    root = fake_results(folder / "demo", tables=TABLES)
    collect_scores(root, root / "scores.parquet")
    lines = ["table,block,row,column,value,stderr,note"]
    for name, *values in PRINTED:
        for label, value in zip(("ARC", "HellaSwag", "Mean"), values, strict=True):
            lines.append(
                f"t,,{name},{label},{'' if value is None else value},,{'x' * (value is None)}"
            )
    (folder / "paper").mkdir()
    (folder / "paper/t.csv").write_text("\n".join([*lines, ""]))
    change_experiment(root, "paper_values", value=str(folder / "paper"))
    return root


def test_the_worst_row_counts(root):
    results = Results(root)
    one = claim()
    found = one.measure.measured(results)
    assert found.printed == pytest.approx(0.25)
    assert one.holds(found.printed) and one.bounds(found.show) == "at most 0.30"
    uneven = claim(weights={"ARC": 3, "HellaSwag": 1}).measure.measured(results)
    assert uneven.printed == pytest.approx(15.1 - (3 * 10 + 20) / 4)


def test_our_mean_is_one_and_another_is_not(root):
    results = Results(root)
    assert claim().measure.measured(results).ours == pytest.approx(0, abs=1e-12)
    cells = build_table(results, "t").places()
    wrong = claim(weights={"ARC": 1}).measure.measured(results).ours
    rows = {(block, row) for block, row, _ in cells}
    assert wrong == pytest.approx(
        max(abs(cells[*row, "Mean"].value - cells[*row, "ARC"].value) for row in rows)
    )
    assert wrong > 0
