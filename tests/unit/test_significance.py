"""Comparing runs item by item, and the tables that show it; marks of limited runs."""

from __future__ import annotations

import random
import shutil

import pytest
import yaml
from fake_results import REPOSITORY, change_experiment, fake_results, write_csv

from revocab.errors import RevocabError
from revocab.evaluation.options import ComparisonJob
from revocab.evaluation.over_seeds import holm
from revocab.experiment import Experiment, Run
from revocab.io import read_csv, write_json, write_jsonl
from revocab.report.make_tables import build_table, make_tables
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.results.significance import compare_runs

JOB = ComparisonJob(group="mistral", steps=["last"], resamples=300)
#: How often each run answers right.
QUALITY = {"base": 0.3, "random": 0.35, "sava": 0.9}
TABLES = {
    "table12": {"kind": "significance", "group": "mistral", "language": "it", "title": "All"},
    "table13": {"kind": "significance", "group": "mistral", "title": "Generation"},
    "table14": {
        "kind": "significance", "group": "mistral", "language": "it", "against": "sava",
        "title": "Against SAVA",
    },
    "table15": {"kind": "efficiency", "group": "mistral", "title": "Cost"},
}  # fmt: skip


def write_items(root, run: Run, experiment: Experiment, items: int = 60) -> None:
    """Write item scores and outputs of a run at its scored steps."""
    rows = []
    for step in run.select():
        for task in experiment.evaluation.multiple_choice.tasks:
            for metric in ("acc", "acc_norm"):
                draw = random.Random(f"{run.id}{task}{metric}")
                right = QUALITY.get(run.name, 0.5)
                values = [float(draw.random() < right) for _ in range(items)]
                row = {"run": run.id, "step": step, "task": task, "metric": metric}
                rows.append({**row, "parts": [items], "by_part": False, "values": values})
    folder = root / "runs" / run.id
    write_jsonl(folder / "multiple_choice_items.jsonl.gz", rows)
    for step in run.select(experiment.evaluation.generation.steps):
        for task, entry in experiment.evaluation.generation.tasks.items():
            made = [
                {
                    "id": str(i),
                    "output": f"il gatto numero {i}" if run.name == "sava" else "un cane",
                    "references": [f"il gatto numero {i}"],
                }
                for i in range(12)
            ]
            assert entry.kind != "copying"
            write_jsonl(folder / "generation" / f"step-{step:06d}" / f"{task}.jsonl", made)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Results of a demo whose first 100 items were scored, with comparisons and costs."""
    folder = tmp_path_factory.mktemp("significance") / "results" / "demo"
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    evaluation = values["evaluation"] | {"efficiency": {"corpus": "world-it"}}
    fake_results(folder, tables=values["tables"] | TABLES, evaluation=evaluation)
    change_experiment(folder, "evaluation", "multiple_choice", "limit", value=100)
    results = Results(folder)
    for run in results.runs:
        if run.evaluate:
            write_items(folder, run, results.experiment)
    for run, speed in (("mistral-base", 1000.0), ("mistral-random", 1500.0)):
        names = (
            "tokens_per_word", "characters_per_token", "prompt_characters_per_second",
            "generated_characters_per_second", "first_token_seconds",
            "seconds_per_100_characters", "cache_bytes_per_1000_characters", "peak_memory_bytes",
        )  # fmt: skip
        told = {"characters": 16000, "corpus": "world-it", "prompts": 16, "new_tokens": 64}
        told |= {"batch_size": 8, "repeats": 3, "engine": "transformers", "device": "cpu"}
        measured = {**dict.fromkeys(names, speed), **told, "dtype": "float32", "threads": 2}
        write_json(folder / "efficiency" / f"{run}.json", measured)
    collect_scores(folder, folder / "scores.parquet")
    compare_runs(folder, JOB, folder / "significance/mistral/significance.csv")
    return folder


def test_every_pair_and_task_is_compared(root):
    rows = read_csv(root / "significance/mistral/significance.csv")
    pairs = {(row["run"], row["other"]) for row in rows}
    runs = Results(root).group("mistral")
    assert len(pairs) == len(runs) * (len(runs) - 1) / 2
    tasks = {row["task"] for row in rows}
    assert {"arc_easy_it", "average_it", "average_en", "flores_en_it", "squad_it"} <= tasks
    metrics = {row["metric"] for row in rows if row["task"] == "flores_en_it"}
    assert metrics == {"chrf++", "bleu"}


def test_large_differences_are_significant_and_equal_runs_are_not(root):
    rows = read_csv(root / "significance/mistral/significance.csv")
    found = {(row["run"], row["other"], row["task"], row["metric"]): row for row in rows}
    row = found["mistral-base", "mistral-sava", "average_it", "average"]
    assert float(row["difference"]) < -0.4 and float(row["high"]) < 0
    # 300 resamples alone would leave it above 0.05: 1 / 301 for each of the pairs.
    assert 0 < float(row["p_value"]) < float(row["p_holm"]) < 0.05
    row = found["mistral-base", "mistral-random", "squad_it", "rougeL"]
    assert (float(row["difference"]), float(row["p_value"])) == (0, 1)


def test_the_same_seed_gives_the_same_bytes(root, tmp_path):
    first = root / "significance/mistral/significance.csv"
    compare_runs(root, JOB, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == first.read_bytes()


def test_runs_scored_on_other_items_are_refused(root, tmp_path):
    copy = tmp_path / "demo"
    shutil.copytree(root, copy)
    results = Results(copy)
    sava = next(run for run in results.group("mistral") if run.name == "sava")
    write_items(copy, sava, results.experiment, items=50)
    with pytest.raises(RevocabError, match="scored on different items of"):
        compare_runs(copy, JOB, tmp_path / "x.csv")
    with pytest.raises(RevocabError, match="no two scored runs"):
        compare_runs(copy, ComparisonJob(group="absent", steps=["last"]), tmp_path / "x.csv")


def test_tables_of_differences(root, tmp_path):
    make_tables(root, tmp_path)
    whole = read_csv(tmp_path / "table12.csv")
    against = read_csv(tmp_path / "table14.csv")
    runs = Results(root).group("mistral")
    assert len(whole) == len(runs) * (len(runs) - 1) / 2 and len(against) == len(runs) - 1
    assert all(row["Difference"].endswith("− SAVA") for row in against)
    row = next(r for r in against if r["Difference"].startswith("Random"))
    assert float(row["AVG"]) < -40
    assert float(row["AVG low"]) < float(row["AVG"]) < float(row["AVG high"]) < 0
    compared = read_csv(root / "significance/mistral/significance.csv")
    with_sava = [
        float(row["p_value"])
        for row in compared
        if row["task"] == "average_it" and "mistral-sava" in (row["run"], row["other"])
    ]
    assert sorted(float(r["AVG p"]) for r in against) == pytest.approx(
        sorted(holm(with_sava)), abs=1e-6
    )
    generated = read_csv(tmp_path / "table13.csv")
    assert "squad_it ROUGE-L" in generated[0] and "flores EN-IT chrF++" in generated[0]
    # The experiment has no COMET model: no empty columns, which check_artefacts would refuse.
    assert "flores EN-IT COMET-22" not in generated[0]
    text = (tmp_path / "table12.md").read_text(encoding="utf-8")
    assert "permutation" in text and "adjusted for the pairs of a column" in text
    assert f"Resamples: 300; where p is small, {200 * len(whole):,} exchanges." in text


def test_what_cannot_be_compared_is_a_dash(root, tmp_path):
    """A task of a single item has no difference, and is no gap in the results."""
    copy = tmp_path / "demo"
    shutil.copytree(root, copy)
    path = copy / "significance/mistral/significance.csv"
    write_csv(path, [row for row in read_csv(path) if row["task"] != "piqa_it"])
    table = build_table(Results(copy), "table12")
    column = table.header.index("PIQA")
    assert {row.cells[column].text for row in table.data_rows()} == {"–"}
    assert all(row.cells[column + 1].value is not None for row in table.data_rows())


def test_table_of_costs(root, tmp_path):
    make_tables(root, tmp_path)
    base, adapted, ratio = read_csv(tmp_path / "table15.csv")
    assert float(base["Prompt characters/s"]) == 1000
    assert float(adapted["First token (ms)"]) == 1_500_000
    assert ratio["Model"] == "Random / base" and ratio["Prompt characters/s"] == "×1.50"
    assert "16,000 characters of world-it" in (tmp_path / "table15.md").read_text("utf-8")


def test_comet_scores_take_the_place_of_the_empty_ones(root, tmp_path):
    copy = tmp_path / "demo"
    shutil.copytree(root, copy)
    for name in ("comet", "xcomet"):
        change_experiment(copy, "evaluation", "generation", f"{name}_model", value=f"o/{name}")
    results = Results(copy)
    base = results.base("mistral")
    row = {"run": base.id, "step": 0, "task": "flores_en_it", "stderr": 1.0, "low": 80, "high": 84}
    row |= {"items": 12, "shots": "", "engine": "", "limit": "", "reason": "", "model": "m"}
    write_csv(
        copy / "runs" / base.id / "generation" / "comet.csv",
        [{**row, "metric": "comet22", "value": 82.5}, {**row, "metric": "xcomet", "value": 70.5}],
    )
    collect_scores(copy, copy / "scores.parquet")
    found = {
        row["metric"]: row
        for row in Results(copy).scores.rows
        if (row["run"], row["task"]) == (base.id, "flores_en_it")
    }
    assert found["comet22"]["value"] == 82.5 and found["xcomet"]["value"] == 70.5
    assert found["comet22"]["low"] == 80 and found["comet22"]["shots"] == 5
    assert found["comet22"]["provenance"].endswith("generation/comet.csv")
    assert set(found) == {"chrf++", "bleu", "comet22", "xcomet"}
