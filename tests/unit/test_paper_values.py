"""The published values as data: complete, in our units, and equal to what the paper averages."""

from __future__ import annotations

import csv
import math
from collections import Counter

import pytest

from revocab.errors import RevocabError
from revocab.io import read_csv
from revocab.report.published import SCORES, PaperValues, score_place

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


def test_values_are_as_printed(paper):
    def score(*place):
        return paper.value(*score_place(*place))

    assert score(MISTRAL, 200, "fvt", "hellaswag_it") == 56.34
    assert score(LLAMA, 3000, "sava", "average_en") == 75.33
    assert score(MISTRAL, 2000, "sava", "squad_it rougeL-released") == 67.20
    assert score(MISTRAL, 2000, "sava", "squad_it rougeL") is None
    assert score(LLAMA, 0, "base", "flores_it_en comet22") == 88.08
    assert score(LLAMA, 3000, "sava", "similarity_helper") == 42.02
    assert score(LLAMA, 0, "random", "similarity_helper") is None
    assert paper.value("", "LLaMa-3-8B a.w. Minerva", "Parameters") == 7.25e9
    assert paper.value("", "LLaMa-3-8B", "Vocabulary") == 128256
    assert paper.value("", "mistral", "Italian wikipedia-it") == 2.05
    assert paper.value("", "minerva", "Italian culturax-it") == 1.39
    assert paper.value("", "target", "Italian culturax-it") is None


def test_variants_borrow_no_value(paper):
    assert paper.value(*score_place(MISTRAL, 200, "sava-lstsq", "hellaswag_it")) is None
    assert paper.value(*score_place("Mistral stand-in", 200, "sava", "hellaswag_it")) is None


def test_every_printed_value_is_there(repository, paper):
    assert Counter(cell.table for cell in paper.cells("table01")) == {"table01": 8}
    assert Counter(cell.table for cell in paper.cells("table02")) == {"table02": 12}
    scores = {cell.place: cell.value for cell in paper.cells(SCORES)}
    assert sum(value is not None for value in scores.values()) == 338 - 8 - 12
    for model, runs in RUNS.items():
        for step, method in runs:
            texts = ["flores_en_it comet22", "flores_it_en comet22", "squad_it rougeL-released"]
            for language in ("it", "en"):
                for family in (*FAMILIES, "average"):
                    place = score_place(model, step, method, f"{family}_{language}")
                    assert 30 < scores.pop(place) < 100, place
            for column in texts:
                assert scores.pop(score_place(model, step, method, column)) is not None
    assert {column for *_, column in scores} == {"similarity_helper"}
    values = {
        paper: sum(bool(row["value"]) for file in folder.glob("*.csv") for row in read_csv(file))
        for folder in (repository / "config/published").iterdir()
        if (paper := folder.name)
    }
    assert values == {"sava": 338, "bilingual": 384, "lep": 357, "vocadt": 578}


def test_printed_averages_are_means_cut_after_two_decimals(paper):
    def hundredths(*place) -> int:
        """Return a printed accuracy in hundredths of a per cent, as an exact number."""
        return round(100 * paper.value(*score_place(*place)))

    rounded = []
    for model, runs in RUNS.items():
        for run in runs:
            for language in ("it", "en"):
                place = model, *run
                total = sum(hundredths(*place, f"{family}_{language}") for family in FAMILIES)
                printed = hundredths(*place, f"average_{language}")
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
    score_place(MISTRAL, 0, "base", "piqa_it"): 1.14,
    score_place(MISTRAL, 0, "base", "arc_easy_en"): 0.94,
    score_place(MISTRAL, 0, "base", "sciq_en"): 0.80,
    score_place(MISTRAL, 0, "base", "boolq_en"): 0.78,
    score_place(MISTRAL, 200, "sava", "arc_easy_en"): 0.94,
    score_place(LLAMA, 0, "base", "arc_easy_en"): 0.47,
    score_place(LLAMA, 3000, "fvt", "piqa_en"): 1.15,
}


def test_printed_errors_follow_from_scores_and_items_but_for_seven(paper):
    found, known = {}, 0
    for cell in paper.cells(SCORES):
        items = ITEMS.get(cell.column.rpartition("_")[0])
        if items is None:
            continue
        score, error = cell.value / 100, cell.stderr / 100
        known += 1
        if abs(error - math.sqrt(score * (1 - score) / (items - 1))) > 0.00025:
            found[cell.place] = cell.stderr
    assert known == 216 and found == OTHER_ERRORS


#: What the shared files call what has another name here.
NAMES = {"Mistral-7B-v0.1": "mistral", "Minerva": "minerva", "LLaMa-3-8B": "llama"}
COLUMNS = {"squad_it_rougeL": "squad_it rougeL-released", "avg": "average"}
UNITS = {"B": 1e9}


def shared_values(path):
    """Yield the place, value and error of every number of a shared file."""
    language = "it" if "_it_" in path.name else "en"
    for row in csv.DictReader(path.open(encoding="utf-8")):
        score = row.get("source_model"), row.get("step"), row.get("method")
        if "task" in row:
            column = f"{COLUMNS.get(row['task'], row['task'])}_{language}"
            yield score_place(*score, column), row["score_percent"], row["stderr"]
        elif "task_metric" in row:
            name = row["task_metric"]
            column = COLUMNS.get(name, name.replace("_comet22", " comet22"))
            yield score_place(*score, column), row["score"], ""
        elif "similarity_percent" in row:
            yield score_place(*score, "similarity_helper"), row["similarity_percent"], ""
        elif "corpus" in row:
            corpus = row["corpus"].replace("_", "-")
            column = f"{'Italian' if corpus.endswith('it') else 'English'} {corpus}"
            yield ("", NAMES[row["tokenizer"]], column), row["fertility_tokens_per_word"], ""
        else:
            yield ("", row["model"], "Vocabulary"), row["vocabulary_size"], ""
            count = float(row["parameters"][:-1]) * UNITS[row["parameters"][-1]]
            yield ("", row["model"], "Parameters"), round(count), ""


def test_equals_the_shared_values(paper, shared_folder):
    files = sorted((shared_folder / "paper_values").glob("*.csv"))
    shared = {
        place: (float(value) if value else None, float(error) if error else None)
        for path in files
        for place, value, error in shared_values(path)
    }
    cells = [cell for table in ("table01", "table02", SCORES) for cell in paper.cells(table)]
    assert shared == {cell.place: (cell.value, cell.stderr) for cell in cells}
    assert len(cells) == 342  # four of which are dashes


def test_wrong_folders_are_named(tmp_path):
    with pytest.raises(RevocabError, match="no CSV"):
        PaperValues(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("model,vocabulary_size,parameters\nx,1,1B\n")
    with pytest.raises(RevocabError) as caught:
        PaperValues(tmp_path)
    for name, problem in zip(("a.csv", "b.csv"), caught.value.problems, strict=True):
        assert problem.startswith(f"{tmp_path / name}: ") and "vocabulary_size" in problem
    assert not PaperValues(None)
