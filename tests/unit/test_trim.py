"""Trimmed tokenizers: what is kept is as it was, over every family and over random vocabularies."""

from __future__ import annotations

import json

import numpy as np
import pytest
from construction_toys import ENGLISH, FAMILIES, GREEK, ITALIAN, edited, mixture, prepared
from construction_toys import change as build
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_vocabularies import unigram, with_merges

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.vocabulary.building.constructions.trim import (
    Measure,
    Trim,
    check_known,
    check_spelling,
    compare_lines,
    count_ids,
    coverage_after,
    mean_shares,
    most_that_may_go,
    rounded_up,
)
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.tokenizers.alphabets import to_byte_level
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary, unreachable
from revocab.vocabulary.tokenizers.load import load_tokenizer

WORDS = st.sampled_from(sorted({word for text in ENGLISH + ITALIAN for word in text.split()}))
OTHERS = st.sampled_from(["  ", "\n", "▁", "日本", "Привет", "e\u0301", "👩\u200d👧", " 2026", "Ġ"])
TEXT = st.lists(WORDS | WORDS.map(" {}".format) | OTHERS | st.characters(exclude_categories=["Cs"]),
                max_size=12).map("".join)  # fmt: skip
some = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def trimmed(tokenizer, texts, stay=None, **measure):
    vocabulary = EditableVocabulary.read(tokenizer)
    uses_LV = np.array([count_ids(tokenizer, [text]) for text in texts])
    uses_LV = uses_LV.reshape(-1, len(vocabulary))
    return Trim.choose(vocabulary, uses_LV, Measure(**measure), stay)


@pytest.fixture(scope="module")
def trims(bases):
    """Each family for half of the English text: words of the rest lose tokens."""
    text = " ".join(ENGLISH[: len(ENGLISH) // 2])
    return {name: trimmed(load_tokenizer(bases[name]), [text], keep=400) for name in FAMILIES}


@pytest.fixture(params=FAMILIES)
def trim(request, trims):
    return trims[request.param]


def assert_as_before(trim, text):
    base, made = trim.vocabulary.base, trim.tokenizer
    before, after = base(text).input_ids, made(text).input_ids
    kept = trim.kept_N.tolist()
    if {*before} <= {*kept}:
        assert [kept[number] for number in after] == before
    assert made.decode(after) == base.decode(before)
    assert made.unk_token_id not in after or base.unk_token_id in before


@some
@given(text=TEXT)
def test_text_of_kept_tokens_has_the_same_tokens_and_all_text_decodes_as_before(trim, text):
    assert_as_before(trim, text)


def test_real_lines_and_the_counts_of_them(trim):
    texts = [*ENGLISH, *ITALIAN, *GREEK]
    told = compare_lines(trim, texts)
    for text in texts:
        assert_as_before(trim, text)
    assert 0 < told.same < told.lines == sum(len(text.splitlines()) for text in texts)
    assert told.tokens_after > told.tokens_before


def test_a_result_that_cuts_text_otherwise_is_refused(trim):
    broken = Trim(trim.vocabulary, trim.uses_LV, trim.order_K, trim.going)
    broken.__dict__["tokenizer"] = trim.vocabulary.tokenizer()  # nothing renumbered
    with pytest.raises(RevocabError, match="cannot be trimmed here"):
        compare_lines(broken, ENGLISH)


def test_every_kept_token_stays_reachable_and_no_merge_is_left_over(trim):
    base, made = trim.vocabulary.base, trim.tokenizer
    lost = [unreachable(one, canonical_vocabulary(one)).keys() for one in (base, made)]
    assert {trim.kept_N[number] for number in lost[1]} <= {*lost[0]}
    model = json.loads(made.backend_tokenizer.to_str())["model"]
    for left, right in model.get("merges", ()):
        assert {left, right, left + right} <= model["vocab"].keys()


def test_bytes_digits_and_added_tokens_stay(trim):
    vocabulary = trim.vocabulary
    digits = {token for token in vocabulary.ids if token.strip("▁Ġ").isdecimal()}
    assert (vocabulary.protected | digits) <= trim.tokenizer.get_vocab().keys()
    assert made_number(trim.tokenizer) == made_number(vocabulary.base)


def made_number(tokenizer):
    return tokenizer.tokenize("12 2026")


@st.composite
def random_bpe(draw):
    """A byte-level vocabulary of random merges: also two merges into one token, and merges that
    earlier ones keep from ever being made.
    """
    made, merges, letters = [], [], ["a", "b", "Ġ"]
    for _ in range(draw(st.integers(3, 25))):
        pair = tuple(draw(st.sampled_from(letters)) for _ in range(2))
        if pair in merges or len("".join(pair)) > 8:
            continue
        merges.append(pair)
        if "".join(pair) not in made:
            made.append("".join(pair))
            letters.append("".join(pair))
    ignore_merges, pattern = draw(st.booleans()), draw(st.booleans())
    return with_merges(made, merges, pattern, ignore_merges=ignore_merges)


LETTERS = st.text("ab ", max_size=30)


@settings(max_examples=150, deadline=None)
@given(tokenizer=random_bpe(), data=st.data())
def test_random_vocabularies_lose_nothing_that_they_keep(tokenizer, data):
    counted = data.draw(st.lists(LETTERS, max_size=3))
    fewest = 256
    keep = data.draw(st.integers(fewest, len(tokenizer) - 1)) if len(tokenizer) > fewest else None
    if keep is None:
        return
    trim = trimmed(tokenizer, counted, keep=keep)
    assert len(trim.tokenizer) == keep
    for text in data.draw(st.lists(LETTERS, min_size=5, max_size=10)):
        assert_as_before(trim, text)


def test_a_word_that_ignore_merges_takes_whole_goes_like_any_other():
    """``ab`` is no merge here, and comes only where it is a whole word."""
    base = with_merges(["ab", "ba"], [("b", "a")], ignore_merges=True)
    assert base.tokenize("ab aba") == ["ab", "Ġ", "a", "ba"]
    without = trimmed(base, ["aba"], keep=257).tokenizer
    assert without.tokenize("ab aba") == ["a", "b", "Ġ", "a", "ba"]
    assert trimmed(base, ["ab"], keep=257).tokenizer.tokenize("ab aba") == [
        "ab", "Ġ", "a", "b", "a"
    ]  # fmt: skip


def test_uses_of_a_token_that_goes_count_for_what_it_is_made_of():
    """abc is used three times and cd twice: when abc has gone, ab spells it, and outlives cd."""
    merges = [("a", "b"), ("c", "d"), ("ab", "c")]
    vocabulary = EditableVocabulary.read(with_merges(["ab", "cd", "abc"], merges))
    counts = {"abc": 3, "cd": 4, "ab": 2}
    assert [*vocabulary.dropping_order(counts)] == ["abc", "ab", "cd"]
    assert [*vocabulary.dropping_order(counts, credit=True)] == ["abc", "cd", "ab"]
    assert [*vocabulary.dropping_order(counts, stay={"cd"})] == ["abc", "ab"]
    assert [*vocabulary.dropping_order(counts, last={"abc"})] == ["cd", "abc", "ab"]


@pytest.mark.parametrize(
    ("keep", "uses", "reasons"),
    [
        (260, (0, 1, 3), "part:abc rare used listed"),
        (259, (0, 1, 3), "spells:abc rare rare listed"),
        (260, (0, 0, 3), "part:abc unused used listed"),
        (260, (0, 0, 0), "spells:abc size unused listed"),
    ],
)
def test_every_token_has_a_reason(keep, uses, reasons):
    merges = [("a", "b"), ("c", "d"), ("ab", "c"), ("b", "d")]
    tokens = ["ab", "cd", "abc", "bd"]
    vocabulary = EditableVocabulary.read(with_merges(tokens, merges, special=["<end>"]))
    uses_LV = np.zeros((1, 261), int)
    uses_LV[0, 256:259] = uses
    trim = Trim.choose(vocabulary, uses_LV, Measure(keep=keep), {"bd": "listed"})
    rows = [*trim.explain(["it"])]
    assert [row["id"] for row in rows] == [*range(261)]
    assert [row["new_id"] for row in rows if row["new_id"] is not None] == [*range(keep)]
    assert {row["token"] for row in rows if row["new_id"] is None} == {*trim.dropped}
    said = [":".join(filter(None, (row["reason"], row["of"]))) for row in rows]
    assert said == ["byte"] * 256 + [*reasons.split(), "special"]
    assert [row["uses_it"] for row in rows[256:259]] == [*uses]
    assert {row["token"]: row["text"] for row in rows}["Ġ"] == " "


def test_coverage_is_that_of_every_text():
    uses_LV = np.array([[6, 3, 1, 0], [0, 50, 0, 50]])
    assert mean_shares(uses_LV) == pytest.approx([0.3, 0.4, 0.05, 0.25])
    coverage_LK = coverage_after(uses_LV, np.array([2, 0, 3]))
    assert coverage_LK == pytest.approx(np.array([[1, 0.9, 0.3, 0.3], [1, 1, 1, 0.5]]))
    shares = (1, 0.9, 0.5, 0.3)
    assert [most_that_may_go(coverage_LK, least) for least in shares] == [0, 1, 1, 3]
    assert coverage_after(np.zeros((0, 4), int), np.array([2, 0])).shape == (0, 3)
    assert [rounded_up(1000, going) for going in (0, 1, 40, 104, 105)] == [0, 0, 40, 104, 104]


def test_two_languages_are_covered_each(bases):
    base = load_tokenizer(bases["byte_level"])
    texts = [" ".join(ENGLISH[:40]), " ".join(ITALIAN[:2])]
    trim = trimmed(base, texts, coverage=0.98)
    coverage_L = trim.coverage_LK[:, trim.going]
    assert coverage_L.min() >= 0.98 and len(trim.tokenizer) % 64 == 0
    alone = trimmed(base, texts[1:], coverage=0.98)
    assert len(alone.tokenizer) < len(trim.tokenizer)


def test_languages_keep_all_text_of_their_scripts(bases, tmp_path):
    greek = {f"{one}{other}": 0 for one in "αβγ" for other in "δεζ"}
    base = load_tokenizer(bases["byte_fallback"])
    model = read_json(bases["byte_fallback"] / "tokenizer.json")["model"]
    letters = dict.fromkeys("".join(greek))
    tokens = [*model["vocab"], *letters, *greek, "ж"]
    folder = edited(
        base, tmp_path / "g", model__vocab={token: n for n, token in enumerate(tokens)},
        model__merges=[*model["merges"], *([*pair] for pair in greek)],
    )  # fmt: skip
    both = load_tokenizer(folder)
    for languages in (["it"], ["it,el"], ["it", "el"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("revocab.vocabulary.building.constructions.trim.MULTIPLE", 1)
            kept = trimmed(both, [], languages=languages).tokenizer.get_vocab().keys()
        assert "ж" not in kept and model["vocab"].keys() <= kept
        assert (greek.keys() <= kept) == (languages != ["it"]) == ("αδ" in kept)


def test_what_is_asked_to_stay_stays_with_its_parts(bases):
    base = load_tokenizer(bases["byte_level"])
    vocabulary = EditableVocabulary.read(base)
    longest = max(vocabulary.ids.keys() - vocabulary.protected, key=len)
    plain = trimmed(base, [], keep=300)
    assert longest not in plain.tokenizer.get_vocab()
    kept = trimmed(base, [], stay={longest: "listed"}, keep=300)
    text = vocabulary.text(longest).decode()
    assert kept.tokenizer.tokenize(text) == base.tokenize(text) == [longest]


def test_what_a_chat_template_writes_stays(bases):
    base = load_tokenizer(bases["byte_level"])
    base.chat_template = "{% for m in messages %}the children: {{ m['content'] }}{% endfor %}"
    written = base.tokenize("the children:")
    assert {*written} <= trimmed(base, [], keep=340).tokenizer.get_vocab().keys()
    broken = "{{ raise_exception('no') }} the children:"
    base.chat_template = broken
    assert {*base.tokenize(broken)} <= trimmed(base, [], keep=340).tokenizer.get_vocab().keys()
    base.chat_template = None
    assert not {*written} <= trimmed(base, [], keep=340).tokenizer.get_vocab().keys()


def test_a_vocabulary_without_bytes_is_trimmed_if_asked_and_keeps_its_characters():
    vocabulary = EditableVocabulary.read(unigram(("can", -2.5)))
    with pytest.raises(RevocabError) as refused:
        check_spelling(vocabulary, False, "--allow-unknown")
    (problem,) = refused.value.problems
    assert "243 of the 243" in problem and "--allow-unknown" in problem and "<unk>" in problem
    assert "0x00 to 0xBF, 0xC2 to 0xF4" in problem
    stay = dict.fromkeys(check_spelling(vocabulary, True, "--allow-unknown"), "character")
    uses_LV = count_ids(vocabulary.base, ["cane"])[None]
    trim = Trim.choose(vocabulary, uses_LV, Measure(keep=len(vocabulary) - 2), stay)
    assert {*trim.dropped} == {"can", "cane"} and {*"acneè▁"} <= trim.tokenizer.get_vocab().keys()
    for text in ("cane", "can è", "xé cane", "canex"):
        assert_as_before(trim, text)


@pytest.mark.parametrize(
    ("without", "named"),
    [
        ([1, 2, 3, 0xF1], ["4 of the 243", "0x01 to 0x03, 0xF1"]),
        ([0x7F], ["0x7F"]),
        ([0xC0, 0xC1, *range(0xF5, 0x100)], []),  # never in UTF-8
    ],
)
def test_bytes_without_a_token_are_named(bases, without, named):
    vocabulary = EditableVocabulary.read(load_tokenizer(bases["byte_level"]))
    fewer = vocabulary.without(map(to_byte_level, map(bytes, zip(without))))
    if not named:
        assert not check_spelling(fewer, False, "--allow-unknown")
        return
    with pytest.raises(RevocabError) as refused:
        check_spelling(fewer, False, "--allow-unknown")
    assert all(word in refused.value.problems[0] for word in named)


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ({"keep": 10**6}, "has 600, of which"),
        ({"keep": 100}, "stay in any case"),
        ({"languages": ["it"]}, "nothing to trim"),
        ({"languages": ["nl"]}, "languages/nl.yaml names no scripts"),
    ],
)
def test_what_cannot_be_chosen_is_refused(bases, measure, said):
    with pytest.raises(RevocabError, match=said):
        trimmed(load_tokenizer(bases["byte_level"]), ["the"], **measure)


def test_tokens_that_are_not_there_are_refused(bases):
    vocabulary = EditableVocabulary.read(load_tokenizer(bases["byte_level"]))
    check_known(vocabulary, ["Ġthe"], "--tokens f")
    with pytest.raises(RevocabError, match=r"--tokens f: 2 that .* does not have: ' the', 'zzzz'"):
        check_known(vocabulary, [" the", "zzzz", "Ġthe"], "--tokens f")


def test_as_a_construction(bases, tmp_path):
    corpora = prepared(tmp_path)
    text = {"corpora": mixture(corpora, en=0.5, it=0.5)}
    folder = bases["byte_level"]
    made = build("trim", folder, text, tmp_path / "t", coverage=0.8, tokens=["Ġthe"])
    assert made["kept"] == made["vocabulary_size"] == 600 - made["dropped"] < 600
    assert min(made["coverage"].values()) >= 0.8 and made["coverage"].keys() == {"en", "it"}
    changes = read_json(tmp_path / "t/changes.json")
    assert not changes["added"] and len(changes["dropped"]) == made["dropped"]
    again = build("trim", folder, text, tmp_path / "again", coverage=0.8, tokens=["Ġthe"])
    assert again == made
    with pytest.raises(RevocabError, match="need corpora to count tokens in"):
        build("trim", folder, {}, tmp_path / "n", keep=300)
    with pytest.raises(RevocabError, match="option tokens: 1 that"):
        build("trim", folder, text, tmp_path / "n", keep=300, tokens=["none"])
    with pytest.raises(RevocabError, match="exactly one of keep, coverage, languages"):
        build("trim", folder, text, tmp_path / "n")
