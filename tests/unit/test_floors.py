"""Tokens per word beside the fewest that a splitter allows: measured, said, and in a table."""

from __future__ import annotations

from splitter_toys import HINDI
from toy_vocabularies import wordpiece

from revocab.vocabulary import token_counts as floors
from revocab.vocabulary.fertility import Text
from revocab.vocabulary.token_counts import FLOOR_COLUMNS, measure_floors
from revocab.vocabulary.tokenizers.load import load_tokenizer


def test_floors_by_hand(bases, monkeypatch):
    """Three words of Hindi are seven pre-tokens, four with marks joined (the full stop is none of
    the words); of the second document only the beginning is left out.
    """
    loaded = {name: load_tokenizer(bases[name]) for name in ("byte_level", "mistral")}
    text = Text("hi", "hi", [HINDI, "क", "never read"], "unicode-words")
    monkeypatch.setattr(floors, "COUNTED_BYTES", len((HINDI + "क").encode()))
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
