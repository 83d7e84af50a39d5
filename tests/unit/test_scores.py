"""The long table of scores: columns, units, averages, published values, provenance."""

from __future__ import annotations

import math

import pyarrow.parquet as pq
import pytest
import yaml
from fake_results import change_experiment, fake_results, finished_demo, write_csv

from revocab.errors import RevocabError
from revocab.io import read_csv
from revocab.report.make_tables import build_table
from revocab.report.results import Results, Scores
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import COLUMNS, collect, collect_scores, mean_score
from revocab.report.values import Average


@pytest.fixture
def folder():
    return finished_demo()


def test_mean_by_hand():
    assert mean_score([(0.5, 0.03), (0.7, 0.04)]) == (
        pytest.approx(0.6),
        pytest.approx(0.025),  # sqrt(0.03² + 0.04²) / 2
    )
    assert mean_score([(0.5, 0.03), (0.7, None)]) == (pytest.approx(0.6), None)
    assert mean_score([]) is None  # nor over a part of the tasks
    assert mean_score([(0.5, None), (None, None)]) is None


def test_columns_and_types(folder):
    table = pq.read_table(folder / "scores.parquet")
    assert tuple(table.column_names) == COLUMNS
    assert str(table.schema.field("step").type) == "int64"
    assert str(table.schema.field("value").type) == "double"
    assert set(table["experiment"].to_pylist()) == {"demo"}
    assert all((folder / path).is_file() for path in set(table["provenance"].to_pylist()))
    rows = read_csv(folder / "scores.csv")
    assert len(rows) == table.num_rows and tuple(rows[0]) == COLUMNS


def test_values_are_those_of_the_files(folder):
    scores = Results(folder).scores
    for line in read_csv(folder / "runs/mistral-sava/multiple_choice.csv"):
        found = scores.get("mistral-sava", int(line["step"]), line["task"], line["metric"])
        assert (found["value"], found["source"]) == (float(line["value"]), "mistral")


def test_average_uses_the_family_metric(folder):
    results = Results(folder)
    parts = {"hellaswag": "acc_norm", "mmlu": "acc", "arc_easy": "acc_norm", "piqa": "acc_norm"}
    parts |= {"sciq": "acc_norm", "boolq": "acc"}
    values = [
        results.scores.get("llama-fvt", 100, f"{family}_it", metric)["value"]
        for family, metric in parts.items()
    ]
    average = Average(language="it").cell(results, results.run("llama-fvt"))
    assert average.value == pytest.approx(100 * sum(values) / 6)
    assert average.stderr > 0


@pytest.fixture(scope="module")
def stereotypes(tmp_path_factory, repository):
    """Return results in which one task reports nothing but the rate of stereotypes."""
    demo = yaml.safe_load((repository / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    evaluation = demo["evaluation"]
    boolq = evaluation["multiple_choice"]["tasks"]["boolq_en"]
    evaluation["multiple_choice"]["tasks"]["boolq_en"] = {**boolq, "family": "crows_pairs"}
    root = fake_results(tmp_path_factory.mktemp("pairs") / "demo", evaluation=evaluation)
    for path in root.glob("runs/*/multiple_choice.csv"):
        rows = read_csv(path)
        for one in rows:
            if one["task"] == "boolq_en" and one["metric"] == "acc":
                one["metric"] = "pct_stereotype"
        write_csv(path, [r for r in rows if (r["task"], r["metric"]) != ("boolq_en", "acc_norm")])
    collect_scores(root, root / "scores.parquet")
    return Results(root)


def test_a_task_without_accuracy_is_part_of_the_average(stereotypes):
    scores = stereotypes.scores
    found = scores.choice("mistral-sava", 100, "boolq_en", "crows_pairs")
    assert found["metric"] == "pct_stereotype"
    others = ("hellaswag", "mmlu", "arc_easy", "piqa", "sciq")
    parts = [scores.choice("mistral-sava", 100, f"{one}_en", one)["value"] for one in others]
    average = Average(language="en").cell(stereotypes, stereotypes.run("mistral-sava"))
    assert average.value == pytest.approx(100 * (sum(parts) + found["value"]) / 6)
    (table,) = [
        build_table(stereotypes, name)
        for name, one in stereotypes.experiment.tables.items()
        if one.kind == "multiple_choice" and (one.group, one.language) == ("mistral", "en")
    ]
    cells = dict(zip(table.header, table.data_rows()[0].cells, strict=True))
    assert cells["CrowS-Pairs"].value is not None and cells["AVG"].value is not None


def test_any_reported_metric_stands_for_a_task_without_its_own():
    values = {"run": "one", "step": 0, "task": "pairs", "metric": "acc_norm", "value": 0.5}
    scores = Scores([values])
    assert scores.choice("one", 0, "pairs", "unheard-of") == values
    assert scores.shown_metric("pairs", "unheard-of") == "acc_norm"
    assert scores.choice("one", 0, "others", "unheard-of") is None
    assert scores.shown_metric("others", "unheard-of") == "acc"


def test_same_input_same_bytes(folder, tmp_path):
    collect_scores(folder, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (folder / "scores.parquet").read_bytes()


def test_runs_that_are_not_evaluated_have_only_losses(folder):
    rows = [r for r in Results(folder).scores.rows if r["run"] == "ablations-sava-anchors50"]
    assert {r["metric"] for r in rows} == {"loss", "bits_per_byte"}


def test_uncomputed_metric_is_empty_not_zero(folder):
    assert Results(folder).scores.get("mistral-base", 0, "flores_en_it", "comet22")["value"] is None


def test_published_values_stand_beside(repository, tmp_path):
    config = repository / "config/published/sava"
    root = fake_results(tmp_path / "demo", paper_values=str(config))
    change_experiment(root, "runs", "mistral", "label", value="Mistral-7B-v0.1")
    results = Results(root)
    assert all(
        r["paper_value"] is None for r in collect(results) if r["run"] == "mistral-sava-lstsq"
    )
    found = [r for r in collect(results) if r["run"] == "mistral-base" and r["paper_value"]]
    by_task = {(r["task"], r["metric"]): r["paper_value"] for r in found}
    assert by_task["hellaswag_it", "acc_norm"] == pytest.approx(0.5650)
    average = Average(language="en", step=0).cell(results, results.base("mistral"))
    assert average.published == pytest.approx(78.17)
    assert by_task["squad_it", "rougeL-released"] == pytest.approx(68.92)


def test_unknown_task_is_named(tmp_path):
    root = fake_results(tmp_path / "demo")
    path = root / "runs" / "llama-base" / "multiple_choice.csv"
    rows = read_csv(path)
    rows[0]["task"] = "sudoku"
    write_csv(path, rows)
    with pytest.raises(RevocabError, match=r"multiple_choice\.csv: task 'sudoku'"):
        collect_scores(root, root / "scores.parquet")


def test_base_heldout_is_the_kept_vocabulary_before_training(folder):
    results = Results(folder)
    base = heldout_curve(results, results.base("mistral"), "it")
    lapt = heldout_curve(results, results.run("mistral-lapt"), "it")
    assert base == {0: lapt[0]}
    assert math.isfinite(base[0])


def test_rows_are_those_of_the_group(tmp_path):
    """A model that two groups show has files with the tasks of both."""
    root = fake_results(tmp_path / "results" / "demo")
    change_experiment(root, "runs", "mistral", "languages", value=["it"])
    rows = [row for row in collect(Results(root)) if row["run"].startswith("mistral-")]
    tasks = {row["task"] for row in rows if row["metric"] in ("acc", "chrf++", "rougeL")}
    assert "arc_easy_it" in tasks and "squad_it" in tasks
    assert not {"arc_easy_en", "flores_en_it"} & tasks
