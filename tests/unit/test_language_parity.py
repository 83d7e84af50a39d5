"""New tokens for several languages at once: each from the language that costs most so far."""

from __future__ import annotations

import pytest
from construction_toys import change, mixture
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab.vocabulary.building.new_tokens import LearningText, learn
from revocab.vocabulary.building.training_text import CutPretokens, training_budgets, training_texts
from revocab.vocabulary.tokenizers.load import load_tokenizer


def text_of(words, size=1.0):
    return LearningText(CutPretokens([list(word) for word in words], [*words.values()]), size)


#: 18 tokens and 10, so 1.8 and 2.0 for each unit of size.
FIRST, SECOND = text_of({"ab": 5, "cd": 4}, 10), text_of({"xy": 3, "zw": 2}, 5)


def anything(token):
    return True


def test_the_costliest_text_comes_next():
    # xy: 10 tokens become 7, 1.4 each; ab: 18 become 13, 1.3; zw: 5, 1.0; cd: 9, 0.9.
    assert learn([FIRST, SECOND], 9, anything).tokens == ["xy", "ab", "zw", "cd"]
    assert learn([FIRST, SECOND], 2, anything).tokens == ["xy", "ab"]


def test_a_text_without_pairs_leaves_its_turn_to_others():
    # Costliest throughout, and none of its pairs stands twice.
    single = text_of({"ef": 1, "gh": 1}, 0.1)
    assert learn([FIRST, single], 9, anything).tokens == ["ab", "cd"]


def test_each_merge_cuts_all_texts():
    both = text_of({"ab": 9, "abc": 9}, 1), text_of({"abc": 2, "bc": 3}, 100)
    assert learn(both, 2, anything).merges == [("a", "b"), ("ab", "c")]
    assert learn(both, 2, anything).uses == {"ab": 9, "abc": 11}


def test_a_pair_that_falls_to_the_minimum_is_still_learned():
    # bc 6, ab 5; then abc 3, and of ab the two that stand alone.
    words = text_of({"abc": 3, "bc": 3, "ab": 2})
    assert learn([words], 9, anything, minimum=2).tokens == ["bc", "abc", "ab"]
    assert learn([words], 9, anything, minimum=3).tokens == ["bc", "abc"]


WORD = st.text("abc", min_size=1, max_size=6)


@settings(max_examples=60)
@given(words=st.dictionaries(WORD, st.integers(1, 9), min_size=1), cuts=st.integers(1, 3))
def test_texts_in_equal_parts_give_the_merges_of_their_whole(words, cuts):
    whole = learn([text_of(words)], 12, anything, minimum=cuts)
    parts = learn([text_of(words) for _ in range(cuts)], 12, anything, minimum=cuts)
    assert parts.merges == whole.merges
    assert parts.uses == {token: cuts * count for token, count in whole.uses.items()}


@pytest.mark.parametrize("way", ["extend", "optimise"])
@pytest.mark.parametrize("family", ["byte_level", "unigram"])
def test_languages_come_closer(way, family, tmp_path, corpora, bases):
    parts = mixture(corpora, en=0.3, el=0.7)
    mixtures = {"corpora": parts} | ({"count_corpora": parts} if way == "optimise" else {})
    options = {"extend": {"add": 60}, "optimise": {"keep": 0.8}}[way]
    gaps, facts = {}, {}
    for parity in (None, "bytes", "documents"):
        out = tmp_path / f"{parity}"
        facts[parity] = change(way, bases[family], mixtures, out, **options, parity=parity)
        encode = load_tokenizer(out).backend_tokenizer.encode
        for of in ("bytes", "documents"):
            costs = []
            for part in parts:
                taken = list(training_texts([part], training_budgets(parts)))
                size = len("".join(taken).encode()) if of == "bytes" else len(taken)
                costs.append(sum(map(len, map(encode, taken))) / size)
            gaps[of, parity] = max(costs) / min(costs)
    assert gaps["bytes", "bytes"] < gaps["bytes", None]
    assert gaps["documents", "documents"] < gaps["documents", None]
    assert "parity" not in {*facts[None], *facts[None]["options"]}
    costs = facts["bytes"]["parity"]
    assert {name: fact["bytes"] for name, fact in costs.items()} == training_budgets(parts)
    if way == "extend":
        assert all(fact["tokens"] < fact["tokens_before"] for fact in costs.values())
