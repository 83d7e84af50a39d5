"""Which tokens two vocabularies share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders

from revocab.errors import RevocabError
from revocab.io import read_jsonl, sha256
from revocab.output import OutputFolder
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.intersection import (
    KIND,
    intersect,
    intersect_canonical,
    read_pairs,
    write_intersection,
)
from revocab.vocabulary.tokenizers.canonical import CanonicalToken
from revocab.vocabulary.tokenizers.load import load_tokenizer


def plain(string):
    return levelled(string.replace("▁", " ").encode(), string)


def byte(number):
    return CanonicalToken("byte", bytes([number]), None, f"<0x{number:02X}>")


def special(string, role):
    return CanonicalToken("special", string.encode(), role, string)


def levelled(data, string):
    kind = "word_start" if data.startswith(b" ") else "continuation"
    return CanonicalToken(kind, data, None, string)


SOURCE = [
    special("<s>", "bos"),  # 0
    special("</s>", "eos"),
    special("<x>", None),
    byte(0x0A),
    byte(0x41),
    plain("A"),  # 5
    plain("▁è"),
    plain("è"),
    plain("▁a"),
    special("<unk>", "unk"),
]
TARGET = [
    levelled("è".encode(), "Ã¨"),  # 0
    levelled(b" a", "Ġa"),
    levelled(b"a", "a"),
    CanonicalToken("byte", b"\n", None, "Ċ"),
    levelled(b"A", "A"),
    special("<|end|>", "eos"),  # 5
    special("<|begin|>", "bos"),
    special("<x>", None),
    special("<unk>", "turn_end"),
]


def pairs(result):
    return list(zip(result.target_ids.tolist(), result.source_ids.tolist(), strict=True))


def test_bytes_by_hand():
    result = intersect_canonical(SOURCE, TARGET, "bytes")
    # <x> has no role and <unk> another one: specials are known by their spelling first.
    assert pairs(result) == [(0, 7), (1, 8), (3, 3), (4, 5), (5, 1), (6, 0), (7, 2), (8, 9)]
    assert result.target_ids.dtype == result.source_ids.dtype == np.int64
    assert result.kinds == ["continuation", "word_start", "byte", "continuation"] + ["special"] * 4
    assert result.candidates.tolist() == [1, 1, 1, 2, 1, 1, 1, 1]
    assert result.missing.tolist() == [2]
    report = result.report
    assert (report["source_size"], report["target_size"]) == (10, 9)
    assert (report["overlap"], report["missing"], report["ambiguous"]) == (8, 1, 1)
    assert report["kinds"] == {"word_start": 1, "continuation": 2, "byte": 1, "special": 4}
    assert report["missing_kinds"] == {"word_start": 0, "continuation": 1, "byte": 0, "special": 0}
    assert report["raw_overlap"] == 3
    assert report["missed_by_strings"] == 5
    assert report["missed_by_marker"] == 2
    assert [row["text"] for row in report["examples"][:2]] == ["è", "\n"]
    assert report["special_without_counterpart"] == {"source": {}, "target": {}}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        # The same spelling, whatever the role on either side.
        ([special("<e>", "eos"), special("<p>", "pad")],
         [special("<p>", "eos"), special("<e>", "pad")], [(0, 1), (1, 0)]),
        ([special("<e>", None)], [special("<e>", "eos")], [(0, 0)]),
        ([special("<e>", "eos")], [special("<e>", "turn_end"), special("<f>", "eos")],
         [(0, 0), (1, 0)]),
        # Another flag: one of them is text.
        ([plain("<e>")], [special("<e>", None)], []),
        ([special("<e>", None)], [plain("<e>")], []),
        # A declared role counts before the spelling.
        ([special("<a>", None), CanonicalToken("special", b"<b>", "x", "<b>", True)],
         [CanonicalToken("special", b"<a>", "x", "<a>", True)], [(0, 1)]),
        ([special("<a>", None)], [special("<b>", None)], []),
    ],
)  # fmt: skip
def test_special_tokens_by_spelling_then_role(source, target, expected):
    result = intersect_canonical(source, target)
    assert pairs(result) == expected
    lacking = sorted({*range(len(target))} - {number for number, _ in expected})
    special_there = {str(n): target[n].string for n in lacking if target[n].kind == "special"}
    assert result.report["special_without_counterpart"]["target"] == special_there


def test_marker_by_hand():
    result = intersect_canonical(SOURCE, TARGET, "marker")
    # Spellings only: è and newline are lost, <x> and <unk> match by string, bos and eos by role.
    assert pairs(result) == [(1, 8), (4, 5), (5, 1), (6, 0), (7, 2), (8, 9)]


@pytest.mark.parametrize(
    ("source", "target", "expected", "candidates"),
    [
        # The plain piece before the byte, then the lowest id.
        ([byte(0x41), plain("A"), plain("A")], [levelled(b"A", "A")], [(0, 1)], [3]),
        ([plain("A"), byte(0x41)], [plain("A"), byte(0x41)], [(0, 0), (1, 1)], [2, 2]),
        ([plain("A")], [byte(0x41)], [(0, 0)], [1]),
    ],
)
def test_one_of_several_candidates(source, target, expected, candidates):
    result = intersect_canonical(source, target)
    assert (pairs(result), result.candidates.tolist()) == (expected, candidates)


tokens = st.one_of(
    st.sampled_from(["a", "▁a", "è", "A", "▁", "▁▁"]).map(plain),
    st.sampled_from([0x41, 0x0A, 0xC3]).map(byte),
    st.sampled_from(["bos", "eos", "unk"]).map(lambda role: special(f"<{role}>", role)),
)
vocabularies = st.lists(tokens, unique_by=lambda token: token.string, max_size=14)


@given(vocabularies, vocabularies)
def test_symmetric(one, other):
    forth = intersect_canonical(one, other, "bytes")
    back = intersect_canonical(other, one, "bytes")
    matched = {other[number].identity for number in forth.target_ids}
    assert matched == {one[number].identity for number in back.target_ids}
    for result, source, target in ((forth, one, other), (back, other, one)):
        assert all(source[s].identity == target[t].identity for t, s in pairs(result))
        everything = np.sort(np.concatenate([result.target_ids, result.missing]))
        assert everything.tolist() == list(range(len(target)))
        assert (np.diff(result.target_ids) > 0).all()


@given(vocabularies)
def test_a_vocabulary_meets_itself_in_place(vocabulary):
    result = intersect_canonical(vocabulary, vocabulary, "bytes")
    assert pairs(result) == [(number, number) for number in range(len(vocabulary))]


def test_unknown_identity():
    with pytest.raises(RevocabError, match="identity 'text': allowed are bytes and marker"):
        intersect_canonical(SOURCE, TARGET, "text")


def test_written_and_read_back(tmp_path):
    result = intersect_canonical(SOURCE, TARGET, "bytes")
    for name in ("a", "b"):
        write_intersection(result, {"from": "a test"}, OutputFolder(tmp_path / name, KIND))
    again = read_pairs(tmp_path / "a")
    for name in ("target_ids", "source_ids", "candidates", "missing"):
        assert (getattr(again, name) == getattr(result, name)).all()
        assert getattr(again, name).dtype == np.int64
    assert again.kinds == result.kinds
    assert again.report == result.report
    for name in ("pairs.parquet", "report.json", "manifest.json"):
        assert sha256(tmp_path / "a" / name) == sha256(tmp_path / "b" / name)
    with pytest.raises(RevocabError, match="run revocab intersect"):
        read_pairs(tmp_path / "absent")


def accented_texts(tokenizer):
    """Texts with an accented Italian letter of a vocabulary's tokens, told by the library alone."""
    if isinstance(tokenizer.backend_tokenizer.decoder, decoders.ByteLevel):
        decode = decoders.ByteLevel().decode
        texts = {token: decode([token]) for token in tokenizer.get_vocab()}
    else:
        texts = {token: token.replace("▁", " ") for token in tokenizer.get_vocab()}
    return {text: t for t, text in texts.items() if set(text) & set("àèéìòùÀÈÉÌÒÙ")}


@pytest.mark.long
@pytest.mark.shared_data
def test_real_mistral_against_byte_level_italian(shared_folder):
    """Byte identity finds every accented word token that both hold; marker identity finds none."""
    texts, size = [], 0
    for row in read_jsonl(shared_folder / "data" / "corpora" / "it" / "wikineural.jsonl.gz"):
        texts.append(row["text"])
        size += len(row["text"].encode())
        if size > 5_000_000:
            break
    target = train_tokenizer(batched(texts), "byte_level", 32768)
    source = load_tokenizer(shared_folder / "tokenizers" / "mistral-7b-v0.1")
    ours, theirs = accented_texts(target), accented_texts(source)
    both = ours.keys() & theirs.keys()
    assert {" città", " più", " così", "è"} <= both
    assert len(both) > 40
    found = intersect(source, target, "bytes")
    pairs = dict(zip(found.target_ids.tolist(), found.source_ids.tolist(), strict=True))
    assert {target.get_vocab()[ours[text]] for text in both} == {
        number
        for number, token in enumerate(target.convert_ids_to_tokens(range(len(target))))
        if number in pairs and token in set(ours.values())
    }
    for text in both:
        source_id = pairs[target.get_vocab()[ours[text]]]
        assert source.convert_ids_to_tokens(source_id).replace("▁", " ") == text
    released = set(intersect(source, target, "marker").target_ids.tolist())
    assert not released & {target.get_vocab()[ours[text]] for text in both}
    assert len(pairs) > len(released)
