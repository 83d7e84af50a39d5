"""Darumeru's tasks of config/lep.yaml that are answered with text, from repositories laid out as
theirs (docs/papers.md, 3.1, 3.9, 3.11 to 3.14), and what they give to answerers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import hub_cache
import hub_darumeru
import pytest

from revocab.evaluation.generation.generate import generate_task, score_rows
from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.options import Generating
from revocab.experiment import options, read
from revocab.io import read_jsonl
from revocab.report.values import metric_of

Row = dict[str, Any]

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
def prompts(repository, root, job, tmp_path_factory):
    """The prompts of every task, by its name without the benchmark's."""
    folder = tmp_path_factory.mktemp("prompts")
    experiment = read(str(repository / "config/lep.yaml"))
    named = [t for t in experiment.evaluation.generation.tasks if t.startswith("daru_")]
    with hub_cache.offline(root, folder / "home"):
        for task in named:
            words = ["--options", options.prompts(experiment, task).canonical(), "--job", "prompts"]
            job("build_prompts", "--out", folder / f"{task}.jsonl", *words)
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


class Answerer(NamedTuple):
    """What is written, and how likely a sentence is found, by the row that asks."""

    text: Callable[[Row], str]
    likelihood: Callable[[Row, str], float]


DRAWN = random.Random(0)
ANSWERERS = {
    "perfect": Answerer(
        lambda row: row["references"][0],
        lambda row, sentence: any(one.startswith(sentence) for one in row["references"]),
    ),
    "empty": Answerer(lambda row: "", lambda row, sentence: 0),
    # As long as the right answer.
    "random": Answerer(
        lambda row: "".join(DRAWN.choices("абвгдежзиклмнопрст", k=len(row["references"][0]))),
        lambda row, sentence: DRAWN.random(),
    ),
}
#: Scores of the three. Of USE there are five points of one paper and two of another, each of 34.
#: Copied sentences are measured by their length alone. Without any preference the first sentences
#: are extracted, which are one of one and one of two; by chance they are 1/3 and 2/3 of them.
SCORES = {
    "multiq": (100, 0, 0), "use": (100 * (5 + 2) / 2 / 34, 0, 0), "summaries": (100, 0, 0),
    "sentences_ru": (100, 0, 100), "sentences_en": (100, 0, 100),
    "paragraphs_ru": (100, 0, 0), "paragraphs_en": (100, 0, 0), "extraction": (100, 75, 50),
}  # fmt: skip


class Engine(TextGenerator):
    """Lets an answerer answer; each character is a token."""

    context_length = 10**5

    def __init__(self, rows: list[Row], answerer: Answerer):
        self.rows = {row["prompt"]: row for row in rows}
        self.answerer = answerer

    def tokenizer(self, text: str, **_: Any) -> Row:
        places = [(at, at + 1) for at in range(len(text))]
        return {"input_ids": [*map(ord, text)], "offset_mapping": places}

    def generate(self, prompts, max_new_tokens, stop):
        said = [self.answerer.text(self.rows["".join(map(chr, ids))]) for ids in prompts]
        return [Output(text, len(self.encode_text(text)), "length") for text in said]

    def log_probabilities(self, context, continuations):
        before = "".join(map(chr, context))
        (row,) = (row for prompt, row in self.rows.items() if prompt.startswith(before))
        said = ["".join(map(chr, ids)).partition(": ")[2] for ids in continuations]
        return [self.answerer.likelihood(row, sentence) for sentence in said]


@pytest.mark.hub
@pytest.mark.parametrize("answerer", ANSWERERS)
def test_a_perfect_an_empty_and_a_random_answerer(repository, prompts, answerer):
    experiment = read(str(repository / "config/lep.yaml"))
    options = Generating(context_length=Engine.context_length)
    assert SCORES.keys() == prompts.keys()
    for name, rows in prompts.items():
        made = generate_task(Engine(rows, ANSWERERS[answerer]), rows, options)
        values = {one["metric"]: one["value"] for one in score_rows(rows, made, options)}
        expected = SCORES[name][[*ANSWERERS].index(answerer)]
        near = 5 if name == "extraction" else 0.01
        assert values[metric_of(experiment, f"daru_{name}", {})] == pytest.approx(
            expected, abs=near
        ), name
