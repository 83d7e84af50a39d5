"""Words of a list as tokens: every family of base, what text keeps, reasons, and damaged lists."""

from __future__ import annotations

import itertools
import os

import pytest
from construction_toys import ENGLISH, FAMILIES, ITALIAN, construct, inputs_of, mixture
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.vocabulary.building.construction import BuildInputs
from revocab.vocabulary.building.editable import EditableVocabulary, merge_pieces
from revocab.vocabulary.building.words import (
    MOST_CHARACTERS,
    AddedWords,
    Word,
    add_words,
    rarest_tree,
    read_words,
)
from revocab.vocabulary.tokenizers.load import load_tokenizer

WORDS = ["gatto", "Consiglio", "universitario", "città", "zebrazebra"]


@pytest.fixture(scope="module")
def vocabularies(bases):
    return {name: EditableVocabulary.read(load_tokenizer(folder)) for name, folder in bases.items()}


def listed(folder, *lines):
    path = folder / "words.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_each_word_is_one_token_and_other_text_keeps_its_tokens(family, vocabularies):
    base = vocabularies[family]
    words = [word for word in WORDS if family in ("byte_level", "llama") or word != "città"]
    added = add_words(base, [Word(word) for word in words], steps=True)
    before, after = base.backend, added.vocabulary.backend
    assert [word["became"] for word in added.words] == ["added"] * len(words)
    for word, start in itertools.product(words, ("", "a ", "so (")):
        assert after.encode(start + word, add_special_tokens=False).tokens[-1] in {
            token for entry in added.words if entry["word"] == word for token in entry["tokens"]
        }
    steps = set(added.steps)
    assert not steps or family not in ("llama", "unigram")
    lines = [*added.texts_without(ENGLISH + ITALIAN)]
    for line in lines:
        tokens = after.encode(line).tokens
        assert tokens == before.encode(line).tokens or steps & set(tokens)
    assert len(lines) > 500


@pytest.mark.parametrize("family", FAMILIES)
def test_without_steps_no_other_text_changes(family, vocabularies):
    base = vocabularies[family]
    added = add_words(base, [Word(word) for word in WORDS], steps=False)
    assert not added.steps
    before, after = base.backend, added.vocabulary.backend
    for line in added.texts_without(ENGLISH + ITALIAN):
        assert after.encode(line).ids == before.encode(line).ids
    needed = {word["word"] for word in added.words if "steps" in word.get("reason", "")}
    assert needed if family in ("byte_fallback", "byte_level", "mistral") else not needed


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abeilnorst", min_size=1, max_size=9), min_size=1, max_size=8, unique=True))
def test_any_words_are_reached_together(vocabularies, texts):
    """A word may hold another, and may be a step to one; none has a second token."""
    for family in ("byte_level", "unigram"):
        base = vocabularies[family]
        added = add_words(base, map(Word, texts), steps=True)
        assert len(added.tokens) == len(set(added.tokens))
        assert not {*added.tokens} & base.ids.keys()
        tokenize = added.vocabulary.backend.model.tokenize
        for word in added.words:
            for token in word["tokens"]:
                assert [piece.value for piece in tokenize(token)] == [token]
            assert word["tokens"] or "repeat" in word["reason"]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=6))
def test_the_steps_of_a_word_weigh_least_of_all_orders(numbers):
    """Against every order of joining; the weight of a step is the product over its pieces."""
    pieces = [chr(97 + place) for place in range(len(numbers))]
    ids = dict(zip(pieces, numbers, strict=True))

    def weight(merges):
        steps = ["".join(pair) for pair in merges[:-1]]
        product = 0.0
        for step in steps:
            own = 1.0
            for piece in step:
                own /= 1 + ids[piece]
            product += own
        return product

    def orders(parts):
        if len(parts) == 1:
            yield []
        for place in range(len(parts) - 1):
            pair = (parts[place], parts[place + 1])
            for rest in orders([*parts[:place], "".join(pair), *parts[place + 2 :]]):
                yield [pair, *rest]

    tree = rarest_tree(pieces, ids)
    assert merge_pieces("".join(pieces), {pair: rank for rank, pair in enumerate(tree)})[0] == [
        "".join(pieces)
    ]
    assert weight(tree) == pytest.approx(min(map(weight, orders(pieces))))


def test_what_is_a_token_gets_no_second_and_what_cannot_be_has_a_reason(vocabularies):
    base = vocabularies["byte_level"]
    known = next(token for token in base.ids if token.isalpha() and f"Ġ{token}" in base.ids)
    words = [known, "New York", "x9y", "<|end_of_text|>", "a<|end_of_text|>b", "gatto"]
    added = add_words(base, map(Word, words), steps=True)
    became = {word["word"]: word["became"] for word in added.words}
    assert became == {
        known: "exists", "New York": "impossible", "x9y": "impossible",
        "<|end_of_text|>": "exists", "a<|end_of_text|>b": "impossible", "gatto": "added",
    }  # fmt: skip
    reasons = {word["word"]: word["reason"] for word in added.words if "reason" in word}
    assert "New | York" in reasons["New York"] and "x | 9 | y" in reasons["x9y"]
    again = add_words(added.vocabulary, [Word("gatto")], steps=True)
    assert not again.tokens
    greek = add_words(vocabularies["mistral"], [Word("πόλη")], steps=True)
    assert "π" in greek.words[0]["reason"]


@pytest.mark.parametrize("family", FAMILIES)
def test_words_and_learned_tokens(family, bases, corpora, tmp_path):
    """The size holds both; words stay reachable after what is learned."""
    path = listed(tmp_path, "Consiglio\tan assembly", "proposte\t=the", "New York")
    size = len(load_tokenizer(bases[family])) + 60
    inputs = inputs_of({"corpora": mixture(corpora, it=1.0)}, base=bases[family])
    inputs = BuildInputs(inputs.mixtures, inputs.tokenizers, {**inputs.places, "words": path})
    manifest = construct("extend", inputs, tmp_path / "out", size=size, word_steps=True)
    assert manifest["vocabulary_size"] == size and manifest["ids_kept"]
    counts = manifest["words"]
    whole = family in ("mistral",)
    assert [counts[key] for key in ("added", "impossible")] == ([3, 0] if whole else [2, 1])
    assert manifest["added"] == 60 and manifest["added_unused"] < 20
    lines = counts["lines"]["it"]
    assert lines["lines"] > 200 and (lines["words"]["changed"] == 0 or counts["steps"])
    made = load_tokenizer(tmp_path / "out")
    for word in read_json(tmp_path / "out" / "words.json")["words"][:2]:
        ids = {token["id"] for token in word["tokens"]}
        assert made("a " + word["word"], add_special_tokens=False)["input_ids"][-1] in ids
        assert word.get("description") == "an assembly" or word["like"] == "the"


def test_words_alone_need_no_text(bases, tmp_path):
    path = listed(tmp_path, "gatto", "", "gatto", "cane")
    inputs = inputs_of({}, base=bases["byte_level"])
    inputs.places["words"] = path
    exact = construct("extend", inputs, tmp_path / "exact")
    assert exact["words"]["steps"] == 0
    manifest = construct("extend", inputs, tmp_path / "out", word_steps=True)
    assert manifest["words"]["added"] == 2 > exact["words"]["added"]
    assert manifest["vocabulary_size"] == manifest["base_size"] + manifest["words"]["tokens"]
    with pytest.raises(RevocabError, match="add, add_share, size"):
        construct("extend", inputs_of({}, base=bases["byte_level"]), tmp_path / "none")
    with pytest.raises(RevocabError, match="corpora"):
        construct("extend", inputs_of({}, base=bases["byte_level"]), tmp_path / "none", add=4)


@pytest.mark.parametrize(("alphabet", "model"), [("byte_level", "bpe"), ("byte_fallback", "bpe"),
                                                 ("byte_fallback", "unigram")])  # fmt: skip
def test_trained_with_words_within_the_size(alphabet, model, corpora, tmp_path):
    inputs = BuildInputs(
        {"corpora": mixture(corpora, it=1.0)}, places={"words": listed(tmp_path, *WORDS[:3])}
    )
    options = {"alphabet": alphabet, "model": model, "vocabulary_size": 640, "word_steps": True}
    manifest = construct("train", inputs, tmp_path / "out", **options)
    assert manifest["vocabulary_size"] == 640
    made = load_tokenizer(tmp_path / "out")
    for word in read_json(tmp_path / "out" / "words.json")["words"]:
        ids = {token["id"] for token in word["tokens"]}
        assert made("a " + word["word"], add_special_tokens=False)["input_ids"][-1] in ids


def test_a_damaged_list_is_refused_with_all_its_lines(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(
        b"\xef\xbb\xbfgatto\tcat\r\n\r\n gatto \tcat\ncane\t=dog\nb\xff\n\tmeaning\na\tb\tc\n"
        b"sole\t=\ngatto\tdog\nbell\x07\n" + b"l" * 101
    )
    with pytest.raises(RevocabError) as refused:
        read_words(path)
    lines = [problem.split(":")[0].split()[-1] for problem in refused.value.problems]
    assert lines == ["5", "6", "7", "8", "9", "10", "11"]
    path.write_bytes(b"\xef\xbb\xbfgatto\tcat\r\n\r\n gatto \tcat\ncane\t= dog")
    assert read_words(path) == [Word("gatto", None, "cat"), Word("cane", "dog")]
    path.write_text("\n\n")
    with pytest.raises(RevocabError, match="no word"):
        read_words(path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/hostname")
    for name in ("pipe", "link", "absent"):
        with pytest.raises(RevocabError, match=name):
            read_words(tmp_path / name)


def test_long_words_of_many_pieces_are_listed_and_not_made(vocabularies):
    """Orders of merges are searched for in all pieces, which takes their number cubed."""
    long = "".join("abcdefghij"[number * number % 7] for number in range(MOST_CHARACTERS))
    added = add_words(vocabularies["byte_level"], [Word(long), Word("gatto")], steps=True)
    assert [word["became"] for word in added.words] == ["impossible", "added"]
    assert "pieces" in added.words[0]["reason"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("abAB ßé", min_size=1, max_size=4), min_size=1, max_size=6),
       st.lists(st.text("abAB ßé\n", max_size=12), max_size=4))  # fmt: skip
def test_lines_without_the_words_hold_none_in_any_case(words, texts):
    added = AddedWords(None, [], [], [{"word": word} for word in words])
    lines = [line for text in texts for line in text.splitlines() if line]
    folded = [word.casefold() for word in words]
    expected = [line for line in lines if not any(word in line.casefold() for word in folded)]
    assert [*added.texts_without(texts)] == expected
