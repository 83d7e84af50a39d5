"""The fewest tokens that any vocabulary can make of a text, and what a text costs."""

from __future__ import annotations

import pytest
from construction_toys import ENGLISH
from splitter_toys import HINDI, gpt2_like
from toy_vocabularies import wordpiece
from transformers import PreTrainedTokenizerFast

from revocab.errors import RevocabError
from revocab.product.advice.findings import measure_text
from revocab.vocabulary import token_counts
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.fertility import Text
from revocab.vocabulary.token_counts import (
    FLOOR_COLUMNS,
    Floor,
    cut_text,
    joined_runs,
    measure_floor,
    measure_floors,
)
from revocab.vocabulary.tokenizers.load import load_tokenizer


@pytest.fixture(scope="module")
def bases(bases):
    return {name: load_tokenizer(folder) for name, folder in bases.items()}


def test_a_llama_like_splitter_cuts_at_vowel_signs(bases):
    """क|ित|ाब| क|ी| ह|ै. are seven pre-tokens: a sign goes to the letters after it, or stands
    alone. Repaired: किताब| की| है|.
    """
    backend = bases["byte_level"].backend_tokenizer
    cut = [HINDI[start:end] for _, (start, end) in backend.pre_tokenizer.pre_tokenize_str(HINDI)]
    assert cut == ["क", "ित", "ाब", " क", "ी", " ह", "ै."]
    assert measure_floor(bases["byte_level"], [HINDI]) == Floor(7, 4, has_splitter=True)
    assert measure_floor(bases["byte_level"], [HINDI] * 3).tokens == 21


def test_an_expression_inside_of_the_library_is_repaired_too():
    """GPT-2's: क|ि|त|ा|ब| क|ी| ह|ै. has signs alone."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=gpt2_like())
    assert measure_floor(tokenizer, [HINDI]) == Floor(9, 4, has_splitter=True)


def test_who_has_a_splitter(bases):
    split = {
        name: measure_floor(tokenizer, ["a"]).has_splitter for name, tokenizer in bases.items()
    }
    assert split == {name: name != "mistral" for name in bases}


def test_stretches_end_with_pretokens_and_before_spaces(bases):
    split = EditableVocabulary.read(bases["byte_level"])
    words, tokens = cut_text(split, [HINDI, HINDI])
    stretches = [b"".join(map(split.text, pieces)).decode() for pieces in words.pieces]
    assert sorted(stretches) == sorted(["क", "ित", "ाब", " क", "ी", " ह", "ै."])
    assert words.counts == [2] * 7
    assert tokens == 2 * len(bases["byte_level"](HINDI, add_special_tokens=False).input_ids)
    words, tokens = cut_text(EditableVocabulary.read(bases["mistral"]), ["a b a", ""])
    assert (words.pieces, words.counts, tokens) == ([["▁a"], ["▁b"]], [2, 1], 3)


def test_what_may_be_joined():
    assert joined_runs([b" Ci", b"ao", b",", b" m", b"o"]) == 3
    assert joined_runs([b" ", b"x", b"?", b"!"]) == 2
    assert joined_runs([b"1", b"2"]) == 2
    assert joined_runs([b"\n", b" a"]) == 2
    # Parts of a character, and what follows it.
    assert joined_runs([b" \xd0", b"\xb4", b"\xd0", b"\xb0"]) == 1
    assert joined_runs([]) == 0


def test_without_a_splitter_the_floor_is_what_the_trainer_joins(bases):
    """▁Ciao|,|▁mondo|▁|1|2|!|\\n, and Greek, which this base spells in bytes, is one word."""
    assert measure_floor(bases["mistral"], ["Ciao, mondo 12!\n"]).tokens == 8
    assert measure_floor(bases["mistral"], ["Ciao πόλη", "Ciao"]).tokens == 3


def test_the_cost_of_a_text(bases):
    texts = ["The book is here; 😀", "A house."]
    cost = measure_text(bases["mistral"], texts, "en")
    tokens = [bases["mistral"](text, add_special_tokens=False).input_ids for text in texts]
    assert cost.tokens == sum(map(len, tokens))
    assert (cost.name, cost.documents, cost.characters, cost.bytes) == ("en", 2, 27, 30)
    assert cost.words == len(["The", "book", "is", "here", ";", "😀", "A", "house", "."])
    assert (cost.byte_fallback_tokens, cost.unknown) == (5, 0)  # the semicolon, and the emoji
    # ▁The ▁book ▁is ▁here ; ▁😀, of which ▁ and the emoji are symbols; ▁A ▁house .
    assert cost.floor_tokens == 9
    assert cost.repaired_floor_tokens is None
    assert not cost.has_splitter


@pytest.mark.parametrize("name", ["byte_fallback", "byte_level", "mistral", "llama", "unigram"])
def test_no_text_costs_less_than_its_floor(bases, name):
    cost = measure_text(bases[name], [*ENGLISH[:50], HINDI, "a  b\n\n c </s>"], "en")
    assert cost.floor_tokens <= cost.tokens
    if cost.repaired_floor_tokens is not None:
        assert cost.repaired_floor_tokens < cost.floor_tokens


def test_text_without_a_word_is_refused(bases):
    with pytest.raises(RevocabError, match="en: no words in the text; give"):
        measure_text(bases["mistral"], ["", "  \n"], "en")


def test_floors_by_hand(bases, monkeypatch):
    """Three words of Hindi are seven pre-tokens, four with marks joined (the full stop is none of
    the words); of the second document only the beginning is left out.
    """
    loaded = {name: bases[name] for name in ("byte_level", "mistral")}
    text = Text("hi", "hi", [HINDI, "क", "never read"], "unicode-words")
    monkeypatch.setattr(token_counts, "COUNTED_BYTES", len((HINDI + "क").encode()))
    byte_level, mistral = measure_floors(loaded, [text], {"hi": [3, 1, 2]})
    assert tuple(byte_level) == FLOOR_COLUMNS
    assert (byte_level["documents"], byte_level["words"]) == (2, 4)
    assert (byte_level["floor_tokens"], byte_level["joined_floor_tokens"]) == (8, 5)
    assert (byte_level["floor"], byte_level["joined_floor"]) == (2.0, 1.25)
    tokens = sum(
        len(loaded["byte_level"](one, add_special_tokens=False).input_ids) for one in (HINDI, "क")
    )
    assert (byte_level["tokens"], byte_level["tokens_per_word"]) == (tokens, tokens / 4)
    assert byte_level["has_splitter"] and not mistral["has_splitter"]
    assert mistral["joined_floor"] is None and mistral["floor_tokens"] <= mistral["tokens"]
    text = Text("it", "it", ["cane"], "unicode")
    (words,) = measure_floors({"wordpiece": wordpiece()}, [text], {"it": [1]})
    assert (words["tokens"], words["floor"], words["joined_floor"]) == (1, 1.0, None)
