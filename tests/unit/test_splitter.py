"""Splitters that cut words at their marks, and their repair."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splitter_toys import HINDI, MARKED_TEXT, bare, gpt2_like
from tokenizers import Regex, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

from revocab.vocabulary.tokenizers.alphabets import (
    GPT2_WORDS,
    LLAMA3_WORDS,
    QWEN2_WORDS,
    joins_marks,
    pretokens_only,
    regex_problem,
    repair_expression,
    repair_splitter,
)

#: The form of cl100k that takes and never gives back.
POSSESSIVE = r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s+"
BYTES = ByteLevel(add_prefix_space=False, use_regex=False)


def isolated(expression, behavior="isolated", invert=False):
    return Split(Regex(expression), behavior, invert)


def pieces(backend, text):
    return [text[start:end] for _, (start, end) in backend.pre_tokenizer.pre_tokenize_str(text)]


@cache
def repaired(name):
    return mended(bare(CUTTING[name]))


def mended(backend):
    repair = repair_splitter(backend)
    assert repair.works, repair
    return pretokens_only({**json.loads(backend.to_str()), "pre_tokenizer": repair.splitter})


CUTTING = {
    "llama-3": Sequence([isolated(LLAMA3_WORDS), BYTES]),
    "qwen-2": Sequence([isolated(QWEN2_WORDS), BYTES]),
    "possessive": Sequence([isolated(POSSESSIVE), BYTES]),
    "gpt-2": ByteLevel(add_prefix_space=False),
    "starcoder": Sequence([pre_tokenizers.Digits(True), ByteLevel(add_prefix_space=False)]),
    "alone": isolated(GPT2_WORDS),
    "kept": isolated(GPT2_WORDS, "removed", invert=True),
}


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_the_expression_written_here_is_that_of_the_library(text):
    ours = bare(Sequence([isolated(GPT2_WORDS), BYTES]))
    assert pieces(ours, text) == pieces(gpt2_like(), text)


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        (r"\p{L}+|\p{N}", r"[\p{L}\p{M}]+|\p{N}"),
        (r"\p{L}?x", r"[\p{L}\p{M}]?x"),
        # What may be left out before a word may be a mark of the word.
        (r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+"),
        (r"[^\r\n\p{L}\p{N}]?+\p{L}++", r"[^\r\n\p{L}\p{M}\p{N}]?+[\p{L}\p{M}]++"),
        (r"\p{L}+| ?[^\s\p{L}\p{N}]+", r"[\p{L}\p{M}]+| ?[^\s\p{L}\p{M}\p{N}]+"),
        (r"[\p{L}']+", r"[\p{L}\p{M}']+"),
        (r"[\]\p{L}]+", r"[\]\p{L}\p{M}]+"),
        (r"\p{L}+|[^\p{L}\p{M}]+", r"[\p{L}\p{M}]+|[^\p{L}\p{M}]+"),
        # Words have their marks, so there is nothing to repair.
        (r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+", None),
        (r"[^\s\p{L}]+|\w+", None),
        ("", None),
    ],
)
def test_repaired_expressions(expression, changed):
    assert repair_expression(expression) == changed


@pytest.mark.parametrize("name", CUTTING)
def test_a_repaired_splitter_keeps_marks_in_words(name):
    backend = bare(CUTTING[name])
    assert not joins_marks(backend)
    assert len(pieces(backend, HINDI)) > 4
    # GPT-2's has the full stop alone, Llama's too: it follows a letter.
    assert pieces(repaired(name), HINDI) == ["किताब", " की", " है", "."]
    assert repair_splitter(repaired(name)).expressions == []


@settings(max_examples=30)
@given(text=MARKED_TEXT)
@pytest.mark.parametrize("name", CUTTING)
def test_only_text_with_marks_is_cut_otherwise(name, text):
    backend = bare(CUTTING[name])
    after = pieces(repaired(name), text)
    if not any(unicodedata.category(character)[0] == "M" for character in text):
        assert after == pieces(backend, text)
    assert "".join(after) == text
    # Nothing cuts between a letter and its mark, but behind 's and the like.
    for left, right in pairwise(after):
        assert left[0] == "'" or not (
            left[-1].isalpha() and unicodedata.category(right[0])[0] == "M"
        )


@pytest.mark.parametrize(
    "splitter",
    [
        Sequence([isolated(repair_expression(LLAMA3_WORDS)), BYTES]),
        pre_tokenizers.Metaspace(), pre_tokenizers.BertPreTokenizer(), BYTES,
        isolated(r"\w+"),
    ],
)  # fmt: skip
def test_there_may_be_nothing_to_repair(splitter):
    repair = repair_splitter(bare(splitter))
    assert not repair.works and repair.expressions == repair.problems == []


@pytest.mark.parametrize(
    ("splitter", "problem"),
    [
        (ByteLevel(add_prefix_space=True), "add_prefix_space: true, a space that no other step"),
        (Sequence([isolated(r"\p{L}+|\P{L}+"), BYTES]), r"has \P{L}, which marks belong to"),
        (Sequence([isolated(r"\p{L}+|\p{^L}+"), BYTES]), r"has \p{^L}, which marks belong to"),
        (Sequence([isolated(r"x\p{L}", "removed"), isolated(r"\p{L}+")]), "has behavior: Removed"),
        (Sequence([BYTES, isolated(GPT2_WORDS)]), "its steps still cut 'की' between"),
        (Sequence([isolated(r"\p{L}+"), isolated(r"\p{Mc}")]), "its steps still cut"),
        (isolated(r"(?<=\p{L})\p{M}"), "its steps still cut"),
        (isolated(r"(?<![\p{L}])x|\p{Lo}|(?<=क[^\p{N}\p{L}])."), "its steps still cut"),
    ],
)
def test_what_cannot_be_repaired_exactly_is_said(splitter, problem):
    repair = repair_splitter(bare(splitter))
    assert not repair.works
    assert any(problem in said for said in repair.problems), repair
    assert all("allowed" in said for said in repair.problems)


def test_an_expression_that_the_library_refuses_is_said():
    assert "premature end" in (regex_problem("[a") or "")
    assert regex_problem(POSSESSIVE) is None
