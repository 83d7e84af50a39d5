"""The published values as data: complete, in our units, and equal to what the paper averages."""

from __future__ import annotations

import csv

import pytest

from revocab.errors import RevocabError
from revocab.report.paper_values import PaperValues

FAMILIES = ("hellaswag", "mmlu", "arc_easy", "piqa", "sciq", "boolq")
MISTRAL, LLAMA = "Mistral-7B-v0.1", "Llama-3.1-8B"
RUNS = {
    MISTRAL: [(0, "base")]
    + [(s, m) for s in (200, 2000) for m in ("random", "fvt", "clp", "sava", "lapt")],
    LLAMA: [(0, "base")] + [(s, m) for s in (300, 3000) for m in ("fvt", "sava", "lapt")],
}


@pytest.fixture(scope="module")
def paper(repository):
    return PaperValues(repository / "config" / "paper")


def test_reads_values_in_our_units(paper):
    value = paper.multiple_choice(MISTRAL, 200, "fvt", "hellaswag", "it")
    assert value.value == pytest.approx(0.5634)
    assert value.stderr == pytest.approx(0.0049)
    assert paper.generation(MISTRAL, 2000, "sava", "squad_it", "rougeL-released").value == 67.20
    assert paper.generation(MISTRAL, 2000, "sava", "squad_it", "rougeL") is None
    assert paper.generation(LLAMA, 0, "base", "flores_it_en", "comet22").value == 88.08
    assert paper.similarity(LLAMA, 3000, "sava").value == pytest.approx(0.4202)
    assert paper.similarity(LLAMA, 0, "random") is None
    assert paper.parameters("LLaMa-3-8B a.w. Minerva") == "7.25B"


def test_fertility_knows_our_names(paper):
    assert paper.fertility("mistral", "wikipedia-it").value == 2.05
    assert paper.fertility("minerva", "culturax-it").value == 1.39
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
                    assert 0.3 < cell.value < 1
                    assert (cell.stderr is None) == (family == "avg")
            for task, metric in (("flores_en_it", "comet22"), ("squad_it", "rougeL-released")):
                assert paper.generation(model, step, method, task, metric) is not None


def test_printed_averages_are_means(paper):
    for model, runs in RUNS.items():
        for step, method in runs:
            for language in ("it", "en"):
                scores = [
                    paper.multiple_choice(model, step, method, family, language).value
                    for family in FAMILIES
                ]
                printed = paper.multiple_choice(model, step, method, "avg", language).value
                # Rounding of the printed mean, and of what it was computed from.
                assert printed == pytest.approx(sum(scores) / 6, abs=0.00011)


def test_equals_the_shared_values(repository, shared_folder):
    for path in sorted((shared_folder / "paper_values").glob("*.csv")):
        assert (repository / "config" / "paper" / path.name).read_bytes() == path.read_bytes()


def test_wrong_folders_are_named(tmp_path):
    with pytest.raises(RevocabError, match="no CSV"):
        PaperValues(tmp_path)
    with (tmp_path / "table.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([["a", "b"], ["1", "2"]])
    with pytest.raises(RevocabError, match="unknown columns a, b"):
        PaperValues(tmp_path)
    assert not PaperValues(None)
