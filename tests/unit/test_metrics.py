"""Metrics of generated text against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.evaluation.generation.generate import task_scores
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.metrics import (
    ROUGE_L,
    WordTokenizer,
    exact_match,
    normalise_answer,
    token_f1,
)


def answered(**references):
    """Return the output rows of answers and what would have been right."""
    return [{"output": output, "references": right} for output, right in references.items()]


def test_accents_survive_tokenisation():
    words = WordTokenizer().tokenize("Perché la CITTÀ è così?")
    assert words == ["perché", "la", "città", "è", "così"]
    assert WordTokenizer().tokenize("citta\u0300") == ["città"]  # decomposed


def test_rouge_l_by_hand():
    # Longest common subsequence: il gatto sul tappeto (4). Precision 4/5, recall 4/6.
    pairs = [
        ("il gatto dorme sul tappeto", "il gatto nero siede sul tappeto"), ("papà", "papa")
    ]  # fmt: skip
    rows = [{"output": output, "references": [right]} for output, right in pairs]
    first, second = ROUGE_L.items(rows, ["it"]).counts_NK[:, 0]
    assert first == pytest.approx(100 * 2 * (4 / 5) * (4 / 6) / (4 / 5 + 4 / 6))
    assert second == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'imperatore Adriano.", ["imperatore", "adriano"]),
        ("l' imperatore", ["imperatore"]),
        ("un’altra  città", ["altra", "città"]),
        ("Nel 1985!", ["nel", "1985"]),
        ("gli Uno", []),
        ("a Roma", ["a", "roma"]),
        ("U.S.A.", ["usa"]),
        ("1914-1918", ["19141918"]),
        ("1.500 uomini", ["1500", "uomini"]),
        ("dell'acqua", ["dellacqua"]),
        ("l.a. confidential", ["confidential"]),
        ("“Il” «gatto»", ["gatto"]),
    ],
)
def test_italian_answers_are_normalised(text, words):
    assert normalise_answer(text, "it") == words


def test_articles_are_those_of_the_language():
    assert normalise_answer("The il a", "en") == ["il"]
    assert normalise_answer("The il a", "ru") == normalise_answer("The il a", "xx")
    assert normalise_answer("The il a", "ru") == ["the", "il", "a"]


def test_exact_match_ignores_articles_case_and_punctuation():
    assert exact_match("Il fornaio.", "fornaio", "it") == 1
    assert exact_match("la fornaia", "fornaio", "it") == 0


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        # Shared: pane, fresco. Output 3 words, reference 4.
        ("pane fresco oggi", "il pane molto fresco caldo", 2 * 2 / 7),
        ("pane pane", "pane", 2 / 3),  # a repeated word counts once
        ("", "pane", 0),
        ("il", "la", 1),
    ],
)
def test_f1_by_hand(output, reference, expected):
    assert token_f1(output, reference, "it") == pytest.approx(expected)


def test_english_answers_are_those_of_squad():
    """As SQuAD's own script has them: punctuation goes before articles do."""
    assert normalise_answer("A.C. Milan, the club", "en") == ["ac", "milan", "club"]
    assert normalise_answer("O'Neill's", "en") == ["oneills"]


def test_released_rouge_knows_the_first_answer_and_plain_letters():
    rows = [{"output": "la città", "references": ["la citta", "la città"]}]
    scores = {
        row["metric"]: row["value"] for row in task_scores("question_answering", ["it"], rows)
    }
    assert scores["rougeL"] == 100
    # "la citt" against "la citta": one word of two.
    assert scores["rougeL-released"] == pytest.approx(50)


def test_best_reference_and_standard_error():
    rows = answered(a=["z", "a"], b=["b"], x=["y"])
    scores = {row["metric"]: row for row in task_scores("question_answering", ["it"], rows)}
    score = scores["exact_match"]
    assert score["value"] == pytest.approx(200 / 3)
    # Sample variance of 100, 100, 0 is 10000/3; divided by 3 items.
    assert score["stderr"] == pytest.approx(math.sqrt(10000 / 9))


def test_one_item_has_no_standard_error():
    score = task_scores("question_answering", ["it"], answered(a=["a"]))[1]
    assert (score["value"], score["stderr"], score["low"]) == (100, None, None)


def test_perfect_translation_scores_100_and_comet_says_why_it_is_empty():
    text = "il gatto dorme sul tappeto"
    rows = [{"output": text, "references": [text]}]
    scores = {row["metric"]: row for row in task_scores("translation", ["en", "it"], rows)}
    assert scores["chrf++"]["value"] == pytest.approx(100)
    assert scores["bleu"]["value"] == pytest.approx(100)
    assert scores["comet22"]["value"] is None
    assert scores["comet22"]["reason"] == "comet not configured"


def test_the_mean_of_f1_and_exact_match_takes_the_best_of_each():
    """F1 1 and EM 1; F1 4/5, two of three words, and no match; nothing said."""
    rows = [
        {"output": "В Москве.", "references": ["москва", "в москве"]},
        {"output": "городе Москве", "references": ["в городе Москве", "Москва", "х"]},
        {"output": "", "references": ["Москва"]},
    ]
    found = find_kind("question_answering").items(rows, ["ru"])
    assert found["f1_exact_match"].value() == pytest.approx(100 * (1 + 0.8 / 2 + 0) / 3)
    constant = find_kind("question_answering").items(
        [{**row, "output": "и"} for row in rows], ["ru"]
    )
    assert constant["f1_exact_match"].value() == 0


def test_comet_is_scored_apart():
    rows = [{"output": "a", "references": ["a"]}]
    assert "comet.csv" in task_scores("translation", ["en", "it"], rows, "org/comet")[-1]["reason"]


def test_corpus_metrics_have_intervals():
    texts = ["il gatto dorme sul tappeto", "il cane corre nel parco", "piove forte"]
    wanted = ["il gatto dorme sul divano", "il cane corre nel bosco", "piove forte"]
    rows = [{"output": o, "references": [r]} for o, r in zip(texts, wanted, strict=True)]
    for score in task_scores("translation", ["en", "it"], rows)[:2]:
        assert score["low"] < score["value"] < score["high"]
        assert score["stderr"] > 0


def test_copying_by_hand():
    rows = [
        {"reference_tokens": 10, "output_tokens": 12, "copied_tokens": 10},
        {"reference_tokens": 200, "output_tokens": 200, "copied_tokens": 199},
        {"reference_tokens": 100, "output_tokens": 98, "copied_tokens": 99},
    ]
    said = {"finish_reason": "blank_line", "output": "x", "references": ["x"]}
    rows = [{**row, **said, "writable_tokens": row["reference_tokens"]} for row in rows]
    items = find_kind("copying").items(rows, ["it"])
    assert items["copy_ratio"].value() == pytest.approx(100 * 310 / 310)
    assert items["copied"].value() == pytest.approx(200 / 3)  # 99 of 100 is not more than 99 %


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_answer_scores_stay_within_bounds(pairs):
    rows = [{"output": output, "references": [reference]} for output, reference in pairs]
    for items in find_kind("question_answering").items(rows, ["it"]).values():
        assert 0 <= items.value() <= 100 + 1e-9


@given(st.text(max_size=30))
def test_every_answer_matches_itself(text):
    assert exact_match(text, text, "it") == 1
    assert token_f1(text, text, "it") == pytest.approx(1)
