"""Darumeru's tasks of config/lep.yaml that are answered with text, from repositories laid out as
theirs (docs/released.md, 3.1, 3.9, 3.11 to 3.14).
"""

from __future__ import annotations

import json
from pathlib import Path

import hub_darumeru
import hub_server
import pytest
from test_hub_lep import CALLS

from revocab.config import read
from revocab.io import read_jsonl
from revocab.plan import Plan

#: Two more than are scored.
SUMMARISED = 502


def text(number: int) -> str:
    """Return a text of nine words, the first of which is its own."""
    return f"Кот{number} спит тут Пёс лежит там Снег уже выпал"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("hub")
    texts = [text(number) for number in range(SUMMARISED)]
    languages = {"ru": texts, "en": [one.upper() for one in texts]}
    hub_darumeru.write_data_sets(root / "datasets", languages, SUMMARISED)
    return root


@pytest.fixture(scope="module")
def prompts(repository, root, tmp_path_factory):
    """The prompts of every task, by its name without the benchmark's."""
    folder = tmp_path_factory.mktemp("prompts")
    plan = Plan(read(str(repository / "config/lep.yaml")))
    named = [t for t in plan.experiment.evaluation.generation.tasks if t.startswith("daru_")]
    steps = [plan.step("build_prompts", task=task) for task in named]
    calls = [
        (step.command, [*step.arguments()[:-1], f"{folder}/{task}.jsonl"])
        for task, step in zip(named, steps, strict=True)
    ]
    with hub_server.serve(root) as hub:
        done = hub_server.run_against(hub, folder / "cache", ["-c", CALLS, json.dumps(calls)])
    assert done.returncode == 0, done.stderr
    return {
        task.removeprefix("daru_"): list(read_jsonl(folder / f"{task}.jsonl")) for task in named
    }


@pytest.mark.hub
def test_every_task_is_asked_as_its_rows_ask(prompts):
    assert {name: len(rows) for name, rows in prompts.items()} == {
        "multiq": 4, "use": 4, "sentences_ru": 4, "paragraphs_ru": 4, "sentences_en": 4,
        "paragraphs_en": 4, "summaries": 500, "extraction": 500,
    }  # fmt: skip
    asked = [f"Кот{n} спит тут Пёс\nКот{n} спит тут Пёс\nКто?\n" for n in range(5)]
    shots = "".join(f"{asked[n]}\nОтвет: Кот{n}\n\n" for n in range(4, -1, -1))
    assert prompts["multiq"][1]["prompt"] == f"{shots}{asked[1]}\nОтвет:"
    assert prompts["multiq"][0]["references"] == ["Кот0", "Кот0 спит тут Пёс"]
    rules = [one["query"]["rule"] for one in prompts["use"]]
    assert rules == ["matching", "text", "penalised", "matching"]
    exam = prompts["use"][3]["query"]
    assert (exam["variant"], exam["maximum"]) == ("1", "34")
    copied = {"sentences_ru": "Кот0 спит тут Пёс", "paragraphs_en": text(0).upper()}
    for name, reference in copied.items():
        assert prompts[name][0]["references"] == [reference]
        assert len(prompts[name][0]["shots"]) == 5
    most = {name: rows[0].get("max_new_tokens") for name, rows in prompts.items()}
    assert most == {
        "multiq": 64, "use": 64, "sentences_ru": 128, "paragraphs_ru": 1024, "sentences_en": 128,
        "paragraphs_en": 1024, "summaries": 512, "extraction": None,
    }  # fmt: skip


@pytest.mark.hub
def test_summaries_and_extraction_have_the_first_texts(prompts):
    summary, extraction = prompts["summaries"][499], prompts["extraction"][1]
    assert summary["prompt"].endswith(
        "русском языке.\nТекст: Кот499 спит тут. Пёс лежит там. Снег уже выпал.\nTL;DR:"
    )
    assert summary["references"] == ["Кот499 спит тут."]
    assert [shot["summary"] for shot in summary["shots"]] == [
        f"Кот{n} спит тут." for n in (4, 3, 2, 1, 0)
    ]
    assert extraction["references"] == ["Кот1 спит тут.", "Снег уже выпал."]
    assert extraction["prompt"] == (
        "Найди в тексте самые важные предложения.\n"
        "Текст: Кот1 спит тут. Пёс лежит там. Снег уже выпал.\nСамые важные предложения:"
    )
