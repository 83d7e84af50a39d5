"""Tokens that a tokenizer never produces."""

from __future__ import annotations

import pytest
from toy_vocabularies import unigram, with_merges, wordpiece

from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.tokenizers.canonical import (
    canonical_vocabulary,
    occurs_in_utf8,
    unreachable,
)


def names(tokenizer):
    tokens = canonical_vocabulary(tokenizer)
    return {tokens[number].string: why for number, why in unreachable(tokenizer, tokens).items()}


def test_bytes_that_no_text_holds():
    assert occurs_in_utf8(b"\xc3")
    assert occurs_in_utf8(b"\xa9a")
    assert occurs_in_utf8(b"\x98\x80")
    assert occurs_in_utf8(b"\x9f\x98\x80")
    for data in (b"\xc0", b"\xff", b"\xf5", b"\x80\x80\x80\x80", b"\xc3a", b"\xe2\x82\xc3"):
        assert not occurs_in_utf8(data)


def test_merges_and_words():
    # "bc" is merged before "ab" can be, so "abc" is never one token; "Ġa" crosses no word here.
    merges = [("b", "c"), ("a", "b"), ("ab", "c"), ("Ġ", "a"), ("c", "Ġ")]
    tokenizer = with_merges(["bc", "ab", "abc", "Ġa", "cĠ"], merges)
    found = {token: why for token, why in names(tokenizer).items() if why != "utf8"}
    assert found == {"abc": "segmentation", "cĠ": "text"}
    whole = with_merges(["bc", "ab", "abc", "Ġa", "cĠ"], merges, pattern=False)
    assert {t: why for t, why in names(whole).items() if why != "utf8"} == {"abc": "segmentation"}


def test_utf8_bytes_of_a_byte_level_vocabulary():
    found = names(with_merges([], []))
    assert len(found) == 13
    assert set(found.values()) == {"utf8"}


@pytest.mark.parametrize("alphabet", ["byte_level", "byte_fallback"])
def test_a_trained_vocabulary_is_reachable(alphabet):
    texts = ["La città è più bella di sera, perché c'è il mare.", "Costa 125 euro (circa)."] * 4
    characters = [*"▁abcdefghilmnopqrstuvzàèé", ".", ",", "'"]
    found = names(train_tokenizer(batched(texts), alphabet, 310, characters))
    # Byte tokens of characters that have a plain token, and bytes that no text holds.
    expected = {f"<0x{ord(c):02X}>" for c in characters if ord(c) < 128} | {"<0x20>"}
    got = {token for token, why in found.items() if why != "utf8"}
    assert got == (expected if alphabet == "byte_fallback" else set())
    assert len(found) - len(got) == 13


def test_unigram_and_wordpiece():
    # "▁cane" and "cane" are on the best path of their texts.
    assert not names(unigram())
    assert not names(wordpiece())
    # A worse piece than its parts is never chosen.
    assert names(unigram(("ca", -20.0))) == {"ca": "segmentation"}
