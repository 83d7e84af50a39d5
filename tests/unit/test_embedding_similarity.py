"""Relative similarity: by hand, invariances, anchors by kind, and the table of a group."""

from __future__ import annotations

import csv

import pytest
import torch
from toy_models import TARGET_WORDS, build_model, build_tokenizer

from revocab.evaluation.embedding_similarity import (
    KIND,
    Anchors,
    HelperModel,
    RunModels,
    SimilarityJob,
    choose_anchors,
    measure,
    relative_representation,
    similarity,
    write_similarity,
)
from revocab.output import OutputFolder
from revocab.tokenizers.canonical import CanonicalToken


def vocabulary(word_starts=5, continuations=3):
    tokens = [CanonicalToken("special", b"<s>", "bos", "<s>")]
    tokens += [CanonicalToken("byte", bytes([n]), None, f"<0x{n:02X}>") for n in range(4)]
    tokens += [CanonicalToken("word_start", b" a%d" % n, None, "") for n in range(word_starts)]
    tokens += [CanonicalToken("continuation", b"b%d" % n, None, "") for n in range(continuations)]
    return tokens


def compare(first, second, anchors, relative):
    return similarity(
        relative_representation(first, anchors, relative),
        relative_representation(second, anchors, relative),
    )


def test_by_hand():
    anchors = Anchors(anchor_ids=[0, 1], token_ids=[0, 1, 2], found={})
    first = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    # Products with the anchors: (1, 0), (0, 4), (1, 2).
    expected = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5**-0.5, 2 * 5**-0.5]])
    assert torch.allclose(relative_representation(first, anchors, "dot"), expected)
    second = torch.tensor([[1.0], [-1.0], [1.0]])
    # (1, -1), (-1, 1), (1, -1): cosines 1/sqrt 2, 1/sqrt 2, -1/sqrt 10.
    wanted = (2 * 2**-0.5 - 10**-0.5) / 3
    assert compare(first, second, anchors, "dot") == pytest.approx(wanted, abs=1e-6)
    # As cosines the third row's products are (1, 1)/sqrt 2.
    cosine = relative_representation(first, anchors, "cosine")
    assert cosine[2].tolist() == pytest.approx([2**-0.5, 2**-0.5])


@pytest.mark.parametrize("relative", ["dot", "cosine"])
def test_a_rotated_space_in_more_dimensions_is_the_same(relative):
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(30, 6, generator=generator)
    basis, _ = torch.linalg.qr(torch.randn(9, 6, generator=generator))
    anchors = Anchors(list(range(0, 30, 3)), list(range(30)), {})
    assert compare(first, 3 * first @ basis.T, anchors, relative) == pytest.approx(1, abs=1e-5)


def test_anchors_by_kind_seeded_and_sorted():
    tokens = vocabulary()
    anchors = choose_anchors(tokens, 2, seed=1)
    kinds = [tokens[number].kind for number in anchors.anchor_ids]
    assert kinds == ["word_start"] * 2 + ["continuation"] * 2
    assert anchors.anchor_ids == sorted(anchors.anchor_ids)
    assert anchors.token_ids == list(range(5, 13))  # no byte, no special
    assert anchors == choose_anchors(tokens, 2, seed=1)
    assert len({tuple(choose_anchors(tokens, 2, seed=n).anchor_ids) for n in range(8)}) > 1


def test_fewer_tokens_than_asked_are_all_used_and_counted():
    anchors = choose_anchors(vocabulary(), 128, seed=1)
    assert anchors.anchor_ids == list(range(5, 13))
    assert anchors.found == {"word_start": 5, "continuation": 3}


JOB = SimilarityJob(group="mistral", helper="helper", anchors=8, last_step=100, seed=1)


def test_table_of_a_group(tmp_path):
    tokenizer = build_tokenizer(TARGET_WORDS, 40, tmp_path / "tokenizer")
    helper = build_model(tokenizer, tmp_path / "helper", seed=1, hidden_size=24)
    first = build_model(tokenizer, tmp_path / "first", seed=2)
    last = build_model(tokenizer, tmp_path / "last", seed=3)
    runs = [RunModels("a", first, last), RunModels("b", helper, helper)]
    rows, anchors, of_helper = measure(JOB, runs, tokenizer, HelperModel("helper", helper))
    assert of_helper is anchors
    write_similarity(rows, {"anchors": anchors.found}, OutputFolder(tmp_path / "out", KIND))
    with (tmp_path / "out" / "similarity.csv").open(newline="") as handle:
        table = list(csv.DictReader(handle))
    keys = [(row["kind"], row["run"], row["other"], row["step"]) for row in table]
    assert keys == [
        ("helper", "a", "helper", "0"),
        ("helper", "a", "helper", "100"),
        ("helper", "b", "helper", "0"),
        ("helper", "b", "helper", "100"),
        ("between", "a", "b", "100"),
        ("between", "b", "a", "100"),
    ]
    assert float(table[2]["similarity"]) == pytest.approx(1, abs=1e-6)
    assert table[4]["similarity"] == table[5]["similarity"]
    # Random models are related by chance only.
    assert abs(float(table[0]["similarity"])) < 0.9
