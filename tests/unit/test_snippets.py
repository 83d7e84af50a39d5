"""Snippets around new tokens, and which tokens of two tokenizations are compared: by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.training.data import snippets
from revocab.training.data.packed_rows import PackedRows
from revocab.training.data.snippets import (
    StageText,
    around_tokens,
    drawn_places,
    in_turns,
    ranks,
)
from revocab.training.data.taught_rows import Taught
from revocab.training.data.tokenizer_pair import Pair, SpanTokenizer, aligned_places, whole_ends
from revocab.training.recipe import Recipe
from revocab.training.stage import Stage


def wanted(*ids, size=10):
    return np.isin(np.arange(size), ids)


def test_all_places_are_drawn_where_few_are_enough():
    blocks = [np.array([[1, 7, 2], [7, 7, 3]]), np.array([[9, 2, 7]])]
    ids, places = drawn_places(blocks, wanted(7, 9, 4), 5, [17, 0])
    assert ids.tolist() == [7, 7, 7, 7, 9]
    assert sorted(places[:4]) == [1, 3, 4, 8] and places[4] == 6


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 4))
def test_no_more_than_asked_for_and_where_the_waiting_ends_changes_nothing(values, most):
    blocks = [np.array(values[n : n + 7]) for n in range(0, len(values), 7)]
    ids, places = drawn_places(blocks, wanted(1, 2, 3), most, [1])
    before, snippets.WAITING = snippets.WAITING, 0
    try:
        often = drawn_places(blocks, wanted(1, 2, 3), most, [1])
    finally:
        snippets.WAITING = before
    assert (often[0] == ids).all() and (often[1] == places).all()
    assert (np.array(values)[places] == ids).all() and len({*places.tolist()}) == len(places)
    counts = {token: min(most, values.count(token)) for token in (1, 2, 3) if token in values}
    assert dict(zip(*np.unique(ids, return_counts=True), strict=True)) == counts


def test_tokens_take_turns_and_begin_again():
    ids = np.array([3, 3, 3, 5, 8, 8])
    assert ranks(ids).tolist() == [0, 1, 2, 0, 0, 1]
    order = in_turns(ids, 8, [1])
    assert [{*ids[order[:3]]}, {*ids[order[3:5]]}, ids[order[5]]] == [{3, 5, 8}, {3, 8}, 3]
    assert (order[6:] == order[:2]).all() and {*order[:6].tolist()} == {*range(6)}


def test_windows_hold_their_token_and_stay_in_its_row():
    tokens = np.zeros((4, 10), dtype=np.uint16)
    tokens[0, 0] = tokens[1, 5] = tokens[3, 9] = 7
    packed = PackedRows(tokens, {"sequence_length": 10}, rows=4)
    windows, ids = around_tokens(packed, wanted(7), length=4, most=9, rows=3, seed=[1, 0])
    assert windows.each == 2 and len(windows) == 6 and ids.tolist() == [7]
    by_row = {row: (begin, centre) for row, begin, centre in
              zip(windows.row_S, windows.begin_S, windows.centre_S, strict=True)}  # fmt: skip
    assert by_row[0] == (0, 0) and by_row[3] == (6, 9) and by_row[1] in ((5, 5), (4, 5))


@pytest.mark.parametrize(
    ("spans", "ends"),
    [
        ([(0, 3), (3, 7), (7, 8)], [3, 7, 8]),
        ([(0, 1), (1, 2), (1, 2), (2, 4)], [1, -1, 2, 4]),  # the second letter is two bytes
        ([(0, 0), (0, 2)], [0, 2]),  # a space that the tokenizer puts in front
        ([(0, 2), (2, 2), (2, 3)], [-1, 2, 3]),
        ([], []),
    ],
)
def test_ends_of_tokens_by_hand(spans, ends):
    assert whole_ends(spans).tolist() == ends


def test_tokens_are_compared_where_both_have_come_to_the_same_character():
    # "the house", as the|_house and as t|he|_ho|use: after the, and at the end.
    ours, theirs = whole_ends([(0, 3), (3, 9)]), whole_ends([(0, 1), (1, 3), (3, 6), (6, 9)])
    assert aligned_places(ours, theirs).tolist() == [1, 3]
    assert aligned_places(theirs, ours).tolist() == [-1, 0, -1, 1]
    # A border that the other has not, within what it has as one.
    assert aligned_places(whole_ends([(0, 2), (2, 9)]), ours).tolist() == [-1, 1]


@given(st.text(st.sampled_from("ilgatoè perché"), min_size=1, max_size=40))
def test_compared_tokens_end_the_same_text(toys, text):
    ours, theirs = (SpanTokenizer(toys / f"{w}-tokenizer", 400) for w in ("target", "source"))
    (ids, ends), (others, other_ends) = (t.encode([text], start=True)[0] for t in (ours, theirs))
    assert ids[0] == ours.start[0] and ends[0] == other_ends[0] == -1
    for place, other in enumerate(aligned_places(ends, other_ends).tolist()):
        if other >= 0:
            assert ours.decode(ids[1 : place + 1]) == theirs.decode(others[1 : other + 1])


def test_white_space_belongs_to_the_token_that_has_it(tmp_path):
    """A byte-level post-processor would say that a token with a line end stops before it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE({"a": 0, "Ċ": 1, "aĊ": 2}, [("a", "Ċ")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(tmp_path)
    ((ids, ends),) = SpanTokenizer(tmp_path, 9).encode(["a\na"], start=True)
    assert (ids, ends.tolist()) == ([2, 0], [2, 3])


def test_a_snippet_stays_within_its_document_and_only_what_follows_a_new_token_is_compared(toys):
    pair = Pair(*(SpanTokenizer(toys / f"{w}-tokenizer", 64) for w in ("target", "source")))
    ((first, _), (second, _)) = pair.student.encode(["the cat", "the gatto"], start=True)
    new = second[-1]
    assert new not in first and new not in second[:-1]
    row = [*first, *second, *first]
    new_V = np.arange(pair.student.backend.get_vocab_size()) == new
    centre = row.index(new)
    windows = snippets.Windows(*(np.array([n]) for n in (0, 0, centre)), len(row), 1)
    text = StageText(windows, pair, new_V)
    assert text.texts(np.array([row]), np.array([0])) == ["the gatto"]
    step = text.step(np.array([row]), 0, 1)
    assert step["input_ids"].tolist() == [[second]] and step["sizes"].tolist() == [[len(second)]]
    compared = step["aligned"][0, 0]
    assert (compared[: second.index(new)] == -1).all()
    assert compared[second.index(new)] == step["source_ids"].shape[2] - 1


def test_a_snippet_longer_than_a_row_is_refused_with_the_file():
    values = {
        "sequence_length": 32, "batch_size": 2, "steps": 4, "learning_rate": 1e-3,
        "checkpoint_every": 4,
        "stages": [{"name": "d", "steps": 4, "train": "new_rows", "distil": {"snippet": 33}}],
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"d has distil\.snippet 33, but rows have 32 tokens"):
        Recipe(**values)


def test_times_of_a_stage_that_was_resumed():
    """Four steps of six took eight seconds: three new tokens will have taken twelve."""
    stage = Stage(name="distil", steps=6, learning_rate=1e-2, train="new_rows", distil={})
    timed = Taught(stage, None, 1.0, {}, new_tokens=3).timed(8.0, 4, 100)
    assert timed == {
        "stage": "distil", "training_seconds": 8.0, "seconds_per_step": 2.0,
        "seconds_per_token": 0.02, "seconds_per_new_token": 4.0,
    }  # fmt: skip
