"""Darumeru's tasks of config/lep.yaml that are answered with text, from repositories laid out as
theirs (docs/released.md, 3.1, 3.9, 3.11 to 3.14).
"""

from __future__ import annotations

import json
from pathlib import Path

import hub_content
import hub_server
import pytest
from test_hub_lep import CALLS

from revocab.config import read
from revocab.io import read_jsonl
from revocab.plan import Plan

TEXTS = 502
COPIES = {name: {"text": f"Текст {name}.\nВторая строка."} for name in
          ("cp_sent_ru", "cp_para_ru", "cp_sent_en", "cp_para_en")}  # fmt: skip
INPUTS = {
    "multiq": {"support_text": "Кот спит.", "text": "Пёс лежит.", "question": "Кто?"},
    "use": {"task": "Выбери.", "choices": "1) да 2) нет"},
    **COPIES,
}
META = {"use": {"id_task": "16", "type": "multiple_choice", "variant": 3, "score": 2}}


def row(task, number, answer):
    fields = " ".join(f"{{{name}}}" for name in INPUTS[task])
    said = [{"role": "user", "content": f"{number}: {fields}"}]
    said.append({"role": "bot", "content": "Ответ:" if answer is None else f"Ответ: {answer}"})
    outputs = [{"segment": "Кот"}, {"segment": "кот спит"}] if task == "multiq" else "1,3"
    meta = META.get(task, {"id": number})
    return {"messages": said, "inputs": INPUTS[task], "outputs": outputs, "meta": meta}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("hub")
    tasks = {
        task: {"test": [row(task, n, None) for n in range(2)],
               "prompt": [row(task, n, f"верно {n}") for n in range(10, 16)]}
        for task in INPUTS
    }  # fmt: skip
    hub_content.data_set(root / "datasets/RefalMachine/darumeru/main", tasks)
    news = [
        {"src_sents": ["Выпал снег.", f"Дороги {n} закрыты.", "Фото."],
         "summary_sents": [f"Снег {n}.", "Всё."], "extractive_summary": [0, 1] if n == 5 else [1]}
        for n in range(5 + TEXTS)
    ]  # fmt: skip
    texts = {"default": {"test": news[5:], "prompt": news[:5]}}
    hub_content.data_set(root / "datasets/dichspace/daru_treeway_eval/main", texts)
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
        "multiq": 2, "use": 2, "sentences_ru": 2, "paragraphs_ru": 2, "sentences_en": 2,
        "paragraphs_en": 2, "summaries": 500, "extraction": 500,
    }  # fmt: skip
    asked = "Кот спит. Пёс лежит. Кто?"
    shots = "".join(f"{n}: {asked}\nОтвет: верно {n}\n\n" for n in range(14, 9, -1))
    assert prompts["multiq"][1]["prompt"] == f"{shots}1: {asked}\nОтвет:"
    assert prompts["multiq"][0]["references"] == ["Кот", "кот спит"]
    exam = prompts["use"][0]
    kept = {name: exam["query"][name] for name in ("rule", "variant", "maximum")}
    assert kept == {"rule": "penalised", "variant": "3", "maximum": "34"}
    for name, task in {"sentences_ru": "cp_sent_ru", "paragraphs_en": "cp_para_en"}.items():
        assert prompts[name][0]["references"] == [COPIES[task]["text"]]
        assert len(prompts[name][0]["shots"]) == 5
    most = {name: rows[0].get("max_new_tokens") for name, rows in prompts.items()}
    assert most == {
        "multiq": 64, "use": 64, "sentences_ru": 128, "paragraphs_ru": 1024, "sentences_en": 128,
        "paragraphs_en": 1024, "summaries": 512, "extraction": None,
    }  # fmt: skip


@pytest.mark.hub
def test_summaries_and_extraction_have_the_first_texts(prompts):
    summary, extraction = prompts["summaries"][499], prompts["extraction"][0]
    assert summary["prompt"].endswith(
        "русском языке.\nТекст: Выпал снег. Дороги 504 закрыты. Фото.\nTL;DR:"
    )
    assert summary["references"] == ["Снег 504. Всё."]
    assert [shot["summary"] for shot in summary["shots"]] == [
        f"Снег {n}. Всё." for n in (4, 3, 2, 1, 0)
    ]
    assert extraction["references"] == ["Выпал снег.", "Дороги 5 закрыты."]
    assert extraction["prompt"] == (
        "Найди в тексте самые важные предложения.\n"
        "Текст: Выпал снег. Дороги 5 закрыты. Фото.\nСамые важные предложения:"
    )
