"""Chunks that begin and end in two tokenizations, and their likelihoods: by hand and as rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from taught_pico import TEXTS
from torch.nn import functional

from revocab.training.data.chunks import ChunkedText, chunk_numbers, split
from revocab.training.data.taught_rows import Taught
from revocab.training.data.tokenizer_pair import Pair, SpanTokenizer, whole_ends
from revocab.training.loop import chunk_likelihoods
from revocab.training.loop.chunk_likelihoods import (
    binary_divergence,
    chunk_sums,
    linear_log_likelihoods,
)
from revocab.training.stage import LikelihoodMatching, Stage

STAGE = {"name": "match", "steps": 2, "learning_rate": 1e-2}
cuts = st.lists(st.integers(1, 19), unique=True).map(lambda cuts: [*sorted(cuts), 20])


def ends_of(cuts):
    return whole_ends([*zip([0, *cuts[:-1]], cuts, strict=True)])


def test_chunks_by_hand():
    # "the house", as the|_house and as t|he|_ho|use; then as the|_ho|use, which has one cut more.
    ours, theirs = ends_of([3, 9]), ends_of([1, 3, 6, 9])
    assert [part.tolist() for part in chunk_numbers(ours, theirs)] == [[0, 1], [0, 0, 1, 1]]
    ours = ends_of([3, 6, 9])
    assert [part.tolist() for part in chunk_numbers(ours, theirs)] == [[0, 1, 2], [0, 0, 1, 2]]


def test_behind_the_last_common_border_is_no_chunk():
    ours, theirs = ends_of([2, 5]), ends_of([2, 4])
    assert [part.tolist() for part in chunk_numbers(ours, theirs)] == [[0, -1], [0, -1]]
    assert [part.tolist() for part in chunk_numbers(ours, theirs[:0])] == [[-1, -1], []]


@given(cuts, cuts)
def test_chunks_cover_the_text_and_their_borders_are_those_of_both(cuts, others):
    sides = chunk_numbers(ends_of(cuts), ends_of(others))
    lasts = [
        [cut for cut, own, after in zip(ends, side, [*side[1:], -1], strict=True) if own != after]
        for ends, side in zip((cuts, others), sides, strict=True)
    ]
    assert lasts[0] == lasts[1] == sorted({*cuts} & {*others})
    for side in sides:
        assert side[0] == 0 and (np.diff(side) >= 0).all() and (np.diff(side) <= 1).all()


@pytest.fixture(scope="module")
def pair(toys):
    return Pair(
        *(SpanTokenizer(toys / f"{which}-tokenizer", 400) for which in ("target", "source"))
    )


def texts_of(tokenizer, side):
    """Return the UTF-8 of each chunk of a row."""
    ids, chunk = np.array(side.ids), np.array(side.chunk)
    texts = []
    for number in dict.fromkeys(chunk[chunk >= 0].tolist()):
        tokens = [tokenizer.backend.id_to_token(token) for token in ids[chunk == number].tolist()]
        spelt = [
            bytes([int(token[3:5], 16)]) if token.startswith("<0x") else token.encode()
            for token in tokens
        ]
        texts.append(b"".join(spelt))
    return texts


@given(st.lists(st.text(st.sampled_from("ilgato thescè perché"), max_size=30), max_size=4))
def test_chunks_of_a_row_are_the_same_text_in_both(pair, texts):
    start = pair.student.start[0]
    row = [n for ids, _ in pair.student.encode(texts, start=True) for n in ids]
    ours, theirs = ChunkedText(pair, np.zeros(1, int)).rows([row])[0]
    assert texts_of(pair.student, ours) == texts_of(pair.source, theirs)
    assert ours.ids.count(start) == len(texts) and theirs.ids.count(pair.source.start[0]) == len(
        texts
    )
    # All of it: nothing follows the last border, and only the first token is no part of a chunk.
    assert [side.chunk[1:].count(-1) for side in (ours, theirs)] == [0, 0]


def test_a_row_that_begins_within_a_document_gets_bos_and_no_more_than_a_model_reads(toys, pair):
    ((ids, _),) = pair.student.encode(["il gatto the house"], start=False)
    text = ChunkedText(pair, np.zeros(1, int))
    ours, theirs = text.rows([ids])[0]
    assert ours.ids == [*pair.student.start, *ids] and ours.chunk[0] == theirs.chunk[0] == -1
    short = Pair(pair.student, SpanTokenizer(toys / "source-tokenizer", len(theirs.ids) - 1))
    cut, also = ChunkedText(short, np.zeros(1, int)).rows([ids])[0]
    lost = theirs.chunk[-1]
    assert also.ids == theirs.ids[:-1] and lost not in also.chunk and lost not in cut.chunk
    assert [n for n in cut.chunk if n >= 0] == [n for n in ours.chunk if n not in (-1, lost)]


def test_special_tokens_without_a_counterpart_are_left_out():
    assert [*split([5, 6, 1, 1, 7], {1: None})] == [[5, 6], 1, 1, [7]]
    assert [*split([1], {1: None})] == [1] and [*split([], {})] == []


def test_sums_of_chunks_by_hand():
    # log-likelihoods of the|_house: -1 and -2; of t|he|_ho|use -0.5, -0.25, -1, -1.5.
    values = torch.tensor([[0.0, -1.0, -2.0, 0.0], [0.0, -3.0, -5.0, -7.0]])
    chunk = torch.tensor([[-1, 0, 1, -1], [-1, 0, 0, 1]])
    assert chunk_sums(values, chunk).tolist() == [-1, -2, -8, -7]
    theirs = torch.tensor([[0.0, -0.5, -0.25, -1.0, -1.5]])
    assert chunk_sums(theirs, torch.tensor([[-1, 0, 0, 1, 1]])).tolist() == [-0.75, -2.5]
    assert chunk_sums(values, torch.full((2, 4), -1)).tolist() == []


def test_the_divergence_by_hand():
    # p_T = exp(-log 2) = 1/2 and p_S = 1/4: 1/2 log 2 + 1/2 log(2/3).
    logs = torch.log(torch.tensor([0.5, 0.25, 1.0]))
    ours = binary_divergence(logs[:1], logs[1:2], 1.0)
    assert ours.item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3), rel=1e-6)
    assert binary_divergence(logs, logs, 100.0).abs().max() < 1e-7
    # A power of 1/2: sqrt(1/2) against 1/2.
    p, q = math.sqrt(0.5), 0.5
    due = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    assert binary_divergence(logs[:1], logs[1:2], 2.0).item() == pytest.approx(due, rel=1e-6)


def test_certain_chunks_have_finite_losses_and_gradients():
    own = torch.tensor([0.0, -1e4, 0.0, -3.0], requires_grad=True)
    loss = binary_divergence(torch.tensor([0.0, 0.0, -5.0, -1e4]), own, 100.0)
    loss.sum().backward()
    assert torch.isfinite(loss).all() and torch.isfinite(own.grad).all() and (loss > -1e-6).all()


@given(st.floats(-50, -1e-3), st.floats(-50, -1e-3), st.floats(0.5, 500))
def test_the_divergence_is_least_where_likelihoods_are_equal(target, own, temperature):
    values = [torch.tensor([value], dtype=torch.float64) for value in (target, own)]
    assert binary_divergence(*values, temperature).item() >= -1e-9
    assert abs(binary_divergence(values[0], values[0], temperature).item()) < 1e-12


@pytest.mark.parametrize("tokens", [None, 9])
def test_chunked_log_likelihoods_equal_torchs(monkeypatch, tokens):
    monkeypatch.setattr(chunk_likelihoods, "chunk_rows", lambda vocabulary, device: 3)
    random = torch.Generator().manual_seed(0)
    hidden, weight, upstream = (
        torch.randn(*size, generator=random, requires_grad=True) for size in ((7, 5), (11, 5), (7,))
    )
    labels = torch.tensor([0, 3, 8, 8, 1, 5, 2])
    ours = linear_log_likelihoods(hidden, weight, labels, tokens)
    due = -functional.cross_entropy((hidden @ weight.T)[:, :tokens], labels, reduction="none")
    torch.testing.assert_close(ours, due)
    for grads in zip(
        torch.autograd.grad(ours, (hidden, weight), upstream),
        torch.autograd.grad(due, (hidden, weight), upstream),
        strict=True,
    ):
        torch.testing.assert_close(*grads)


def test_no_labels():
    hidden, weight = torch.zeros(0, 5, requires_grad=True), torch.ones(3, 5, requires_grad=True)
    linear_log_likelihoods(hidden, weight, torch.zeros(0, dtype=torch.long)).sum().backward()
    assert weight.grad.abs().max() == 0


def test_defaults_are_the_papers():
    assert LikelihoodMatching().model_dump() == {"temperature": 100.0, "cross_entropy": 0.0}
    assert Stage(**STAGE, alm={}).taught == "alm" and Stage(**STAGE).taught is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alm": {"temperature": 0}}, "temperature"),
        ({"alm": {"cross_entropy": -1}}, "cross_entropy"),
        ({"alm": {}, "distil": {}, "train": "new_rows"}, "distil and alm are given"),
    ],
)
def test_options_that_are_refused(options, words):
    with pytest.raises(ValidationError, match=words):
        Stage(**STAGE, **options)


def test_texts_of_the_tests_are_chunks_in_both(pair):
    for (ids, ends), (others, other_ends) in zip(
        *(own.encode(TEXTS, start=False) for own in (pair.student, pair.source)), strict=True
    ):
        ours, theirs = chunk_numbers(ends, other_ends)
        assert len(ours) == len(ids) and len(theirs) == len(others)
        assert max(ours) == max(theirs) > 3


def test_times_of_a_stage_that_was_resumed():
    """Four steps of six took eight seconds: three new tokens will have taken twelve."""
    stage = Stage(**{**STAGE, "steps": 6})
    timed = Taught(stage, None, 1.0, {}, new_tokens=3).timed(8.0, 4, 100)
    assert timed == {
        "stage": "match", "training_seconds": 8.0, "seconds_per_step": 2.0,
        "seconds_per_token": 0.02, "seconds_per_new_token": 4.0,
    }  # fmt: skip
