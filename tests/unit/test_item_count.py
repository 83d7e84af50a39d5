"""Another version of a task's data is found by its number of items, and is not compared with it."""

from __future__ import annotations

import hub_itabench
import pytest
import yaml

from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.tasks import check_items
from revocab.evaluation.options import ExpectedItems

#: As printed scores tell: k of so many items (docs/papers/sava.md).
OF_PAPER = {"arc_easy": 2322, "piqa": 1615, "sciq": 958, "boolq": 3270}


@pytest.mark.parametrize(
    ("revision", "advice"),
    [
        (None, "write its commit"),
        ("abcdef0", "write its commit"),  # a pin without the items is not named again
        ("1234567", "write 'revision: 1234567'"),
    ],
)
def test_a_later_version_of_the_data_warns_with_the_counts_and_stops_if_strict(
    monkeypatch, capsys, revision, advice
):
    monkeypatch.setattr("revocab.evaluation.multiple_choice.tasks.dataset_rows", lambda *_: [1, 2])
    config = {"dataset_path": "o/d", "test_split": "test"}
    config["dataset_kwargs"] = {"revision": "abcdef0" + 33 * "1"}
    expected = ExpectedItems(number=3, revision=revision)
    check_items("t", config, expected)
    warning = capsys.readouterr().err
    assert "2 items, expected 3" in warning and advice in warning
    assert ("'revision: abcdef0'" in warning) is False
    with pytest.raises(RevocabError, match="has 2 items, expected 3"):
        check_items("t", config, expected.model_copy(update={"strict": True}))
    check_items("t", config, ExpectedItems(number=2))
    assert not capsys.readouterr().err


def test_rows_of_a_file_are_counted(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n' * 3)
    config = {"dataset_path": "json", "test_split": "test"}
    config["dataset_kwargs"] = {"data_files": {"test": str(tmp_path / "rows.jsonl")}}
    check_items("t", config, ExpectedItems(number=3))
    with pytest.raises(RevocabError, match=r"rows\.jsonl, has 3 items, expected 4"):
        check_items("t", config, ExpectedItems(number=4, strict=True))


def test_the_paper_counts_both_languages_and_pins_as_its_overlay(repository):
    paper = yaml.safe_load((repository / "config/sava.yaml").read_text(encoding="utf-8"))
    first = repository / "config/overlays/itabench-first.yaml"
    overlay = yaml.safe_load(first.read_text(encoding="utf-8"))
    tasks, pinned = (one["evaluation"]["multiple_choice"]["tasks"] for one in (paper, overlay))
    for name, task in tasks.items():
        items = task.get("items", {})
        assert items.get("number") == OF_PAPER.get(task["family"]), name
        pin = pinned[name].get("data", {"hub": {}})["hub"].get("revision")
        assert items.get("revision") == (pin if items and task["family"] != "piqa" else None), name
    assert {family for family, one in hub_itabench.DATA_SETS.items() if one.items} == set(OF_PAPER)
