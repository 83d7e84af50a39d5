"""Trained tokenizers: BPE and Unigram, both alphabets, how digits and spaces are split."""

from __future__ import annotations

import pytest
from construction_toys import ENGLISH
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from revocab.errors import RevocabError
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.tokenizers.alphabets import (
    byte_level_words,
    frequent_characters,
    marked_words,
)
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary

NUMBERS = "In 1984 and 123456 and 1984 again, 1984 123 99.    Four   spaces    here.\n\n"
TEXTS = [f"{text} {NUMBERS}" for text in ENGLISH[::3]]
MODELS = [("unigram", "byte_fallback"), ("unigram", "byte_level")]
SIZE = 500


@pytest.fixture(scope="module")
def trained():
    letters = frequent_characters(TEXTS, 80)
    return {
        (model, alphabet): train_tokenizer(batched(TEXTS), alphabet, SIZE, letters, model=model)
        for model, alphabet in MODELS
    }


@pytest.mark.parametrize("which", MODELS, ids="-".join)
@settings(max_examples=100)
@given(text=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("▁Ġ \n<0xA>è")))
def test_round_trip(trained, which, text):
    tokenizer = trained[which]
    assume(not any(special in text for special in tokenizer.all_special_tokens))
    assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text


@pytest.mark.parametrize("which", MODELS, ids="-".join)
def test_unigram(trained, which):
    tokenizer = trained[which]
    assert len(tokenizer) == SIZE and len(canonical_vocabulary(tokenizer)) == SIZE
    model = tokenizer.backend_tokenizer.model
    assert type(model).__name__ == "Unigram"
    if which[1] == "byte_fallback":
        assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3]) == ["<unk>", "<s>", "</s>", "<0x00>"]
        assert tokenizer.tokenize("<0x41>日")[-3:] == ["<0xE6>", "<0x97>", "<0xA5>"]
    bare = tokenizer(" is looking for", add_special_tokens=False).input_ids
    assert len(bare) < 8


def tokens(digits, whitespace, alphabet="byte_fallback"):
    letters = frequent_characters(TEXTS, 80)
    options = {"digits": digits, "whitespace": whitespace}
    return train_tokenizer(batched(TEXTS), alphabet, SIZE, letters, **options).tokenize


@pytest.mark.parametrize("alphabet", ["byte_fallback", "byte_level"])
def test_digits(alphabet):
    def parts(digits):
        found = tokens(digits, "grouped", alphabet)("123456")
        return [one.strip("▁Ġ") for one in found if one.strip("▁Ġ")]

    assert parts("individual") == list("123456")
    assert parts("groups_of_three")[0] == "123" and max(map(len, parts("groups_of_three"))) == 3
    assert parts("none") == ["123456"]


@pytest.mark.parametrize("alphabet", ["byte_fallback", "byte_level"])
def test_spaces(alphabet):
    def longest(whitespace):
        found = tokens(None, whitespace, alphabet)("a    here")
        return max(len(one) for one in found if not one.strip("▁Ġ"))

    assert longest("single") == 1
    assert longest("grouped") > 1


def test_usual_patterns_stay():
    assert marked_words().endswith(r"|▁+(?=▁[^▁\s\p{N}])|▁+|\s")
    assert byte_level_words().endswith(
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def test_unigram_with_too_little_text():
    for size in (400, 4000):
        with pytest.raises(RevocabError, match=f"vocabulary_size {size}"):
            train_tokenizer(batched(["aa bb"]), "byte_level", size, model="unigram")
