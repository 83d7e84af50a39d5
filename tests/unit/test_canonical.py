"""What tokens stand for, and how a token of one vocabulary is spelt in another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from toy_vocabularies import byte_level, sentencepiece_bpe, unigram, with_merges, wordpiece
from transformers import PreTrainedTokenizerFast

from revocab.errors import RevocabError
from revocab.initialise.reading.vocabularies import SourceSpelling, source_pieces_released
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.tokenizers import load
from revocab.vocabulary.tokenizers.alphabets import from_byte_level, to_byte_level
from revocab.vocabulary.tokenizers.canonical import (
    CanonicalToken,
    canonical_vocabulary,
    occurs_in_utf8,
    unreachable,
)
from revocab.vocabulary.tokenizers.identity import fixed_texts
from revocab.vocabulary.tokenizers.load import tokenizer_style

#: Tokens of each family: kind, bytes, role.
FAMILIES = {
    "byte_fallback": (sentencepiece_bpe, {
        "▁cane": ("word_start", b" cane", None),
        "è": ("continuation", "è".encode(), None),
        "▁": ("word_start", b" ", None),
        "<0x0A>": ("byte", b"\n", None),
        "<s>": ("special", b"<s>", "bos"),
        "</s>": ("special", b"</s>", "eos"),
        "<unk>": ("special", b"<unk>", "unk"),
    }),
    "marker": (unigram, {
        "▁cane": ("word_start", b" cane", None),
        "cane": ("continuation", b"cane", None),
    }),
    "byte_level": (byte_level, {
        "Ġcane": ("word_start", b" cane", None),
        "Ã¨": ("continuation", "è".encode(), None),
        "ĠÃ¨": ("word_start", " è".encode(), None),
        "Ã": ("byte", b"\xc3", None),
        "Ċ": ("byte", b"\n", None),
        "a": ("continuation", b"a", None),
        "<|begin_of_text|>": ("special", b"<|begin_of_text|>", "bos"),
        "<|eot_id|>": ("special", b"<|eot_id|>", "turn_end"),
        "<|reserved_0|>": ("special", b"<|reserved_0|>", None),
    }),
    "wordpiece": (wordpiece, {
        "cane": ("word_start", b" cane", None),
        "##cane": ("continuation", b"cane", None),
        "[CLS]": ("special", b"[CLS]", "cls"),
        "[PAD]": ("special", b"[PAD]", "pad"),
    }),
}  # fmt: skip


@pytest.mark.parametrize("style", FAMILIES)
def test_every_family_by_hand(style):
    make, expected = FAMILIES[style]
    tokenizer = make()
    tokens = canonical_vocabulary(tokenizer)
    assert tokenizer_style(tokenizer) == style and len(tokens) == len(tokenizer)
    found = {token.string: (token.kind, token.data, token.role) for token in tokens}
    assert {string: found[string] for string in expected} == expected


def test_declared_roles_win():
    tokens = canonical_vocabulary(byte_level(), {"<|reserved_0|>": "tool"})
    assert tokens[-1].role == "tool"
    with pytest.raises(RevocabError, match="has no token '<x>'"):
        canonical_vocabulary(byte_level(), {"<x>": "tool"})


def test_added_plain_tokens_are_their_own_text():
    tokenizer = byte_level()
    tokenizer.add_tokens(["più città"])
    token = canonical_vocabulary(tokenizer)[-1]
    assert (token.kind, token.data) == ("continuation", "più città".encode())


def test_holes_and_unknown_families_are_refused():
    model = models.BPE({"<0x41>": 0, "▁b": 1, "c": 5}, [], byte_fallback=True)
    with pytest.raises(RevocabError, match="ids without a token: 2, 3, 4"):
        canonical_vocabulary(PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model)))
    plain = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(RevocabError, match=r"WordLevel.*not supported"):
        canonical_vocabulary(PreTrainedTokenizerFast(tokenizer_object=plain))


@given(st.binary(max_size=40))
def test_byte_level_alphabet_is_a_bijection(data):
    assert from_byte_level(to_byte_level(data)) == data


@given(st.text())
def test_byte_level_is_that_of_the_library(text):
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    spelt = "".join(part for part, _ in cut.pre_tokenize_str(text))
    assert to_byte_level(text.encode()) == spelt


def test_byte_level_alphabet_is_the_librarys():
    assert set(map(to_byte_level, (bytes([b]) for b in range(256)))) == set(
        pre_tokenizers.ByteLevel.alphabet()
    )
    assert from_byte_level("日") is None


def source_pieces(source, tokens):
    spelling = SourceSpelling(source)
    return [spelling.own_pieces(token) or spelling.unspelt for token in tokens]


def strings(source, kind, data):
    (ids,) = source_pieces(source, [CanonicalToken(kind, data, None, "?")])
    return source.convert_ids_to_tokens(ids)


def test_pieces_sentencepiece():
    source = sentencepiece_bpe()
    assert strings(source, "word_start", b" cane") == ["▁cane"]
    # No marker before a continuation, though the tokenizer puts one before every text.
    assert strings(source, "continuation", b"cane") == ["c", "an", "e"]
    assert strings(source, "continuation", "é".encode()) == ["<0xC3>", "<0xA9>"]
    assert strings(source, "byte", b"\xc3") == ["<0xC3>"]
    assert strings(source, "byte", b"\n") == ["<0x0A>"]
    # A literal marker is not a space.
    assert strings(source, "continuation", "▁".encode()) == ["<0xE2>", "<0x96>", "<0x81>"]


def test_pieces_other_families():
    assert strings(byte_level(), "continuation", b"cane") == ["c", "an", "e"]
    assert strings(byte_level(), "word_start", " èé".encode()) == ["ĠÃ¨", "Ã", "©"]
    assert strings(byte_level(), "byte", b"\xa9") == ["©"]
    assert strings(unigram(), "continuation", b"cane") == ["cane"]
    assert strings(unigram(), "word_start", b" cane") == ["▁cane"]
    assert strings(unigram(), "word_start", b" z") == ["<unk>"]
    assert strings(wordpiece(), "word_start", b" canecane") == ["cane", "##cane"]
    assert strings(wordpiece(), "continuation", b"canene") == ["##cane", "##ne"]
    assert strings(wordpiece(), "continuation", b"z") == ["[UNK]"]


def test_pieces_of_specials_go_by_role():
    target = [
        CanonicalToken("special", b"<a>", "bos", "<a>"),
        CanonicalToken("special", b"<b>", "unk", "<b>"),
        CanonicalToken("special", b"<c>", None, "<c>"),
    ]
    assert source_pieces(sentencepiece_bpe(), target) == [[1], [0], [0]]
    source = byte_level()
    start = source.bos_token_id
    assert source_pieces(source, target) == [[start], [start], [start]]


@pytest.mark.parametrize("make_source", [sentencepiece_bpe, byte_level])
@pytest.mark.parametrize("make_target", [sentencepiece_bpe, byte_level, unigram, wordpiece])
def test_pieces_join_to_the_token(make_source, make_target):
    source, target = make_source(), canonical_vocabulary(make_target())
    tokens = canonical_vocabulary(source)
    for token, ids in zip(target, source_pieces(source, target), strict=True):
        assert ids
        if token.kind != "special":
            assert b"".join(tokens[number].data for number in ids) == token.data


@given(st.text(min_size=1, max_size=12))
def test_any_text_is_spelt_exactly(text):
    for source in SOURCES:
        tokens = canonical_vocabulary(source)
        (ids,) = source_pieces(source, [CanonicalToken("continuation", text.encode(), None, text)])
        assert b"".join(tokens[number].data for number in ids) == text.encode()


SOURCES = [sentencepiece_bpe(), byte_level()]


def test_released_pieces_tokenise_the_marker():
    source = byte_level()
    target = [
        CanonicalToken("word_start", b" cane", None, "▁cane"),
        CanonicalToken("continuation", b"a_a", None, "a_a"),
        CanonicalToken("continuation", b"", None, ""),
    ]
    marked, underscore, empty = source_pieces_released(source, target)
    assert source.convert_ids_to_tokens(marked) == ["â", "ĸ", "ģ", "c", "an", "e"]
    assert source.convert_ids_to_tokens(underscore) == ["a", "Ġ", "a"]
    assert empty == [source.bos_token_id]


# Tokens that a tokenizer never produces


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


def test_other_ids_are_told_from_the_first_place_where_they_differ():
    tokenizer = byte_level()
    ours = tokenizer.backend_tokenizer
    theirs = Tokenizer.from_str(ours.to_str())
    theirs.normalizer = normalizers.Replace("e", "E")
    text = next(text for text in fixed_texts() if "e" in text)
    one, other = (backend.encode(text) for backend in (theirs, ours))
    start = next(n for n in range(len(one.ids)) if one.ids[n] != other.ids[n])
    told = [encoded.tokens[start : start + 3] for encoded in (one, other)]
    assert start > 0 and told[0] != told[1]
    assert "({} in place of {})".format(*told) in load._other_ids("Auto", theirs, tokenizer)
    assert load._other_ids("Auto", Tokenizer.from_str(ours.to_str()), tokenizer) is None
