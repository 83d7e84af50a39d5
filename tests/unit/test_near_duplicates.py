"""Near duplicates: what is left out, what is kept, and how sure a signature is."""

from __future__ import annotations

import random

import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab.corpora.prepare import CorpusJob, NearDuplicates, Signatures, ngrams, prepare_corpus
from revocab.corpora.read import texts

DRAW = random.Random(7)
WORDS = [f"word{number}" for number in range(500)]


def text_of(number: int) -> list[str]:
    return [DRAW.choice(WORDS) for _ in range(number)]


def test_ngrams_by_hand():
    assert ngrams("One two  three\nFOUR", 3) == {"one two three", "two three four"}
    assert ngrams("Too short", 5) == {"too short"}


def test_a_text_with_a_word_changed_is_near_and_another_text_is_not():
    """300 words: changing the last leaves 295 of 297 5-grams; half another text leaves a third."""
    first, other = text_of(300), text_of(300)
    found = Signatures(NearDuplicates())
    assert found.add(" ".join(first))
    assert not found.add(" ".join(first))
    assert not found.add(" ".join([*first[:-1], "changed"]).upper())
    assert found.add(" ".join([*first[:150], *other[:150]]))
    assert found.add(" ".join(other))


@settings(max_examples=25)
@given(st.integers(0, 30))
def test_the_threshold_decides(changed):
    """n words at the end of 40 changed: (36 - n) of (36 + n) 5-grams are common."""
    first = text_of(40)
    second = [*first[: 40 - changed], *text_of(changed)]
    similarity = (36 - min(changed, 36)) / (36 + min(changed, 36))
    found = Signatures(NearDuplicates(permutations=512))
    found.add(" ".join(first))
    kept = found.add(" ".join(second))
    if similarity > 0.95:
        assert not kept
    if similarity < 0.65:
        assert kept


@pytest.mark.parametrize(("threshold", "permutations"), [(0.8, 128), (0.9, 20), (0.51, 64)])
def test_no_document_estimated_as_near_is_kept(threshold, permutations):
    options = NearDuplicates(threshold=threshold, permutations=permutations)
    near = 0
    for number in range(90):
        first = text_of(100)
        changed = number % 45
        second = [*first[: 100 - changed], *text_of(changed)]
        signatures = []
        for words in (first, second):
            signature = MinHash(num_perm=permutations, seed=1)
            signature.update_batch([gram.encode() for gram in ngrams(" ".join(words), 5)])
            signatures.append(signature)
        index = Signatures(options)
        index.add(" ".join(first))
        is_near = signatures[0].jaccard(signatures[1]) >= threshold
        near += is_near
        assert index.add(" ".join(second)) is not is_near
    assert 10 < near < 80


def test_a_corpus_without_near_duplicates(tmp_path):
    first, other = text_of(100), text_of(100)
    rows = [first, [*first[:-1], "end"], other, first]
    given_rows = [{"text": " ".join(one)} for one in rows]

    def prepared(name: str, **options) -> tuple[list[str], dict]:
        job = CorpusJob(corpus="c", language="en", **options)
        made = prepare_corpus(given_rows, {"label": "rows"}, job, tmp_path / name)
        return list(texts(tmp_path / name)), made

    plain, manifest = prepared("plain")
    assert len(plain) == 3 and manifest["skipped"] == {"empty": 0, "duplicate": 1}
    assert "near_duplicates" not in manifest
    kept, manifest = prepared("near", near_duplicates={"words": 3})
    assert kept == [" ".join(first), " ".join(other)]
    assert manifest["skipped"] == {"empty": 0, "duplicate": 1, "near_duplicate": 1}
    assert manifest["near_duplicates"] == {"threshold": 0.8, "words": 3, "permutations": 128}
