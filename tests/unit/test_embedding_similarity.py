"""Relative similarity: by hand, invariances, anchors by kind, and the table of a group."""

from __future__ import annotations

import csv

import pytest
import torch
from helper_toys import build_byte_level, permuted, token_bytes
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model

from revocab.errors import RevocabError
from revocab.evaluation.embedding_similarity import (
    Anchors,
    EmbeddingSimilarityJob,
    RunModels,
    choose_anchors,
    measure,
    measure_to,
    relative_representation,
    similarity,
)
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.vocabulary.tokenizers.canonical import CanonicalToken


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
    anchors = Anchors(anchor_ids=[0, 1], token_ids=[0, 1, 2], numbers={})
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
    every = choose_anchors(tokens, 128, seed=1)
    assert every.anchor_ids == list(range(5, 13))
    assert every.numbers == {"word_start": 5, "continuation": 3}


JOB = EmbeddingSimilarityJob(group="mistral", helper="helper", anchors=8, last_step=100, seed=1)


# A helper of another tokenizer. ------------------------------------------------------------------


def test_a_helper_in_another_order_is_as_similar(toys, tmp_path):
    target = toys / "target-tokenizer"
    other = permuted(toys / "helper", tmp_path / "permuted", seed=3)
    runs = [RunModels("a", toys / "helper", build_model(target, tmp_path / "last", seed=3))]
    plain, _, _ = measure(JOB, runs, target, toys / "helper")
    received, anchors, of_helper = measure(JOB, runs, target, other)
    assert received == plain
    assert plain[0]["similarity"] == pytest.approx(1, abs=1e-6)
    assert of_helper == anchors


def test_only_what_helper_and_target_share_is_compared(toys, tmp_path):
    """By hand from the bytes that tokens stand for; runs are compared over the whole vocabulary."""
    target = toys / "target-tokenizer"
    tokenizer = build_byte_level([*SOURCE_WORDS, *TARGET_WORDS[:8]] * 2, 40, tmp_path / "bytes")
    helper = build_model(tokenizer, tmp_path / "helper", seed=4, hidden_size=24)
    folders = [build_model(target, tmp_path / str(seed), seed=seed) for seed in (1, 2, 3)]
    runs = [RunModels("a", *folders[:2]), RunModels("b", *folders[1:])]
    job = JOB.model_copy(update={"anchors": 500})  # all of them
    out = tmp_path / "out"
    measure_to(out, job, runs, target, helper)
    by_bytes = {data: number for number, data in enumerate(token_bytes(helper)) if data}
    spelt = enumerate(token_bytes(target))
    # Letters are byte tokens of the target; text tokens have ids after the bytes.
    shared = [(n, by_bytes[data]) for n, data in spelt if n >= 259 and data in by_bytes]
    assert 0 < len(shared) < len(token_bytes(target)) - 259
    ours, theirs = map(list, zip(*shared, strict=True))
    every = Anchors([*range(len(shared))], [*range(len(shared))], {})
    with (out / "similarity.csv").open(newline="") as handle:
        table = list(csv.DictReader(handle))
    first, second = (
        ModelFolder(folder).read("model.embed_tokens.weight") for folder in (folders[0], helper)
    )
    wanted = compare(first[ours], second[theirs], every, "dot")
    assert float(table[0]["similarity"]) == pytest.approx(wanted, abs=1e-6)
    manifest = read_json(out / "manifest.json")
    assert manifest["helper_tokens_compared"] == len(shared) < manifest["tokens_compared"]
    assert sum(manifest["helper_anchors"].values()) == len(shared)
    alone, _, _ = measure(job, runs, target, None)
    between = [float(row["similarity"]) for row in table if row["kind"] == "between"]
    assert between == [row["similarity"] for row in alone]


def test_a_helper_that_shares_no_text_is_refused():
    with pytest.raises(RevocabError, match="helper and target share no text token"):
        choose_anchors(vocabulary(), 2, 1, {0, 1, 2})
    anchors = choose_anchors(vocabulary(), 2, 1, {1, 6, 10, 12})
    assert anchors.token_ids == [6, 10, 12]
