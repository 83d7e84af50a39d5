"""The verdict of `adapt`, on losses that are written by hand."""

from __future__ import annotations

import pytest

from revocab.product.compare import answer
from revocab.product.inputs import Text
from revocab.product.verdict import MOST_BYTES, pieces


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


def test_few_long_documents_are_cut_and_nothing_of_them_is_lost(tmp_path):
    file = tmp_path / "it.txt"
    document = "parola " * 2_000
    file.write_text(document + "\n\n" + document, encoding="utf-8")
    cut = pieces(Text("it", file, 2 * len(document), 2))
    assert len(cut) >= 16
    assert sum(piece.count("parola") for piece in cut) == 4_000
    assert sum(map(len, cut)) <= MOST_BYTES + 1_000
