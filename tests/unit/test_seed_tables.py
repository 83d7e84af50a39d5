"""Runs with seeds in scores, tables, figures and comparisons, of results made up."""

from __future__ import annotations

from statistics import fmean, stdev

import pytest
import yaml
from fake_results import REPOSITORY, fake_results
from one_group import written_out
from test_run_kinds import TABLES
from test_significance import write_items
from test_sweep_kinds import EXAMPLES

from revocab.errors import RevocabError
from revocab.evaluation.options import ComparisonJob
from revocab.evaluation.over_seeds import t_quantile
from revocab.experiment import validate
from revocab.io import read_csv, read_jsonl, write_jsonl
from revocab.report.figures.curves import over_seeds, training_losses
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import collect_scores
from revocab.report.results.significance import compare_runs
from revocab.report.table import MISSING, Cell, text
from revocab.report.template import rendered
from revocab.report.values import Average, HeldoutLoss, HelperSimilarity, RunValue, TaskScore

SEEDED = {"random": [1, 2, 3], "sava": [1, 2, 3], "fvt": [1, 2]}
HELDOUT = {
    "kind": "heldout", "runs": ["mistral-sava", "mistral-clp"], "languages": ["it"],
    "steps": ["first"], "title": "Losses",
}  # fmt: skip
CURVES = {
    "kind": "loss", "runs": ["mistral-sava", "mistral-clp"], "training": False, "title": "Curves",
}  # fmt: skip
DIFFERENCES = {"kind": "significance", "group": "mistral", "language": "it", "title": "All"}


def demo() -> dict:
    """Return the demo with seeds for some of its runs, those that it has replicates of."""
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    del values["runs"]["replicates"], values["tables"]["heldout"]  # seeds of the demo's own
    for name, seeds in SEEDED.items():
        values["runs"]["mistral"]["methods"][name]["for"] = {"seed": seeds}
    values["figures"]["heldout"] = CURVES
    values["tables"] = {**values["tables"], "table12": DIFFERENCES, "table13": HELDOUT}
    return values


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds") / "results" / "demo"
    values = written_out(demo())
    changed = {key: values[key] for key in ("runs", "tables", "figures")}
    fake_results(folder, **changed)
    results = Results(folder)
    for run in results.runs:
        if run.evaluate:
            write_items(folder, run, results.experiment)
    # SAVA answers right where its seeds agree, Random wrong: nobody doubts this difference.
    for run in results.runs:
        path = folder / "runs" / run.id / "multiple_choice_items.jsonl.gz"
        if run.replicate_of in ("mistral-sava", "mistral-random"):
            right = 0.9 if run.method == "sava" else 0.2
            rows = list(read_jsonl(path))
            for row in rows:
                row["values"] = [float((7 * n + run.seed) % 60 < 60 * right) for n in range(60)]
            write_jsonl(path, rows)
    collect_scores(folder, folder / "scores.parquet")
    job = ComparisonJob(group="mistral", steps=["last"], resamples=200)
    compare_runs(folder, job, folder / "significance/mistral/significance.csv")
    return folder


@pytest.fixture
def results(root) -> Results:
    return Results(root)


def test_a_group_shows_replicates_as_one(results):
    names = [run.name for run in results.group("mistral")]
    assert names == ["base", "random", "fvt", "clp", "sava", "sava-lstsq", "lapt"]
    sava = results.run("mistral-sava")
    assert [run.id for run in results.replicates(sava)] == [
        f"mistral-sava-seed{seed}" for seed in (1, 2, 3)
    ]
    assert results.replicates(results.run("mistral-clp")) == [results.run("mistral-clp")]


def test_a_score_is_the_mean_over_seeds_with_their_deviation(results):
    score = TaskScore(task="hellaswag_it", step=100)
    cell = score.cell(results, results.run("mistral-sava"))
    key = (100, "hellaswag_it", "acc_norm")
    each = [results.scores.get(f"mistral-sava-seed{seed}", *key) for seed in (1, 2, 3)]
    values = [row["value"] for row in each]
    assert score.cell(results, results.run("mistral-sava")).by_seed == dict(
        enumerate(values, start=1)
    )
    error = fmean(row["stderr"] for row in each)
    assert cell.number() == (
        f"{100 * fmean(values):.2f}±{100 * error:.2f} [{100 * stdev(values):.2f}]"
    )


def test_the_record_of_scores_has_each_run_and_no_mean(results):
    assert "mistral-sava" not in {row["run"] for row in results.scores.rows}


def test_averages_have_the_deviation_of_averages(results):
    """Not the mean of the tasks' deviations: seeds may be good at one and bad at another."""
    table = build_table(results, "table03")
    row = next(one for one in table.data_rows() if one.cells[0].text == "SAVA")
    step = results.run("mistral-sava").select(["first"])[0]
    average = Average(language="it", step=step)
    runs = [results.run(f"mistral-sava-seed{seed}") for seed in (1, 2, 3)]
    each = [average.cell(results, run).value for run in runs]
    assert 100 * row.cells[-1].value == pytest.approx(fmean(each))
    assert 100 * row.cells[-1].deviation == pytest.approx(stdev(each))


def test_heldout_losses_are_means(results):
    run = results.run("mistral-sava")
    each = [heldout_curve(results, one, "it")[50] for one in results.replicates(run)]
    cell = HeldoutLoss(language="it", step=50).cell(results, run)
    assert (cell.value, cell.deviation) == pytest.approx((fmean(each), stdev(each)))
    curve = over_seeds(results, run, heldout_curve, "it")
    assert curve[50] == pytest.approx((fmean(each), stdev(each)))
    assert over_seeds(results, results.run("mistral-clp"), heldout_curve, "it")[50][1] is None


def test_training_losses_are_means(results):
    run = results.run("mistral-random")
    each = [
        float(results.csv("runs", one.id, "losses.csv")[9]["loss"])
        for one in results.replicates(run)
    ]
    curve = over_seeds(results, run, training_losses, "loss")
    assert curve[10] == pytest.approx((fmean(each), stdev(each))) and len(curve) == 100


def comparison(root, run: str, other: str) -> dict[str, str]:
    rows = read_csv(root / "significance/mistral/significance.csv")
    return next(
        row
        for row in rows
        if (row["run"], row["other"]) == (f"mistral-{run}", f"mistral-{other}")
        and row["task"] == "hellaswag_it"
    )


def test_a_comparison_of_seeds_by_hand(root):
    row = comparison(root, "random", "sava")
    scores = {}
    for name in ("random", "sava"):
        for seed in (1, 2, 3):
            path = root / f"runs/mistral-{name}-seed{seed}/multiple_choice_items.jsonl.gz"
            items = next(
                one for one in read_jsonl(path)
                if (one["step"], one["task"], one["metric"]) == (100, "hellaswag_it", "acc_norm")
            )  # fmt: skip
            scores[name, seed] = fmean(items["values"])
    differences = [scores["random", seed] - scores["sava", seed] for seed in (1, 2, 3)]
    assert float(row["difference"]) == pytest.approx(fmean(differences))
    reach = t_quantile(2) * stdev(differences) / 3**0.5
    low, high = float(row["seed_low"]), float(row["seed_high"])
    assert (low, high) == pytest.approx(
        (fmean(differences) - reach, fmean(differences) + reach), abs=1e-9
    )
    assert row["seeds"] == "3" and float(row["high"]) < 0 and high < 0


def test_seeds_are_paired_and_others_repeated(root):
    assert comparison(root, "random", "fvt")["seeds"] == "2"  # those that both have
    assert comparison(root, "base", "sava")["seeds"] == "3"  # of a base model there is one
    trained_once = comparison(root, "clp", "sava")
    assert trained_once["seeds"] == "1" and trained_once["seed_low"] == ""
    assert comparison(root, "base", "clp")["seeds"] == ""


def test_only_what_holds_over_items_and_seeds_is_bold(results):
    table = build_table(results, "table12")
    column = table.header.index("AVG")
    marks = {row.cells[0].text: row.cells[column] for row in table.data_rows()}
    real = marks["Random − SAVA"]
    assert real.mark == "best" and real.seeds == 3 and real.seed_interval[1] < 0
    assert "over 3 seeds -" in rendered(table, "html")
    assert marks["CLP − SAVA"].mark is None  # large, but of one seed
    assert marks["FVT − SAVA"].mark is None  # large, but of two
    assert real.p_value > 0 and marks["CLP − SAVA"].p_value is None


def test_cells_of_seeds_by_hand(results):
    run = results.run("mistral-fvt")

    def pooled(*cells: Cell) -> Cell:
        class Given(RunValue):
            def header(self) -> str:
                return ""

            def of_training(self, results, run) -> Cell:
                return cells[run.seed - 1]

        return Given().cell(results, run)

    found = pooled(Cell(1.0, 0.1, interval=(0, 2)), Cell(3.0, 0.3, interval=(2, 4)))
    assert (found.value, found.stderr, found.interval) == (2.0, 0.2, None)
    assert found.deviation == pytest.approx(2**0.5)
    assert pooled(Cell(1.0), Cell()).value is None
    assert pooled(text("> 20"), text("> 20")).text == "> 20"
    assert pooled(text("> 20"), Cell(12.0)).text == MISSING


def test_similarities_are_means_over_replicates(results):
    pairs = results.experiment.figures["figure08"].similarities(results)
    assert not any("seed" in run or "seed" in other for run, other in pairs)
    assert not any(run == other for run, other in pairs)
    values = [
        row["similarity"]
        for row in results.similarities
        if row["run"].startswith("mistral-sava-seed") and row["kind"] == "helper"
        and row["step"] == 0
    ]  # fmt: skip
    cell = HelperSimilarity(step=0).cell(results, results.run("mistral-sava"))
    assert cell.value == pytest.approx(fmean(values)) and len(values) == 3


def test_a_run_that_there_is_not_is_one_clear_line():
    values = demo()
    values["tables"] = {"table12": {**DIFFERENCES, "against": "sav"}}
    with pytest.raises(RevocabError) as caught:
        validate(values)
    (line,) = caught.value.problems
    assert line.startswith("tables.table12.against: no scored run of the group 'sav'")
    assert "did you mean 'sava'?" in line and "sava-seed1" not in line


SHOWN = {
    **TABLES,
    "heldout": {
        "kind": "heldout", "title": "Loss", "runs": ["mistral-fvt", "mistral-sava"],
        "languages": ["it"], "steps": [0, "last"],
    },
    "sweep": {
        "kind": "sweep", "title": "Sweep", "group": "mistral", "rows": "rate", "columns": "mix",
        "value": {"heldout": {"language": "it"}},
    },
    "examples": EXAMPLES,
    "models": {
        "kind": "models_by_language", "title": "Models", "blocks": [{"languages": ["it"]}],
        "columns": {"SAVA": {"it": "mistral-sava"}},
    },
}  # fmt: skip


def swept() -> dict:
    """Return the demo with seeds of one run, which stands in a sweep."""
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    sava = {"for": {"seed": [1, 2, 3]}, "axes": {"rate": "low", "mix": "plain"}}
    values["runs"]["mistral"]["methods"]["sava"] = sava
    return {**values, "tables": SHOWN, "figures": {}}


@pytest.fixture(scope="module")
def swept_results(tmp_path_factory) -> Results:
    root = tmp_path_factory.mktemp("seeds") / "results" / "demo"
    values = written_out(swept())
    fake_results(root, runs=values["runs"], tables=SHOWN, figures={})
    collect_scores(root, root / "scores.parquet")
    return Results(root)


@pytest.mark.parametrize("name", SHOWN)
def test_every_kind_shows_replicates_as_one(swept_results, name):
    table = build_table(swept_results, name)
    labels = [*table.header, *(table.over or ()), *(row.cells[0].text for row in table.data_rows())]
    assert not any("seed" in label for label in labels if label)
    if name != "examples":
        cells = [cell for row in table.data_rows() for cell in row.cells]
        assert any(cell.deviation is not None for cell in cells)


def test_files_name_replicates_as_one_or_one_by_one(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    given = swept()
    validate(given)
    languages = {**SHOWN["models"], "columns": {"SAVA": {"it": "mistral-sava"}}}
    validate({**given, "tables": {"t": languages}, "figures": {}})
    table = {**SHOWN["heldout"], "runs": ["mistral-sava", "mistral-sava-seed2"]}
    with pytest.raises(RevocabError, match="measured at no step 1 of these runs"):
        validate({**given, "tables": {"t": {**table, "steps": [1]}}, "figures": {}})
    value = {"average": {"language": "it", "step": 3}}
    table = {**SHOWN["categories"], "runs": ["mistral-sava"], "columns": [value]}
    with pytest.raises(RevocabError, match="3 is not a checkpoint of run 'mistral-sava'"):
        validate({**given, "tables": {"t": table}, "figures": {}})
