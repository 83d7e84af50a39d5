"""The published values as data: complete, in our units, and equal to what the paper averages."""

from __future__ import annotations

import csv
import math

import pytest

from revocab.errors import RevocabError
from revocab.report.published import PaperValues

FAMILIES = ("hellaswag", "mmlu", "arc_easy", "piqa", "sciq", "boolq")
MISTRAL, LLAMA = "Mistral-7B-v0.1", "Llama-3.1-8B"
RUNS = {
    MISTRAL: [(0, "base")]
    + [(s, m) for s in (200, 2000) for m in ("random", "fvt", "clp", "sava", "lapt")],
    LLAMA: [(0, "base")] + [(s, m) for s in (300, 3000) for m in ("fvt", "sava", "lapt")],
}


@pytest.fixture(scope="module")
def paper(repository):
    return PaperValues(repository / "config/published/sava")


def test_reads_values_in_our_units(paper):
    value = paper.multiple_choice(MISTRAL, 200, "fvt", "hellaswag", "it")
    assert value == pytest.approx(0.5634)
    assert paper.generation(MISTRAL, 2000, "sava", "squad_it", "rougeL-released") == 67.20
    assert paper.generation(MISTRAL, 2000, "sava", "squad_it", "rougeL") is None
    assert paper.generation(LLAMA, 0, "base", "flores_it_en", "comet22") == 88.08
    assert paper.similarity(LLAMA, 3000, "sava") == pytest.approx(0.4202)
    assert paper.similarity(LLAMA, 0, "random") is None
    assert paper.parameters("LLaMa-3-8B a.w. Minerva") == "7.25B"


def test_fertility_knows_our_names(paper):
    assert paper.fertility("mistral", "wikipedia-it") == 2.05
    assert paper.fertility("minerva", "culturax-it") == 1.39
    assert paper.fertility("target", "culturax-it") is None


def test_variants_borrow_no_value(paper):
    assert paper.multiple_choice(MISTRAL, 200, "sava-lstsq", "hellaswag", "it") is None
    assert paper.multiple_choice("Mistral stand-in", 200, "sava", "hellaswag", "it") is None


def test_every_printed_cell_is_there(paper):
    for model, runs in RUNS.items():
        for step, method in runs:
            for language in ("it", "en"):
                for family in (*FAMILIES, "avg"):
                    cell = paper.multiple_choice(model, step, method, family, language)
                    assert cell is not None, (model, step, method, family, language)
                    assert 0.3 < cell < 1
            for task, metric in (("flores_en_it", "comet22"), ("squad_it", "rougeL-released")):
                assert paper.generation(model, step, method, task, metric) is not None


def printed_rows():
    """Yield every row of the printed multiple-choice tables."""
    for model, runs in RUNS.items():
        for step, method in runs:
            for language in ("it", "en"):
                yield model, step, method, language


def hundredths(cell) -> int:
    """Return a printed accuracy in hundredths of a per cent, as an exact number."""
    return round(cell * 10_000)


def test_printed_averages_are_means_cut_after_two_decimals(paper):
    rounded = []
    for *place, language in printed_rows():
        total = sum(hundredths(paper.multiple_choice(*place, one, language)) for one in FAMILIES)
        printed = hundredths(paper.multiple_choice(*place, "avg", language))
        if printed != total // 6:
            assert printed == round(total / 6)
            rounded.append((*place, language))
    # Whose scores had more decimals than are printed.
    assert rounded == [(LLAMA, 300, "sava", "it"), (LLAMA, 3000, "sava", "it")]


#: Test items of the sets by which the printed errors were computed.
ITEMS = {"hellaswag": 10042, "mmlu": 14042, "arc_easy": 2322, "piqa": 1615, "sciq": 958,
         "boolq": 3270}  # fmt: skip
#: Printed errors that do not follow from score and items (docs/papers/sava.md), in per cent.
OTHER_ERRORS = {
    (MISTRAL, 0, "base", "it", "piqa"): 1.14,
    (MISTRAL, 0, "base", "en", "arc_easy"): 0.94,
    (MISTRAL, 0, "base", "en", "sciq"): 0.80,
    (MISTRAL, 0, "base", "en", "boolq"): 0.78,
    (MISTRAL, 200, "sava", "en", "arc_easy"): 0.94,
    (LLAMA, 0, "base", "en", "arc_easy"): 0.47,
    (LLAMA, 3000, "fvt", "en", "piqa"): 1.15,
}


def test_printed_errors_follow_from_scores_and_items_but_for_seven(repository):
    found = {}
    for path in sorted((repository / "config/published/sava").glob("*_multichoice.csv")):
        language = "it" if "_it_" in path.name else "en"
        for row in csv.DictReader(path.open(encoding="utf-8")):
            if row["task"] == "avg":
                continue
            score, error = float(row["score_percent"]) / 100, float(row["stderr"]) / 100
            expected = math.sqrt(score * (1 - score) / (ITEMS[row["task"]] - 1))
            if abs(error - expected) > 0.00025:
                place = row["source_model"], int(row["step"]), row["method"], language
                found[*place, row["task"]] = round(100 * error, 2)
    assert found == OTHER_ERRORS


def test_equals_the_shared_values(repository, shared_folder):
    for path in sorted((shared_folder / "paper_values").glob("*.csv")):
        assert (repository / "config/published/sava" / path.name).read_bytes() == path.read_bytes()


def test_wrong_folders_are_named(tmp_path):
    with pytest.raises(RevocabError, match="no CSV"):
        PaperValues(tmp_path)
    with (tmp_path / "table.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([["a", "b"], ["1", "2"]])
    with pytest.raises(RevocabError, match="unknown columns a, b"):
        PaperValues(tmp_path)
    assert not PaperValues(None)
