"""The verdict of `adapt`, on losses that are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from revocab.adapting.compare import answer
from revocab.adapting.texts import Text
from revocab.adapting.verdict import (
    MOST_BYTES,
    PAGE,
    headline,
    lines,
    pieces,
    training_of,
    write_model,
    write_page,
)
from revocab.io import write_csv


def text_of(
    language: str, difference: float, width: float, *, is_new: bool = True, p: float = 0.001
):
    found = {"difference": difference, "low": difference - width, "high": difference + width}
    return {
        "language": language, "is_new": is_new, "bits_per_byte": [2.02, 2.02 + difference],
        "difference": {**found, "p_value": p, "texts": 2},
    }  # fmt: skip


WORSE = text_of("it", 0.083, 0.02)
BETTER = text_of("it", -0.1, 0.02)
KEPT = text_of("en", -0.038, 0.05, is_new=False)


@pytest.mark.parametrize(
    ("text", "is_called"),
    [
        (WORSE, "worse"),
        (BETTER, "better"),
        (KEPT, "not different"),
        (text_of("it", -0.1, 0.02, p=0.03), "not different"),  # 0.06 for two texts
        ({**BETTER, "difference": None}, "not different"),
    ],
)
def test_a_text_is_better_only_beyond_its_interval(text, is_called):
    assert answer(text) == is_called


@pytest.mark.parametrize(
    ("texts", "begins"),
    [
        ([WORSE, KEPT], "Worse"),
        ([BETTER, KEPT], "Better"),
        ([BETTER, WORSE], "Worse"),
        ([text_of("it", 0.0, 0.1), KEPT], "No difference"),
    ],
)
def test_the_headline_is_of_the_new_languages_and_has_numbers_of_all(texts, begins):
    line = headline({"texts": texts})
    assert line.startswith(begins)
    for text in texts:
        assert f"{text['difference']['difference']:+.3f} ± " in line


def test_what_is_worse_has_a_reason_with_its_numbers_and_what_to_do(tmp_path):
    losses = [5.0 - 0.01 * step for step in range(40)]
    rows = [{"step": n + 1, "tokens": 512 * (n + 1), "loss": loss} for n, loss in enumerate(losses)]
    write_csv(tmp_path / "losses.csv", ("step", "tokens", "loss"), rows)
    training = training_of(tmp_path)
    assert training["tokens"] == 20_480 and training["still_falls"]
    said = [*lines({"texts": [WORSE, KEPT], "training": training}, {"it": (2.0, 1.5)}, 4096)]
    assert any("20,480" in line and " 5 for each of 4,096" in line for line in said)
    assert any("2.00 → 1.50" in line and "-25%" in line for line in said)
    assert len([*lines({"texts": [BETTER], "training": training}, {}, 4096)]) == 1
    level = [{**row, "loss": 3.0} for row in rows]
    write_csv(tmp_path / "losses.csv", ("step", "tokens", "loss"), level)
    assert not training_of(tmp_path)["still_falls"]


def test_few_long_documents_are_cut_and_nothing_of_them_is_lost(tmp_path):
    file = tmp_path / "it.txt"
    document = "parola " * 2_000
    file.write_text(document + "\n\n" + document, encoding="utf-8")
    cut = pieces(Text("it", file, 2 * len(document), 2))
    assert len(cut) >= 16
    assert sum(piece.count("parola") for piece in cut) == 4_000
    assert sum(map(len, cut)) <= MOST_BYTES + 1_000


def test_page_and_card_begin_with_the_verdict(tmp_path):
    said = ["Worse: it", "why: <few> tokens"]
    (tmp_path / "report.html").write_text("<h1>Title</h1><p>rest</p>", encoding="utf-8")
    page = write_page(tmp_path, said).read_text(encoding="utf-8")
    assert page.index("Worse: it") < page.index("rest") and "&lt;few&gt;" in page
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == "<h1>Title</h1><p>rest</p>"
    checkpoint = tmp_path / "step-000001"
    checkpoint.mkdir()
    (checkpoint / "README.md").write_text("---\na: b\n---\n\n# Name\n\nrest\n", encoding="utf-8")
    (checkpoint / "model.safetensors").write_bytes(b"weights")
    for _ in range(2):  # the second replaces the first
        folder = write_model(checkpoint, tmp_path / "out", said)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\na: b\n---\n\n# Name\n")
    assert card.index("# Name") < card.index("**Worse: it**") < card.index("rest")
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert {Path(PAGE).suffix} == {".html"}
