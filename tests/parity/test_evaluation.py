"""The scorer against lm-evaluation-harness itself, on a pico model: equal to the last digit."""

from __future__ import annotations

from evaluation_toys import IT_ROWS, TWIN_ROWS, plant_twins, write_model, write_task

from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Scoring


def test_items_equal_the_harness_where_rounding_decides(tmp_path, repository):
    """Every item, of a task full of near ties too, against the harness with its own model class."""
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

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
        task_manager=TaskManager(include_defaults=False),  # else it reads thousands of files
    )
    for shares_contexts in (True, False):
        scorer = Scorer(tasks, Scoring(batch_size=8, device="cpu"))
        loaded = scorer.load(model)
        loaded.shares_contexts &= shares_contexts
        for task in tasks:
            results, samples = (expected[key][task.stem] for key in ("results", "samples"))
            for row in scorer.score(loaded, task.stem):
                metric = row["metric"]
                assert row["values"] == [one[metric] for one in samples]
                assert row["value"] == results[f"{metric},none"]
                assert row["stderr"] == results[f"{metric}_stderr,none"]
        assert loaded.rescored == (len(TWIN_ROWS) if shares_contexts else 0)
