"""Exams: points by rule, and grades by variant."""

from __future__ import annotations

import random

import pytest
from jobs import job_of

from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import task_scores
from revocab.evaluation.generation.kinds.darumeru import EXAM, Exam, points
from revocab.evaluation.generation.prompts import PromptJob, build_prompts
from revocab.io import write_jsonl


@pytest.mark.parametrize(
    ("rule", "right", "output", "worth"),
    [
        ("matching", "4,2,1,5", "4, 2, 1, 5", 4),
        ("matching", "4,2,1,5", "4,1,2,5", 2),
        ("matching", "4,2,1,5", "4,2,1", 0),  # as many, or nothing
        ("matching", "4,2,1,5", "", 0),
        ("text", "прийти", "Прийти.", 1),
        ("text", "какнибудь,кактонибудь", "1) как-то нибудь", 1),
        ("text", "прийти", "прийти или придти", 0),
        ("text", "прийти", "", 0),
        ("choices", "1,3", "3, 1", 1),
        ("choices", "1,3", "1", 0),
        ("choices", "1,3", "1,3,4", 0),
        ("choices", "2", "2.", 0),
        ("penalised", "1,3", "1,3", 2),
        ("penalised", "1,3", "3", 1),
        ("penalised", "1,3", "1,2", 1),
        ("penalised", "1,3", "1,3,4", 1),
        ("penalised", "1,3", "1,2,3,4,5", 0),
        ("penalised", "1,3,5", "1,3,5", 3),  # above MERA's two, as released
        ("penalised", "1,3", "", 0),
    ],
)
def test_points(rule, right, output, worth):
    assert points(rule, right, output) == worth


def paper(variant):
    """One variant of 34 points: 28 questions of one point, one of four, one of two."""
    kinds = ["text"] * 8 + ["multiple_choice"] * 20 + ["matching", "multiple_choice"]
    right = {"text": "слово", "matching": "1,2,3,4"}
    rows = [
        {"question": f"q{variant}.{at}", "type": kind, "number": 100 + at,
         "answer": right.get(kind, str(1 + at % 4)), "variant": variant}
        for at, kind in enumerate(kinds)
    ]  # fmt: skip
    return [*rows[:-1], {**rows[-1], "number": 16, "answer": "2,4"}]


OPTIONS = Exam(kind="exam", direction=["ru"], shots=0, maximum=34, penalised=["16"])


def grade(answer):
    """Return the score of two papers that ``answer`` answers, and its standard error."""
    rows = OPTIONS.usable([row for variant in (0, 1) for row in paper(variant)], "rows")
    rows = [
        {**row, "references": EXAM.right_answers(row, ["ru"]), "output": answer(row)}
        for row in rows
    ]
    (score,) = task_scores("exam", ["ru"], rows)
    return score


def test_a_perfect_an_empty_and_a_random_answerer():
    assert grade(lambda row: row["answer"])["value"] == pytest.approx(100)
    assert grade(lambda row: "")["value"] == 0
    draw = random.Random(0)
    values = [grade(lambda row: str(draw.randint(1, 4)))["value"] for _ in range(200)]
    # A quarter of twenty questions; and one of four of "2,4" in half of all cases.
    assert sum(values) / len(values) == pytest.approx(100 * (5 + 0.5) / 34, rel=0.05)


def test_a_variant_counts_as_a_whole():
    """The first paper has all of its matches right, the second one no answer: (4/34 + 0) / 2."""
    score = grade(
        lambda row: "1,2,3,4" if (row["variant"], row["rule"]) == ("0", "matching") else ""
    )
    assert score["value"] == pytest.approx(100 * 4 / 34 / 2)
    assert 0 <= score["low"] < score["value"] < score["high"]


def test_rows_keep_how_they_are_marked(tmp_path):
    rows = [{**row, "variant": 0} for row in paper(0)[-2:]]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    options = {"kind": "exam", "direction": ["ru"], "shots": 0, "seed": 1, "task": "use"}
    own = {"maximum": 34, "penalised": ["16"]}
    files = [[tmp_path / "rows.jsonl"]] * 2
    matching, penalised = build_prompts(job_of(PromptJob, **options, **own), *files)
    assert matching["prompt"] == "Вопрос: q0.28\nОтвет:"
    kept = {name: penalised["query"][name] for name in EXAM.stored}
    assert kept == {"rule": "penalised", "variant": "0", "maximum": "34"}
    with pytest.raises(RevocabError, match="limit: a variant is marked as a whole"):
        build_prompts(job_of(PromptJob, **options, **own, limit=3), *files)
    write_jsonl(tmp_path / "rows.jsonl", [{"question": "?", "answer": "1", "type": "text"}])
    with pytest.raises(RevocabError, match="row 0: no field 'number'"):
        build_prompts(job_of(PromptJob, **options, **own), *files)
