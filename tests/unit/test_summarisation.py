"""Summaries: ROUGE-1 and ROUGE-2 by hand, and how rows ask for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of

from revocab.evaluation.generation.generate import task_scores
from revocab.evaluation.generation.prompts import PromptJob, build_prompts
from revocab.io import write_jsonl


def scores(output, reference):
    rows = [{"output": output, "references": [reference]}]
    return {row["metric"]: row["value"] for row in task_scores("summarisation", ["ru"], rows)}


def test_rouge_by_hand():
    """Of "кот спит на окне" come back кот, спит, на; of its pairs кот спит, спит на."""
    found = scores("Кот спит на полу — дома.", "«Кот спит на окне»")
    recall = (3 / 4, 2 / 3)
    precision = (3 / 5, 2 / 4)
    f = [2 * r * p / (r + p) for r, p in zip(recall, precision, strict=True)]
    assert found["rouge_recall"] == pytest.approx(100 * sum(recall) / 2)
    assert found["rouge_f"] == pytest.approx(100 * sum(f) / 2)


def test_a_perfect_an_empty_and_a_long_answer():
    text = "Дороги закрыты из-за снега."
    assert scores(text, text) == {"rouge_recall": 100, "rouge_f": 100}
    assert scores("", text) == {"rouge_recall": 0, "rouge_f": 0}
    found = scores(f"{text} " * 9, text)  # recall does not mind length
    assert found["rouge_recall"] == 100 and found["rouge_f"] < 25


@given(st.lists(st.sampled_from("абвгд"), min_size=2, max_size=12),
       st.lists(st.sampled_from("абвгд"), max_size=12))  # fmt: skip
def test_the_mean_of_both_by_counting(right, said):
    def recall(size):
        grams = [[tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
                 for words in (right, said)]  # fmt: skip
        wanted, written = grams
        return sum(min(wanted.count(g), written.count(g)) for g in {*wanted}) / len(wanted)

    found = scores(" ".join(said), " ".join(right))["rouge_recall"]
    assert found == pytest.approx(100 * (recall(1) + recall(2)) / 2)


def test_lists_of_sentences_are_texts(tmp_path):
    rows = [{"text": [f"Снег {n}.", "Дороги\nзакрыты."], "summary": [f"Снег {n}."]} for n in (0, 1)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    job = job_of(PromptJob, 
        task="gazeta", kind="summarisation", direction=["ru"], shots=1, seed=1,
        layout={"instruction": "Кратко!"},
    )  # fmt: skip
    first = build_prompts(job, *[[tmp_path / "rows.jsonl"]] * 2)[0]
    assert first["prompt"] == (
        "Кратко!\nТекст: Снег 1. Дороги закрыты.\nTL;DR: Снег 1.\n\n"
        "Кратко!\nТекст: Снег 0. Дороги закрыты.\nTL;DR:"
    )
    assert first["references"] == ["Снег 0."]
