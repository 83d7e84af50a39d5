"""The claim that adapted models beat their base model: which differences count, what is said."""

from __future__ import annotations

import pytest
from fake_results import fake_results, write_csv

from revocab.evaluation.over_seeds import Difference
from revocab.io import read_csv, read_json, write_json
from revocab.report.claims.shipped import beats_base, is_above
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.results.significance import COLUMNS, SEED_COLUMNS

LEVEL, BETTER = 0.30, 0.31
NAMES = ("random", "fvt", "clp", "sava", "sava-lstsq", "lapt")


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A results folder in which every adapted model of Mistral has a higher average than it."""
    table = {"kind": "significance", "group": "mistral", "language": "it", "title": "Differences"}
    folder = tmp_path_factory.mktemp("claim") / "results" / "demo"
    root = fake_results(folder, tables={"differences": table})
    for path in sorted(root.glob("runs/mistral-*/multiple_choice.csv")):
        value = 0.3 if path.parent.name == "mistral-base" else 0.31
        write_csv(path, [{**row, "value": value} for row in read_csv(path)])
    collect_scores(root, root / "scores.parquet")
    return root


def mistral(root):
    """Return the claim on the group mistral."""
    return next(beats_base(Results(root)))


def compare(root, p_values: dict[str, float], step: str = "last"):
    """Write comparisons of the base model with runs, base first, as if made by items."""
    empty = dict.fromkeys((*COLUMNS, *SEED_COLUMNS), "")
    rows = [
        {**empty, "step": step, "task": "average_it", "metric": "average", "run": "mistral-base",
         "other": f"mistral-{name}", "difference": -0.01, "low": -0.02, "high": 0, "p_holm": p}
        for name, p in p_values.items()
    ]  # fmt: skip
    write_csv(root / "significance" / "mistral" / "significance.csv", rows)


@pytest.mark.parametrize(("stderr", "holds"), [(0.001, True), (0.02, None)])
def test_errors_over_items_decide_where_nothing_is_compared(scored, stderr, holds):
    """35.67 ± 1.93 is no less than 36.17 ± 1.91: nobody can tell."""
    for path in sorted(scored.glob("runs/mistral-*/multiple_choice.csv")):
        write_csv(path, [{**row, "stderr": stderr} for row in read_csv(path)])
    collect_scores(scored, scored / "scores.parquet")
    found = mistral(scored)
    assert found.holds is holds and found.statement.endswith(
        "beats the base model's Italian average"
    )
    assert found.numbers.count("interval of the gain over items") == len(NAMES)


@pytest.mark.parametrize(("p", "holds"), [(0.01, True), (0.2, None)])
def test_a_comparison_by_item_decides(scored, p, holds):
    compare(scored, {**dict.fromkeys(NAMES, 0.001), "lapt": p})
    found = mistral(scored)
    assert found.holds is holds and found.numbers.endswith(f" (p {p})")


def test_a_comparison_that_nothing_shows_says_nothing(scored):
    """At another checkpoint; or in a file that is left from another version of the experiment."""
    compare(scored, dict.fromkeys(NAMES, 0.2), step="first")
    assert " (p " not in mistral(scored).numbers
    compare(scored, dict.fromkeys(NAMES, 0.2))
    assert " (p " in mistral(scored).numbers
    content = read_json(scored / "experiment.json")
    content["experiment"]["tables"] = {}
    write_json(scored / "without.json", content)
    (claim, *_) = beats_base(Results(scored, scored / "without.json"))
    assert " (p " not in claim.numbers


@pytest.mark.parametrize(
    ("found", "above"),
    [
        (Difference(0.012, 0.001, 0.002, 3), True),
        (Difference(0.012, 0.001, 0.02, 3), None),
        (Difference(0.012, 0.010, 0.002, 3), None),
        (Difference(-0.012, 0.001), False),
        (Difference(0.012, known=False), None),
        (Difference(-0.0045, 0.002), None),  # of several, one is so low by chance
    ],
)
def test_a_gain_is_what_its_errors_allow(found, above):
    assert is_above(found, 6) is above


def test_a_comparison_is_adjusted_and_may_have_too_few_seeds():
    gain = Difference(BETTER - LEVEL)
    row = {"difference": 0.01, "p_holm": "0.001", "seeds": "3"}
    assert is_above(gain, 1, row) is True
    assert is_above(gain, 1, {**row, "difference": -0.01}) is False
    assert is_above(gain, 1, {**row, "p_holm": "0.06"}) is None
    assert is_above(gain, 1, {**row, "p_holm": "", "seeds": "2"}) is None
