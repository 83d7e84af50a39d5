"""Data sets of the tasks that lm-evaluation-harness ships, for the Hub's cache: a few rows of each.

Repositories, configurations, splits and fields are those that the installed harness's own task
files name (``lm_eval/tasks``); the contents say nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hub_content
from hub_itabench import mmlu_subjects

Row = dict[str, Any]
#: A data set: its rows by configuration, and the splits that have them.
DataSet = tuple[dict[str, Row], tuple[str, ...]]

OPTIONS = ["one", "two", "three", "four"]
LETTERS = list("ABCD")
LABELLED = {"text": OPTIONS, "label": LETTERS}
LETTERED = {"question": "Which?", **dict(zip(LETTERS, OPTIONS, strict=True)), "answer": "B"}
TRAINED, TESTED = ("train", "validation"), ("validation", "test")
TRUE_OR_NOT = {"choices": ["yes", "no"], "labels": [1, 0]}
TRANSLATED = {"query": "Which?", "label": "1"}
AEXAMS = ("Biology", "IslamicStudies", "Physics", "Science", "Social")
MMLU = {"question": "Which?", "choices": OPTIONS, "answer": 1}
PROBLEM = {"question": "Who _ ?", "answer": "C", "options": OPTIONS}
BELEBELE = (
    "eng_Latn", "swh_Latn", "ind_Latn", "est_Latn", "hat_Latn", "kor_Hang", "ell_Grek", "rus_Cyrl",
    "bul_Cyrl", "ukr_Cyrl", "kaz_Cyrl",
)  # fmt: skip
#: Fields that number the rows of a split.
NUMBERS = ("idx", "id", "question_number")


def numbered(count: int) -> Row:
    return {**TRANSLATED, **{f"sol{n}": text for n, text in enumerate(OPTIONS[:count], 1)}}


def numbered_row(row: Row, number: int) -> Row:
    """Return a row with its number; an item is no example for itself, so rows may not be equal."""
    return row | {field: type(row[field])(number) for field in NUMBERS if field in row}


ARABIC: dict[str, DataSet] = {
    "OALL/AlGhafa-Arabic-LLM-Benchmark-Translated": ({
        "mmlu_okapi_ar": numbered(4),
        "hellaswag_okapi_ar": {"ctx": "She", "endings": str(OPTIONS), "label": "1"},
        "piqa_ar": numbered(2),
        "boolq_ar": {"question": "Is it?", "passage": "It is.", "answer": True},
        "arc_challenge_okapi_ar": numbered(4),
        "openbook_qa_ext_ar": numbered(4),
    }, TESTED),
    "Hennara/aexams": (dict.fromkeys(AEXAMS, LETTERED), ("dev", "test")),
    "alexandrainst/m_truthfulqa": ({"ar": {
        "question": "Is it?",
        "mc1_targets_choices": OPTIONS[:2], "mc1_targets_labels": [1, 0],
        "mc2_targets_choices": OPTIONS[:3], "mc2_targets_labels": [1, 1, 0],
    }}, ("val",)),
}  # fmt: skip
ENGLISH: dict[str, DataSet] = {
    "EleutherAI/race": ({"high": {"article": "A story.", "problems": str([PROBLEM])}}, ("test",)),
    "Rowan/hellaswag": ({"default": {
        "ctx_a": "She sits.", "ctx_b": "she", "activity_label": "Sitting", "endings": OPTIONS,
        "label": "2",
    }}, TRAINED),
    "baber/piqa": ({"default": {"goal": "Sit", "sol1": "here", "sol2": "up", "label": 0}}, TRAINED),
    "aps/super_glue": (
        {"boolq": {"question": "is it", "passage": "It is.", "label": 1, "idx": 0}}, TRAINED
    ),
    "lighteval/siqa": ({"default": {
        "context": "She sat.", "question": "Why?", "answerA": "one", "answerB": "two",
        "answerC": "three", "label": "2",
    }}, TRAINED),
    "allenai/ai2_arc": (
        {"ARC-Challenge": {"question": "Which?", "choices": LABELLED, "answerKey": "B"}},
        ("train", *TESTED),
    ),
    "allenai/openbookqa": (
        {"main": {"question_stem": "It is", "choices": LABELLED, "answerKey": "C"}},
        ("train", *TESTED),
    ),
    "allenai/winogrande": ({"winogrande_xl": {
        "sentence": "Ann saw Eve as _ was tall.", "option1": "Ann", "option2": "Eve", "answer": "2",
    }}, TRAINED),
    "truthfulqa/truthful_qa": ({"multiple_choice": {
        "question": "Is it?", "mc1_targets": TRUE_OR_NOT, "mc2_targets": TRUE_OR_NOT,
    }}, ("validation",)),
    "jannalu/crows_pairs_multilingual": (
        {"english": {"sent_more": "One.", "sent_less": "Two.", "bias_type": "age"}}, ("test",)
    ),
}  # fmt: skip
INFERENCE = {"premise": "She sat.", "hypothesis": "She stood.", "label": 2}
CAUSE = {
    "premise": "She sat.", "choice1": "One.", "choice2": "Two.", "question": "cause", "label": 1,
    "idx": 0, "changed": False,
}  # fmt: skip
PASSAGE = {
    "link": "x", "question_number": 0, "flores_passage": "She sat.", "question": "Who?",
    **{f"mc_answer{number}": text for number, text in enumerate(OPTIONS, 1)},
    "correct_answer_num": "3", "dialect": "x", "ds": "2023-05-03",
}  # fmt: skip
INSTRUCTED = {
    "instruction": "Which?", "answer": "B", "id": "0",
    **{f"option_{letter.lower()}": text for letter, text in zip(LETTERS, OPTIONS, strict=True)},
}  # fmt: skip
MULTILINGUAL: dict[str, DataSet] = {
    "facebook/xnli": (
        dict.fromkeys(("en", "sw", "el", "ru", "bg"), INFERENCE), ("train", *TESTED)
    ),
    "cambridgeltl/xcopa": (dict.fromkeys(("sw", "id", "et", "ht"), CAUSE), TESTED),
    "facebook/belebele": (dict.fromkeys(BELEBELE, PASSAGE), ("test",)),
    "alexandrainst/m_mmlu": (
        dict.fromkeys(("en", "id", "ru", "uk"), INSTRUCTED), ("train", "val", "test")
    ),
}  # fmt: skip


def bilingual() -> dict[str, DataSet]:
    mmlu = ({subject: MMLU for subject in mmlu_subjects()}, ("dev", "test"))
    return {**ARABIC, **ENGLISH, "cais/mmlu": mmlu}


def write_data_sets(root: Path, sets: dict[str, DataSet], items: int = 2) -> None:
    for name, (configurations, splits) in sets.items():
        rows = {
            configuration: {split: [numbered_row(row, n) for n in range(items)] for split in splits}
            for configuration, row in configurations.items()
        }
        hub_content.data_set(root / "datasets" / name / "main", rows)
