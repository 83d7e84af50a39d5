"""Another version of a task's data is found by its number of items, and is not compared with it."""

from __future__ import annotations

import json
from pathlib import Path

import hub_itabench
import pytest
import yaml

from revocab.demoworld.stories import build
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.tasks import check_items
from revocab.evaluation.options import ExpectedItems

PIQA = hub_itabench.DATA_SETS["piqa"]
#: As printed scores tell: k of so many items (docs/papers/sava.md).
OF_PAPER = {"arc_easy": 2322, "piqa": 1615, "sciq": 958, "boolq": 3270}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A Hub with PIQA as it is today, and as it was on a branch."""
    root = tmp_path_factory.mktemp("hub")
    folder = root / "datasets/sapienzanlp" / PIQA.repository
    rows = hub_itabench.bilingual(build(1), "piqa", 1)
    hub_itabench.data_set(folder / "main", PIQA, rows, hub_itabench.PIQA_OF_TODAY)
    hub_itabench.data_set(folder / "first", PIQA, rows, PIQA.items)
    return root


@pytest.fixture
def build_piqa(job, hub, repository, tmp_path):
    """Build piqa_it of config/sava.yaml from the cache, with more options."""
    tasks = yaml.safe_load((repository / "config/sava.yaml").read_text(encoding="utf-8"))
    task = tasks["evaluation"]["multiple_choice"]["tasks"]["piqa_it"]
    options = {"task": "piqa_it", "template": task["template"], "language": "it"}

    def run(strict: bool = False, **source: str):
        items = {**task["items"], "strict": strict}
        given = json.dumps({**options, "items": items, "hub": {**task["data"]["hub"], **source}})
        out = tmp_path / "piqa_it.yaml"
        job("build_task", "--out", out, "--options", given, "--job", "build_task piqa_it")
        return out

    return run


def test_a_later_version_of_the_data_warns_with_the_counts_and_stops_if_strict(build_piqa, capsys):
    with pytest.raises(RevocabError, match=r"1,713.*1,615"):
        build_piqa(strict=True)
    assert build_piqa().is_file()
    said = capsys.readouterr().err
    assert "piqa_it" in said and "1,713" in said and "1,615" in said


def test_the_version_that_is_meant_is_taken(build_piqa, capsys):
    out = build_piqa(revision="first")
    assert "1,615" not in capsys.readouterr().err
    assert yaml.safe_load(out.read_text())["dataset_path"] == "sapienzanlp/piqa_italian"


@pytest.mark.parametrize("revision", [None, "abcdef0"])
def test_a_pin_without_the_items_is_not_named_again(monkeypatch, revision):
    monkeypatch.setattr("revocab.evaluation.multiple_choice.tasks.dataset_rows", lambda *_: [1, 2])
    config = {"dataset_path": "o/d", "test_split": "test"}
    config["dataset_kwargs"] = {"revision": "abcdef0" + 33 * "1"}
    with pytest.raises(RevocabError, match=r"has 2 items, expected 3.*write its commit") as error:
        check_items("t", config, ExpectedItems(number=3, revision=revision, strict=True))
    assert "'revision: abcdef0'" not in str(error.value)


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
