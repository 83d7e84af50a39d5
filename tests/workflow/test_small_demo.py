"""The smaller demo: the real DAG, every stage, from nothing to the report, then nothing to do."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from small_demo import CONFIG_FILES

BIN = Path(sys.executable).parent
SMALL = ["--configfile", *CONFIG_FILES]


def snakemake(repository: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BIN / "snakemake", "--cores", "2", *SMALL, *arguments],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def results(repository) -> Path:
    done = snakemake(repository)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return repository / "results/demo-small"


pytestmark = pytest.mark.demo


def test_every_table_and_figure_is_there(results):
    for number in range(1, 15):
        for ending in ("csv", "md", "tex"):
            assert (results / f"tables/table{number:02d}.{ending}").stat().st_size > 0
    for number in range(1, 11):
        for ending in ("svg", "png"):
            assert (results / f"figures/figure{number:02d}.{ending}").stat().st_size > 0
    report = (results / "report.html").read_text()
    assert 'src="http' not in report and "@import" not in report


def test_scores_are_complete(results):
    scores = pd.read_parquet(results / "scores.parquet")
    runs = json.loads((results / "experiment.json").read_text())["runs"]
    for run in runs:
        if run["evaluate"]:
            mine = scores[(scores["run"] == run["id"]) & (scores["metric"] == "acc")]
            steps = run["steps"][1:] if run["trains"] else run["steps"]
            assert set(mine["step"]) == set(steps)
            assert mine["task"].nunique() == 12
            assert mine["value"].between(0, 1).all()


def test_runs_are_compared_item_by_item(results):
    table = pd.read_csv(results / "tables/table13.csv")
    assert len(table) >= 2
    compared = pd.read_csv(results / "significance/mistral/significance.csv")
    assert compared["p_holm"].between(0, 1).all()
    assert set(compared["task"]) >= {"flores_en_it", "squad_it", "copy_it"}


def test_cost_is_measured_for_the_base_and_an_adapted_model(results):
    found = [json.loads(path.read_text()) for path in sorted(results.glob("efficiency/*.json"))]
    assert len(found) == 2 and len({one["characters"] for one in found}) == 1
    for one in found:
        assert one["prompt_characters_per_second"] > 0 and one["seconds_per_token"] > 0
    base, adapted = sorted(found, key=lambda one: one["characters_per_token"])
    assert adapted["step"] == 8 and base["step"] == 0


def test_the_target_tokenizer_needs_fewer_tokens_for_italian(results):
    table = pd.read_csv(results / "fertility/fertility.csv").set_index(["tokenizer", "corpus"])
    fertility = table["fertility"]
    assert fertility["target", "world-it"] < 0.8 * fertility["source", "world-it"]


def test_an_adapted_model_loads_and_has_the_target_vocabulary(results):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = results / "runs/mistral-sava/checkpoints/step-000008"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    rows = model.get_input_embeddings().weight.shape[0]
    assert rows == model.get_output_embeddings().weight.shape[0]
    assert rows == len(tokenizer) == model.config.vocab_size
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id


def test_a_second_call_has_nothing_to_do_and_says_so_soon(results, repository):
    start = time.monotonic()
    done = snakemake(repository)
    assert "Nothing to be done" in done.stdout + done.stderr
    assert time.monotonic() - start < 15


def test_logs_hold_no_traceback(results):
    for log in (results / "logs").rglob("*.log"):
        assert "Traceback" not in log.read_text(), log
