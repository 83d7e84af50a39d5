"""The asymmetric start: by hand, their properties, and a plain loop over toy models."""

from __future__ import annotations

import statistics
import unicodedata
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of
from method_inputs import SOURCE, make, new_rows, random_inputs
from toy_folders import adapt, shared_pairs

from revocab.errors import RevocabError
from revocab.initialise.options import ChosenMethod
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.vocabulary.tokenizers.load import load_tokenizer

TEXTS = {0: " a", 1: "bc", 2: ""}


def inputs_by_hand(matrix):
    """Return inputs for a matrix; ``tied`` is the one of a model that has no other."""
    which = {"matrix": "input", "tied": True} if matrix == "tied" else {"matrix": matrix}
    return make(
        SOURCE, pieces={2: [0, 2]}, source_text=TEXTS.get, target_text=lambda _: "ab", **which
    )


# Source rows (1, 0), (0, 2) and (3, 4); the new token is the first and the third of them. ---------

#: Options, matrix and the new row.
BY_HAND = [
    # The mean is (2, 2); rows in Latin, " a" and "bc", have the norms 1 and 2.
    ({}, "input", [1.5 / 2**0.5, 1.5 / 2**0.5]),
    # No row in Greek: the median norm of all, 1, 2 and 5.
    ({"script": "Greek"}, "input", [2**0.5, 2**0.5]),
    # Two characters, and none, which counts as one.
    ({}, "output", [5 / 3, 4 / 3]),
    ({}, "tied", [5 / 3, 4 / 3]),
]


@pytest.mark.parametrize(("options", "matrix", "row"), BY_HAND)
def test_new_rows_by_hand(options, matrix, row):
    rows = new_rows("asymmetric", inputs_by_hand(matrix), **options)
    assert rows.tolist()[0] == pytest.approx(row, rel=1e-5)


def test_the_norm_and_its_rows_are_noted():
    inputs = inputs_by_hand("input")
    new_rows("asymmetric", inputs)
    noted = {key: inputs.notes[key] for key in ("script", "rows_in_script", "norm")}
    assert noted == {"script": "Latin", "rows_in_script": 2, "norm": 1.5}


def test_no_script_of_unicode_is_refused():
    with pytest.raises(RevocabError, match="script: 'Latn1' is no script"):
        job_of(ChosenMethod, method="asymmetric", script="Latn1")


# Properties. -------------------------------------------------------------------------------------

pieces = st.lists(st.integers(0, 24), min_size=1, max_size=9)


def inputs_of(listed, **keys):
    """Return inputs whose missing tokens all have the pieces ``listed``."""
    return replace(random_inputs(missing=2), pieces=lambda _: listed, **keys)


@given(pieces, st.floats(0.125, 8))
def test_calibrated_rows_point_where_means_do_and_follow_the_source_in_size(listed, size):
    inputs = inputs_of(listed, source_text=lambda row: "ж" if row % 3 else "a")
    rows_ND = new_rows("asymmetric", inputs, script="Cyrillic")
    means_ND = new_rows("fvt", inputs)
    cosines = torch.cosine_similarity(rows_ND.double(), means_ND.double())
    assert cosines.tolist() == pytest.approx([1, 1], abs=1e-5)
    norms = [row.norm().item() for place, row in enumerate(inputs.source_VD) if place % 3]
    assert rows_ND.norm(dim=1).tolist() == pytest.approx([statistics.median(norms)] * 2, rel=1e-4)
    larger = replace(inputs, source_VD=size * inputs.source_VD)
    torch.testing.assert_close(new_rows("asymmetric", larger, script="Cyrillic"), size * rows_ND)


@given(pieces, st.integers(0, 5))
def test_pieces_of_one_length_have_their_plain_mean_in_the_head(listed, length):
    inputs = inputs_of(listed, matrix="output", source_text=lambda _: "x" * length)
    torch.testing.assert_close(new_rows("asymmetric", inputs), new_rows("fvt", inputs))


# Beside a plain loop that reads spellings from the tokenizers' files. ----------------------------


def length_of(piece):
    return 1 if piece.startswith("<0x") else len(piece)


def is_latin(piece):
    letters = [sign for sign in piece if sign.isalpha() and not piece.startswith("<")]
    return bool(letters) and all("LATIN" in unicodedata.name(sign) for sign in letters)


def plain_row(which, rows_VD, ids, strings, norm):
    weights = [1.0] * len(ids)
    if which == "output":
        weights = [length_of(strings[number]) for number in ids]
    row_D = sum(weight * rows_VD[number] for weight, number in zip(weights, ids, strict=True))
    row_D = row_D / sum(weights)
    return row_D * norm / row_D.norm() if which == "input" else row_D


@pytest.mark.parametrize("source", ["untied", "tied"])
def test_a_folder_equals_a_plain_loop(toys, tmp_path, source):
    out = adapt(toys, tmp_path / "out", source=source, method="asymmetric")
    old, new = (load_tokenizer(toys / f"{side}-tokenizer") for side in ("source", "target"))
    strings = old.convert_ids_to_tokens([*range(len(old))])
    missing = sorted({*range(len(new))} - {*shared_pairs(toys)[0].tolist()})
    assert len(missing) > 5
    for which in ("input", "output")[: 2 if source == "untied" else 1]:
        rows_VD = ModelFolder(toys / source).matrix(which, len(old)).double()
        own_VD = ModelFolder(out).matrix(which, len(new))
        role = "output" if source == "tied" else which
        latin = [rows_VD[n].norm().item() for n, piece in enumerate(strings) if is_latin(piece)]
        for token in missing:
            spelling = new.convert_ids_to_tokens(token)
            ids = [piece.id for piece in old.backend_tokenizer.model.tokenize(spelling)]
            expected_D = plain_row(role, rows_VD, ids, strings, statistics.median(latin))
            torch.testing.assert_close(
                own_VD[token], expected_D.to(own_VD.dtype), rtol=0.01, atol=1e-5
            )
    noted = read_json(out / "diagnostics.json")["matrices"]["input"]["method"]
    assert noted.get("script") == (None if source == "tied" else "Latin")
