"""Of the harness's thousands of task files, those that named tasks are made of."""

from __future__ import annotations

import pytest

from revocab.evaluation.multiple_choice import harness


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
