"""The local Hub's rows of the harness's tasks, without the Hub: tasks read and score them."""

from __future__ import annotations

import hub_harness
import pytest
import yaml

from revocab.evaluation.multiple_choice import harness
from revocab.evaluation.multiple_choice.families import main_metric


def rows(repository: str, configuration: str | None):
    """Return a data set of the local Hub as the harness gets it."""
    from datasets import Dataset, DatasetDict

    made, splits = hub_harness.data_sets()[repository]
    row = made[configuration or "default"]
    return DatasetDict({split: Dataset.from_list([row]) for split in splits})


def leaves(loaded: dict):
    """Yield the tasks of a task or of a group, however deep."""
    for one in loaded.values():
        if isinstance(one, dict):
            yield from leaves(one)
        else:
            yield one


@pytest.mark.long
@pytest.mark.parametrize("experiment", ["bilingual", "vocadt"])
def test_every_task_of_an_experiment_scores_them(repository, monkeypatch, experiment):
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.tasks import TaskManager

    def download(self, *_args, **_keys):
        self.dataset = rows(self.DATASET_PATH, self.DATASET_NAME)

    monkeypatch.setattr(ConfigurableTask, "download", download)
    harness.quiet()
    manager = TaskManager()
    path = repository / f"config/{experiment}.yaml"
    shipped = yaml.safe_load(path.read_text(encoding="utf-8"))["evaluation"]["multiple_choice"]
    for task in shipped["tasks"].values():
        found = [*leaves(manager.load([task["harness"]])["tasks"])]
        assert found
        for one in found:
            one.build_all_requests()
            assert len(one.instances) > 1, task
            assert main_metric(task["family"]) in one.aggregation(), task
