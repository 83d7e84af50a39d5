"""The scorer against the harness's own command line, on a pico model: equal to the last digit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation_toys import IT_ROWS, TWIN_ROWS, plant_twins, write_model, write_task

from revocab.evaluation.multiple_choice import harness
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Scoring


def command_line(task: Path, model: Path, folder: Path, limit: int) -> dict[str, float]:
    """Return the results of ``lm_eval run`` for one task file."""
    options = {
        "--model": "hf",
        "--model_args": f"pretrained={model},dtype=float32",
        "--device": "cpu",
        "--batch_size": "8",
        "--tasks": str(task),
        "--limit": str(limit),
        "--output_path": str(folder / "results.json"),
    }
    environment = {**os.environ, "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
    subprocess.run(
        [sys.executable, "-m", "lm_eval", *(part for pair in options.items() for part in pair)],
        check=True,
        capture_output=True,
        env=environment,
    )
    (written,) = folder.rglob("results*.json")
    return json.loads(written.read_text())["results"][task.stem]


@pytest.mark.long
@pytest.mark.parametrize("share_contexts", [True, False])
def test_scores_equal_the_command_line(share_contexts, cli_scores):
    model, task, expected = cli_scores
    harness.quiet()
    scorer = Scorer([task], Scoring(limit=10, device="cpu"))
    loaded = scorer.load(model)
    loaded.shares_contexts &= share_contexts
    rows = {row["metric"]: row for row in scorer.score(loaded, task.stem)}
    for metric in ("acc", "acc_norm"):
        assert rows[metric]["value"] == expected[f"{metric},none"]
        assert rows[metric]["stderr"] == expected[f"{metric}_stderr,none"]
    assert rows["acc"]["items"] == 10


@pytest.fixture(scope="module")
def cli_scores(tmp_path_factory, repository):
    folder = tmp_path_factory.mktemp("cli")
    model = write_model(folder / "model", seed=3)
    task = write_task(folder, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    return model, task, command_line(task, model, folder, limit=10)


def test_items_equal_the_harness_where_rounding_decides(tmp_path, repository):
    """Every item, of a task full of near ties too, against the harness with its own model class."""
    from lm_eval.evaluator import simple_evaluate

    harness.quiet()
    model = plant_twins(write_model(tmp_path / "model", seed=3))
    tasks = [
        write_task(tmp_path, repository, "ties", TWIN_ROWS, "arc_easy_it"),
        write_task(tmp_path, repository, "far", IT_ROWS, "arc_easy_it"),
    ]
    expected = simple_evaluate(
        model="hf",
        model_args={"pretrained": str(model), "dtype": "float32"},
        tasks=[str(task) for task in tasks],
        device="cpu",
        batch_size=8,
    )
    scorer = Scorer(tasks, Scoring(batch_size=8, device="cpu"))
    loaded = scorer.load(model)
    for task in tasks:
        for row in scorer.score(loaded, task.stem):
            samples = expected["samples"][task.stem]
            assert row["values"] == [one[row["metric"]] for one in samples]
            assert row["value"] == expected["results"][task.stem][f"{row['metric']},none"]
    assert loaded.shares_contexts and loaded.rescored == len(TWIN_ROWS)
