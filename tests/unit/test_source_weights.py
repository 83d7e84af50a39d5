"""Which source rows make up new rows: VocADT's first adapter by hand, and what methods say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from method_inputs import make, new_rows, random_inputs
from toy_folders import adapt
from toy_vocabularies import byte_level, wordpiece

from revocab.errors import RevocabError
from revocab.initialise.method import methods
from revocab.initialise.options import find_method
from revocab.initialise.reading.vocabularies import SourceSpelling
from revocab.initialise.rows.source_weights import (
    FILE,
    TENSORS,
    SourceWeights,
    read_source_weights,
    with_shared,
    write_source_weights,
)
from revocab.initialise.target_matrix import fill
from revocab.models.folder import ModelFolder
from revocab.vocabulary.tokenizers.canonical import CanonicalToken
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

SAYING = [name for name, method in methods().items() if method.source_weights is not None]


def weights_of(name, inputs):
    method = find_method(name)
    return with_shared(method.source_weights(inputs, method.options()), inputs)


def by_hand(**keys):
    """Four source tokens, five target tokens: two shared, two spelt, one that cannot be spelt."""
    return make(
        [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0], [5.0, -1.0]],
        overlap=((1, 3), (4, 0)),
        missing=(0, 2, 3),
        pieces={0: [1, 2, 1], 2: [2], 3: [0]},
        spelt=lambda token: token != 3,
        **keys,
    )


def test_the_first_adapter_by_hand():
    dense_NV = weights_of("vocadt", by_hand()).dense(slice(0, 5))
    # Token 0 is piece 1 twice and piece 2 once; 1 and 4 are shared; 2 is one piece.
    third = 1 / 3
    expected = [[0, 2 * third, third, 0], [0, 0, 0, 1], [0, 0, 1, 0], None, [1, 0, 0, 0]]
    for number, row in enumerate(expected):
        assert row is None or dense_NV[number].tolist() == pytest.approx(row)
    assert (dense_NV[3] > 0).all() and dense_NV[3].sum().item() == pytest.approx(1)


def test_rows_are_those_of_fvt_but_for_what_cannot_be_spelt():
    inputs = by_hand()
    ours, fvt = new_rows("vocadt", inputs), new_rows("fvt", inputs)
    assert torch.equal(ours[:2], fvt[:2]) and not torch.equal(ours[2], fvt[2])
    assert inputs.notes["tokens_drawn"] == 1
    drawn_V = weights_of("vocadt", inputs).dense(slice(3, 4))[0]
    torch.testing.assert_close(ours[2], drawn_V @ inputs.source_VD)


def test_draws_follow_seed_and_matrix():
    drawn = [
        weights_of("vocadt", by_hand(**keys)).dense(slice(3, 4))
        for keys in ({}, {}, {"seed": 1}, {"matrix": "output"})
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], drawn[3])


@pytest.mark.parametrize("name", SAYING)
def test_weights_times_source_rows_are_the_rows(name):
    """Pieces that repeat and pieces that are missing are among them, and rows of zeros."""
    inputs = replace(random_inputs(), spelt=lambda token: token % 4 > 0)
    zeros = {piece for token in inputs.missing_N.tolist()[:3] for piece in inputs.pieces(token)}
    inputs.source_VD[[*zeros]] = 0
    weights = weights_of(name, inputs)
    rows = len(weights)
    assert rows == inputs.target_rows
    method = find_method(name)
    filled_ND = fill(inputs.source_VD, inputs, method, method.options())
    product_ND = torch.cat(
        [weights.dense(part) @ inputs.source_VD for part in (slice(0, 30), slice(30, rows))]
    )
    torch.testing.assert_close(product_ND, filled_ND)
    copied_ND = inputs.source_VD[weights.source_of_shared()]
    assert torch.equal(copied_ND, filled_ND[weights.shared_S])


def test_a_folder_holds_the_weights_of_both_matrices(toys, tmp_path):
    out = adapt(toys, tmp_path / "out", method="vocadt")
    model, source = ModelFolder(out), ModelFolder(toys / "untied")
    found = read_source_weights(out)
    assert [*found] == ["input", "output"]
    for which, weights in found.items():
        source_VD = source.matrix(which, weights.source_rows).float()
        product_ND = weights.dense(slice(0, len(weights))) @ source_VD
        stored_ND = model.matrix(which, len(weights))
        torch.testing.assert_close(product_ND.to(stored_ND.dtype), stored_ND, rtol=0.01, atol=1e-6)
    fvt = adapt(toys, tmp_path / "fvt")
    for which, weights in found.items():
        rows = len(weights)
        assert torch.equal(model.matrix(which, rows), ModelFolder(fvt).matrix(which, rows))


def test_a_tied_model_has_one_and_a_method_that_does_not_say_none(toys, tmp_path):
    assert [*read_source_weights(adapt(toys, tmp_path / "out", source="tied"))] == ["input"]
    with pytest.raises(RevocabError, match=r"no source_weights\.npz, from which"):
        read_source_weights(adapt(toys, tmp_path / "mean", method="mean"))


@pytest.mark.parametrize("method", ["fvt", "vocadt"])
def test_the_card_says_which_row_stands_for_a_special_token(toys, tmp_path, method):
    """VocADT's mixture is for texts: a special token without a counterpart begins as <unk>."""
    target = load_tokenizer(toys / "target-tokenizer")
    target.add_special_tokens({"extra_special_tokens": ["<|call|>"]})
    write_tokenizer(target, tmp_path / "target")
    out = adapt(toys, tmp_path / "out", method=method, target_tokenizer=tmp_path / "target")
    said = f"begin as '<unk>': {len(target) - 1} <|call|>;"
    assert said in (out / "README.md").read_text(encoding="utf-8")
    source = load_tokenizer(toys / "source-tokenizer")
    found = read_source_weights(out)["input"].dense(slice(len(target) - 1, len(target)))[0]
    assert found.nonzero()[:, 0].tolist() == [source.unk_token_id]


def test_what_is_written_is_read(tmp_path):
    first = SourceWeights.of([{3: 0.5, 1: 0.5}, torch.tensor([0.25, 0.75, 0, 0]), {}], 4)
    write_source_weights(tmp_path, {"input": first})
    second = read_source_weights(tmp_path)["input"]
    assert all(torch.equal(getattr(first, key), getattr(second, key)) for key in TENSORS)
    assert second.dense(slice(1, 3)).tolist() == [[0.25, 0.75, 0, 0], [0, 0, 0, 0]]


def written(folder, weights):
    """Write weights, and return the arrays in their file."""
    write_source_weights(folder, {"input": weights})
    with np.load(folder / FILE) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("damage", ["cut", "pickled", "lacking", "empty"])
def test_a_damaged_file_is_named(tmp_path, damage):
    """And nothing in it is run."""
    file, kept = tmp_path / FILE, written(tmp_path, SourceWeights.of([{0: 1.0}], 1))
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-30])
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "pickled":
        np.savez(file, **{**kept, "input.weight_K": np.array([{}], dtype=object)})
    else:
        del kept["input.shared_S"]
        np.savez(file, **kept)
    with pytest.raises(RevocabError, match=r"source_weights\.npz: damaged \(.* 'revocab init'"):
        read_source_weights(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("starts_N", [0, 2, 1], "rows do not begin"),
        ("starts_N", [0, 1, 3], "3 entries, but 2 ids and 2 weights"),
        ("source_K", [0, 4], "source rows beyond the 4"),
        ("source_K", [0, -1], "source rows beyond the 4"),
        ("weight_K", [1.0, np.nan], "not finite"),
        ("shared_S", [2], "shared rows beyond the 2"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, name, value, said):
    kept = written(tmp_path, SourceWeights.of([{0: 1.0}, {3: 1.0}], 4))
    kept[f"input.{name}"] = np.array(value, dtype=kept[f"input.{name}"].dtype)
    np.savez(tmp_path / FILE, **kept)
    with pytest.raises(RevocabError, match=rf"source_weights\.npz: damaged \(.*{said}"):
        read_source_weights(tmp_path)


def test_what_a_source_can_spell():
    """Special tokens have a stand-in; a text without pieces has none of its own."""
    word, other = wordpiece(), CanonicalToken("word_start", b" gatto", None, "gatto")
    special = CanonicalToken("special", b"<x>", "tool", "<x>")
    spelling = SourceSpelling(word)
    assert spelling.own_pieces(other) == [] and spelling.own_pieces(special) == spelling.unspelt
    assert SourceSpelling(byte_level()).own_pieces(other)
