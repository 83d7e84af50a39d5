"""The curve of tokens against vocabulary size is what separately built tokenizers give."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from itertools import accumulate

import pytest
from construction_toys import ENGLISH, FAMILIES, GREEK, ITALIAN, change, mixture
from hypothesis import given
from hypothesis import strategies as st

from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.read import texts
from revocab.errors import RevocabError
from revocab.product.advice.curve import (
    LEAST_BYTES,
    Curve,
    CurvePoint,
    draw_curve,
    find_knee,
    nested_runs,
    sample_text,
)
from revocab.vocabulary.building.editable import EditableVocabulary, merge_pieces
from revocab.vocabulary.building.expansion import ExpansionCorpus
from revocab.vocabulary.building.new_tokens import savings
from revocab.vocabulary.building.training_text import CutPretokens, count_pretokens
from revocab.vocabulary.token_counts import count_tokens
from revocab.vocabulary.tokenizers.load import load_tokenizer

KEEP = 0.85
#: So that the smaller ones have room for fewer of the Greek letters than there are.
SIZES = (8, 40, 90, 170, 260)
#: Text of other words, with what a tokenizer takes apart in its own way.
HELDOUT = [
    *ENGLISH[::5],
    *(f"{text}\n\n  {text.upper()} </s>{text}..!?\n\n" for text in ITALIAN[::9] + GREEK[:3]),
    *("", "  ", "▁ ▁▁x\t<unk>", "Ciao日本\u200dπόλη πόλη", "a" * 50),
]


def built_counts(way, base, folder, out, sizes=SIZES, heldout=HELDOUT, keep=KEEP):
    """Return the tokens of the held-out text by tokenizers built one by one."""
    counts = []
    number = round(keep * len(load_tokenizer(base)))
    for size in sizes:
        options = {"add": size} if way == "extend" else {"keep": keep, "size": number + size}
        text = {"corpora": mixture({"text": folder}, text=1.0)}
        change(way, base, text, out / str(size), **options)
        made = load_tokenizer(out / str(size))
        counts.append((size, count_tokens(made.backend_tokenizer, heldout), len(made)))
    return counts


def points_of(points):
    return [(point.added, point.tokens, point.vocabulary) for point in points]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", ["extend", "optimise"])
def test_the_curve_is_that_of_separately_built_tokenizers(way, family, corpora, bases, tmp_path):
    tokenizer, training = load_tokenizer(bases[family]), list(texts(corpora["el"]))
    curve = draw_curve(way, tokenizer, training, HELDOUT, SIZES, keep=KEEP)
    assert points_of(curve.points) == built_counts(way, bases[family], corpora["el"], tmp_path)
    assert curve.source_tokens == count_tokens(tokenizer.backend_tokenizer, HELDOUT)
    assert curve.kept == (len(tokenizer) if way == "extend" else round(KEEP * len(tokenizer)))
    assert curve.most is None
    assert json.loads(json.dumps(asdict(curve)))["knee"] == curve.knee


def test_half_is_a_curve_of_every_other_document(corpora, bases):
    tokenizer, training = load_tokenizer(bases["mistral"]), list(texts(corpora["it"]))
    curve = draw_curve("extend", tokenizer, training, HELDOUT, SIZES)
    alone = draw_curve("extend", tokenizer, training[::2], HELDOUT, SIZES)
    assert curve.half == alone.points != curve.points


def test_text_that_gives_too_few_tokens_ends_the_curve(bases):
    """A word of four pieces that stands twice gives three merges; all other words stand once."""
    tokenizer = load_tokenizer(bases["mistral"])
    words = ["gbfd b gbfd c d"]
    assert tokenizer.tokenize("gbfd") == ["▁g", "b", "f", "d"]
    curve = draw_curve("extend", tokenizer, words, ["gbfd"], (1, 3, 50))
    assert points_of(curve.points) == [
        (added, 4 - added, len(tokenizer) + added) for added in (1, 3)
    ]
    assert curve.most == 3
    with pytest.raises(RevocabError, match="gives 3 new tokens, and 4 is the smallest number"):
        draw_curve("extend", tokenizer, words, ["gbfd"], (4, 5))


def test_sizes_in_as_few_runs_as_there_are_alphabets(bases):
    """The Greek text has 16 letters or more that the base lacks: 8 of a size are one of them."""
    mistral = EditableVocabulary.read(load_tokenizer(bases["mistral"]))
    words = count_pretokens(mistral, ["αβγδεζηθικλμνξοπ"] * 2)
    corpus = ExpansionCorpus([], {}, words)
    sizes = [8, 15, 64, 128, 500, 9000]
    assert nested_runs(mistral, corpus, sizes) == [[8, 15], [64], [128, 500, 9000]]
    bytes_only = EditableVocabulary.read(load_tokenizer(bases["byte_level"]))
    assert nested_runs(bytes_only, corpus, sizes) == [sizes]
    unigram = EditableVocabulary.read(load_tokenizer(bases["unigram"]))
    assert nested_runs(unigram, corpus, sizes) == [[size] for size in sizes]


@given(
    words=st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=9),
    merged=st.lists(st.sampled_from("abc") | st.just("-"), min_size=0, max_size=9),
)
def test_merges_one_by_one_are_prefixes_of_all_merges(words, merged):
    """Against byte-pair encoding with the first merges alone, written another way."""
    merges, pieces = [], ["a", "b", "c"]
    for letter in merged:
        left, right = pieces[-1], letter if letter != "-" else pieces[-1]
        if left + right not in pieces:
            merges.append((left, right))
            pieces.append(left + right)
    cut = CutPretokens([list(word) for word in words], [3] * len(words))
    totals = list(
        accumulate(savings(cut, merges), lambda a, b: a - b, initial=3 * sum(map(len, words)))
    )
    for number, total in enumerate(totals):
        ranks = {merge: rank for rank, merge in enumerate(merges[:number])}
        assert total == 3 * sum(len(merge_pieces(word, ranks)[0]) for word in words)


@pytest.mark.parametrize(
    ("tokens", "knee"),
    [
        # Of 10,000 tokens 1,000 new ones must save 50: so 1,000, 1,000, 2,000 and 4,000 more.
        ((9000, 8950, 8850, 8650), 8000),
        ((9000, 8950, 8850, 8651), 4000),
        ((9000, 8951, 8000, 7000), 1000),
        ((9951, 8000, 7000, 6000), 0),
    ],
)
def test_knee_by_hand(tokens, knee):
    sizes = (1000, 2000, 4000, 8000)
    points = [CurvePoint(size, count, 0) for size, count in zip(sizes, tokens, strict=True)]
    assert find_knee(10_000, 10_000, points) == knee


def test_what_a_point_saves():
    points = (CurvePoint(1000, 750, 2000), CurvePoint(2000, 1200, 3000))
    curve = Curve("extend", 1000, 1000, 1000, 1000, points, (), 1000, None, 9, 1, 1)
    assert [curve.saving(point) for point in points] == pytest.approx([0.25, -0.2])


def documents(count):
    return [f"{number} {ITALIAN[number % len(ITALIAN)]} " * 20 for number in range(count)]


def test_a_sample_hangs_on_the_set_of_documents_alone():
    whole = documents(300)
    sample = sample_text("mine", whole, "it", 10**7)
    assert sample == sample_text("mine", [*reversed(whole)], "it", 10**7)
    assert {*sample.training, *sample.heldout} == {*whole}
    assert not {*sample.training} & {*sample.heldout}
    heldout, size = (sum(len(text.encode()) for text in part) for part in (sample.heldout, whole))
    assert 0.1 <= heldout / size < 0.12
    assert sample_text("mine", [*whole, *whole, " \n"], "it", 10**7) == sample


def test_a_sample_keeps_to_its_limit():
    whole = documents(300)
    sample = sample_text("mine", whole, "it", 150_000)
    lengths = [len(text.encode()) for text in (*sample.training, *sample.heldout)]
    assert 140_000 < sum(lengths) <= 150_000
    assert max(lengths) <= 1500
    assert all(any(one.startswith(text) for one in whole) for text in sample.heldout)


@pytest.mark.parametrize(
    ("content", "language", "message"),
    [
        ([], "it", f"0 documents of 0 bytes.*and {LEAST_BYTES:,} bytes are needed.*give more"),
        (["", "\n"], "it", "0 documents of 0 bytes"),
        (documents(5), "it", "5 documents of .*at least 10"),
        (documents(1) * 99, "it", "1 of them different"),
        (["un libro"], "it", "1 documents of 8 bytes"),
        ([f"{text} " * 40 for text in ENGLISH], "it", r"given as Italian \(it\), but .* of Eng"),
        ([f"{text} " * 40 for text in ENGLISH], "el", r"given as Greek \(el\), but .* of Eng"),
        ([f"{n} Η πόλη βλέπει " * 99 for n in range(99)], "it", "only 0% of its words are freq"),
        ([f"{n} 12 34 {n} !" * 999 for n in range(99)], "it", "no words in the text; give"),
    ],
)  # fmt: skip
def test_text_that_tells_nothing_is_refused(content, language, message):
    with pytest.raises(RevocabError, match=message) as caught:
        sample_text("mine", content, language, 10**7)
    assert caught.value.problems[0].startswith("mine: ")


def test_text_of_any_language_is_taken_that_no_word_list_tells():
    greek = [f"{n} Η πόλη βλέπει " * 99 for n in range(99)]
    assert sample_text("mine", greek, "el", 10**7).training


@pytest.mark.long
@pytest.mark.shared_data
@pytest.mark.parametrize("way", ["extend", "optimise"])
def test_real_mistral_and_swahili(way, shared_folder, tmp_path):
    base = shared_folder / "tokenizers" / "mistral-7b-v0.1"
    with gzip.open(shared_folder / "data/corpora/sw/mafand_globalvoices.jsonl.gz", "rt") as handle:
        sample = sample_text("sw", (json.loads(line)["text"] for line in handle), "sw", 400_000)
    rows = [{"text": text} for text in sample.training]
    prepare_corpus(rows, {"label": "sw"}, CorpusJob(corpus="sw", language="sw"), tmp_path / "sw")
    sizes = (100, 300, 1000, 2000, 3000)
    curve = draw_curve(way, load_tokenizer(base), sample.training, sample.heldout, sizes)
    counts = built_counts(way, base, tmp_path / "sw", tmp_path, sizes, sample.heldout, keep=0.5)
    assert points_of(curve.points) == counts
    assert 0.2 < curve.saving(curve.points[-1]) < 0.5
