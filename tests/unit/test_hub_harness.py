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

    def download(self, *_args, **_keys):
        self.dataset = rows(self.DATASET_PATH, self.DATASET_NAME)

    monkeypatch.setattr(ConfigurableTask, "download", download)
    harness.quiet()
    path = repository / f"config/{experiment}.yaml"
    shipped = yaml.safe_load(path.read_text(encoding="utf-8"))["evaluation"]["multiple_choice"]
    manager = harness.manager_of({task["harness"] for task in shipped["tasks"].values()})
    for task in shipped["tasks"].values():
        found = [*leaves(manager.load([task["harness"]])["tasks"])]
        assert found
        for one in found:
            one.build_all_requests()
            assert len(one.instances) > 1, task
            assert main_metric(task["family"]) in one.aggregation(), task


@pytest.fixture(scope="module")
def whole() -> dict:
    """All that the harness ships, by name."""
    from lm_eval.tasks import TaskManager

    harness.quiet()
    return TaskManager().task_index


@pytest.mark.parametrize(
    ("names", "at_most"),
    [
        (["mmlu", "arabic_leaderboard_arabic_mt_mmlu", "truthfulqa_ar_mc2", "race"], 1000),
        (["belebele_swh_Latn", "xcopa_et", "xnli_ru"], 1000),
        (["leaderboard"], 1000),  # of a folder's tasks
        (["ai2_arc"], 100),  # a tag
        (["arc_eazy"], None),  # what the error lists is similar
    ],
)
def test_folders_that_are_read_are_enough(whole, names, at_most):
    """Tasks, groups and tags, and all that they are made of, are those of the whole harness."""
    index = harness.manager_of(names).task_index
    assert len(index) <= (at_most or len(whole)) and (at_most or len(index) == len(whole))
    for name in harness.parts_of(whole, names) & whole.keys():
        places = {found[name].yaml_path for found in (whole, index)}
        assert len(places) == 1 and whole[name].tags == index[name].tags, name
        assert whole[name].cfg == index[name].cfg, name
