"""The claim that adapted models beat their base model: which differences count, what is said."""

from __future__ import annotations

import pytest
from fake_results import fake_results, write_csv

from revocab.io import read_json, write_json
from revocab.report.claims.beats_base import CLAIMS, gain_of
from revocab.report.results import Results
from revocab.report.results.folder import read_csv
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
    return next(CLAIMS.find(Results(root)))


def compare(root, p_values: dict[str, float], step: str = "last"):
    """Write comparisons of the base model with runs, base first, as if made by items."""
    empty = dict.fromkeys((*COLUMNS, *SEED_COLUMNS), "")
    rows = [
        {**empty, "step": step, "task": "average_it", "metric": "average", "run": "mistral-base",
         "other": f"mistral-{name}", "difference": -0.01, "low": -0.02, "high": 0, "p_holm": p}
        for name, p in p_values.items()
    ]  # fmt: skip
    write_csv(root / "significance" / "mistral" / "significance.csv", rows)


def test_values_alone_decide_where_chance_is_not_known(scored):
    found = mistral(scored)
    assert found.holds and found.statement.endswith("beats the base model's Italian average")
    assert found.numbers.endswith("; values alone, neither compared by item nor over seeds: all")


@pytest.mark.parametrize(("p", "holds"), [(0.01, True), (0.2, False)])
def test_a_comparison_by_item_decides(scored, p, holds):
    compare(scored, {**dict.fromkeys(NAMES, 0.001), "lapt": p})
    found = mistral(scored)
    assert found.holds is holds
    assert found.statement.endswith("Italian average by more than chance")
    assert found.numbers.endswith(f" (p {p})")
    assert "alone" not in found.numbers


def test_runs_without_a_comparison_are_named(scored):
    compare(scored, dict.fromkeys(NAMES[:-1], 0.001))
    found = mistral(scored)
    assert found.holds and not found.statement.endswith("chance")
    assert found.numbers.endswith("nor over seeds: LAPT")


def test_a_comparison_at_another_checkpoint_says_nothing(scored):
    compare(scored, dict.fromkeys(NAMES, 0.2), step="first")
    assert mistral(scored).numbers.endswith(": all")


def test_a_file_that_no_table_shows_says_nothing(scored):
    """It may be left from another version of the experiment."""
    compare(scored, dict.fromkeys(NAMES, 0.2))
    content = read_json(scored / "experiment.json")
    content["experiment"]["tables"] = {}
    write_json(scored / "without.json", content)
    (claim, *_) = CLAIMS.find(Results(scored, scored / "without.json"))
    assert claim.numbers.endswith(": all")


@pytest.mark.parametrize(
    ("by_seed", "above"), [([0.31, 0.312, 0.314], True), ([0.29, 0.31, 0.33], False)]
)
def test_seeds_decide_where_no_comparison_is_made(by_seed, above):
    found = gain_of(BETTER, by_seed, LEVEL, None)
    assert found.above is above and "over 3 seeds" in found.chance


def test_a_comparison_that_knows_seeds_needs_them_to_agree():
    row = {"difference": 0.01, "low": "0.005", "high": "0.015", "p_holm": "0.001", "seeds": "3"}
    agreeing = gain_of(BETTER, [], LEVEL, {**row, "seed_low": "0.001", "seed_high": "0.02"})
    assert agreeing.above and agreeing.chance == " (p 0.001, 3 seeds)"
    assert not gain_of(BETTER, [], LEVEL, {**row, "seed_low": "-0.01", "seed_high": "0.03"}).above


def test_a_significant_loss_is_no_gain():
    row = {"difference": -0.01, "p_holm": "0.001"}
    assert not gain_of(BETTER, [], LEVEL, row).above
