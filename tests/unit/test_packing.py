"""Packing: hand-computed rows, mixture by tokens, counts of the text packed, errors."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab import io
from revocab.errors import RevocabError
from revocab.training.mixture import interleave, rows_by_share
from revocab.training.packing import (
    PackingOptions,
    pack,
    pack_folder,
)
from revocab.training.tokens import TextTokenizer

WORDS = ["[unk]", "<s>", "</s>", *"abcdefgh", "è", "città"]
IDS = {word: number for number, word in enumerate(WORDS)}
START, END = 1, 2


def backend():
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel(IDS, unk_token="[unk]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


@pytest.fixture
def tokenizer():
    return TextTokenizer(backend(), len(WORDS), START, END, Path("toy"))


def reader(*texts):
    return lambda: [{"id": str(number), "text": text} for number, text in enumerate(texts)]


def packed(tokenizer, corpora, **options):
    options = PackingOptions(**{"sequence_length": 4, "rows": 2, "seed": 1, **options})
    array = np.zeros((options.rows, options.sequence_length), dtype=np.uint16)
    return array, pack(array, corpora, tokenizer, options)


def ids(text):
    return [IDS[word] for word in text.split()]


def test_documents_are_wrapped_and_the_last_one_is_cut(tokenizer):
    array, result = packed(tokenizer, {"x": (1.0, reader("a b c d", "e f g h"))})
    assert array.tolist() == [ids("<s> a b c"), ids("d <s> e f")]
    count = result.corpora["x"]
    # "e f" of the second document was packed: 7 + 3 bytes, 4 + 2 words.
    assert (count.tokens, count.documents, count.bytes, count.words) == (8, 2, 10, 6)
    assert result.largest_id == IDS["f"]


def test_document_end_and_no_document_start(tokenizer):
    array, _ = packed(
        tokenizer, {"x": (1.0, reader("a b", "c", "d e"))}, document_start=False, document_end=True
    )
    assert array.tolist() == [ids("a b </s> c"), ids("</s> d e </s>")]


def test_a_cut_that_falls_on_a_special_counts_no_text(tokenizer):
    corpora = {"x": (1.0, reader("a b c d e f", "g"))}
    array, result = packed(tokenizer, corpora)
    assert array[1].tolist() == ids("d e f <s>")
    assert (result.corpora["x"].documents, result.corpora["x"].bytes) == (2, 11)


def test_bytes_are_utf8(tokenizer):
    _, result = packed(tokenizer, {"x": (1.0, reader("è città", "a b c d e f"))})
    assert result.corpora["x"].bytes == len("è città".encode()) + len("a b c d")


def test_empty_documents_are_skipped_and_counted(tokenizer):
    array, result = packed(tokenizer, {"x": (1.0, reader("", "a b c", "  ", "d e f g"))})
    assert array.tolist() == [ids("<s> a b c"), ids("<s> d e f")]
    assert result.corpora["x"].skipped_empty == 2


def test_a_corpus_that_ends_early_is_an_error_that_says_what_to_do(tokenizer):
    with pytest.raises(RevocabError, match=r"corpus x: ends after 4 tokens, 8 needed.*repeat_corp"):
        packed(tokenizer, {"x": (1.0, reader("a b c"))})


def test_a_corpus_repeats_when_allowed_and_passes_are_counted(tokenizer):
    array, result = packed(tokenizer, {"x": (1.0, reader("a b"))}, repeat_corpora=True)
    assert array.tolist() == [ids("<s> a b <s>"), ids("a b <s> a")]
    assert (result.corpora["x"].passes, result.corpora["x"].words) == (3, 5)


def test_a_corpus_without_text_never_repeats(tokenizer):
    with pytest.raises(RevocabError, match="corpus x: no text"):
        packed(tokenizer, {"x": (1.0, reader(""))}, repeat_corpora=True)


def test_broken_unicode_names_the_document(tokenizer):
    with pytest.raises(RevocabError, match="document '1': text is not valid Unicode"):
        packed(tokenizer, {"x": (1.0, reader("a b", "\ud800"))})


def test_tokenizer_without_bos(tokenizer):
    without = TextTokenizer(tokenizer.backend, len(WORDS), None, END, Path("toy"))
    with pytest.raises(RevocabError, match="toy: tokenizer has no bos token; set document_start"):
        packed(without, {"x": (1.0, reader("a b c"))})


def test_two_corpora_keep_document_order_and_shares(tokenizer):
    corpora = {
        "it": (0.75, reader(*["a b c"] * 10, *["c b a"] * 10)),
        "en": (0.25, reader(*["d e f"] * 5)),
    }
    array, result = packed(tokenizer, corpora, rows=16)
    assert {name: count.rows for name, count in result.corpora.items()} == {"it": 12, "en": 4}
    italian = [row for row in array.tolist() if IDS["a"] in row]
    assert italian == [ids("<s> a b c")] * 10 + [ids("<s> c b a")] * 2


def test_blocks_larger_than_one_keep_the_stream(tokenizer, monkeypatch):
    monkeypatch.setattr("revocab.training.packing.BLOCK_ROWS", 2)
    array, _ = packed(tokenizer, {"x": (1.0, reader(*["a b c"] * 7))}, rows=7)
    assert array.tolist() == [ids("<s> a b c")] * 7


shares_strategy = st.lists(st.integers(1, 50), min_size=1, max_size=5).map(
    lambda weights: {f"c{n}": weight / sum(weights) for n, weight in enumerate(weights)}
)


@given(shares_strategy, st.integers(500, 3000))
def test_rows_by_share_is_exact_to_one_row(shares, rows):
    counts = rows_by_share(shares, rows)
    assert sum(counts.values()) == rows
    assert all(abs(counts[name] - share * rows) < 1 for name, share in shares.items())


def test_rows_by_share_by_hand():
    assert rows_by_share({"it": 0.75, "en": 0.25}, 8) == {"it": 6, "en": 2}
    # 3.5, 2.1, 1.4: the spare row goes to the largest remainder.
    assert rows_by_share({"a": 0.5, "b": 0.3, "c": 0.2}, 7) == {"a": 4, "b": 2, "c": 1}


@pytest.mark.parametrize("shares", [{"a": 0.5, "b": 0.4}, {"a": 1.2, "b": -0.2}])
def test_shares_that_do_not_sum_to_one(shares):
    with pytest.raises(RevocabError, match="sum to"):
        rows_by_share(shares, 10)


def test_a_share_below_one_row():
    with pytest.raises(RevocabError, match="share of b"):
        rows_by_share({"a": 0.99, "b": 0.01}, 10)


@given(shares_strategy, st.integers(500, 2000), st.integers(0, 9))
def test_the_running_mixture_stays_close_to_the_shares(shares, rows, seed):
    counts = rows_by_share(shares, rows)
    positions = interleave(counts, seed)
    assert sorted(itertools.chain(*positions.values())) == list(range(rows))
    for name, count in counts.items():
        seen = np.zeros(rows)
        seen[positions[name]] = 1
        drift = np.cumsum(seen) - count / rows * np.arange(1, rows + 1)
        assert np.abs(drift).max() <= len(counts)


def test_interleaving_follows_the_seed():
    first, again, other = (interleave({"a": 60, "b": 40}, seed) for seed in (1, 1, 2))
    assert (first["a"] == again["a"]).all()
    assert (first["a"] != other["a"]).any()


@pytest.fixture
def folders(tmp_path):
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend(), bos_token="<s>", eos_token="</s>", unk_token="[unk]"
    )
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    for name, text in {"it": "a b c", "en": "d e f"}.items():
        rows = [{"id": f"{name}{number}", "text": text} for number in range(30)]
        io.write_jsonl(tmp_path / name / "train.jsonl.gz", rows)
    return tmp_path


def test_pack_folder_writes_array_and_manifest_with_the_same_bytes_each_time(folders):
    corpora = {"it": (0.75, folders / "it"), "en": (0.25, folders / "en")}
    options = PackingOptions(sequence_length=4, rows=20, seed=17)
    manifests = [
        pack_folder(folders / "tokenizer", corpora, options, folders / out) for out in "xy"
    ]
    assert manifests[0] == manifests[1] == io.read_json(folders / "x" / "manifest.json")
    for name in ("tokens.npy", "manifest.json"):
        assert (folders / "x" / name).read_bytes() == (folders / "y" / name).read_bytes()
    tokens = np.load(folders / "x" / "tokens.npy")
    assert tokens.dtype == np.uint16
    assert tokens.shape == (20, 4)
    manifest = manifests[0]
    assert manifest["tokens"] == 80
    assert manifest["tokens_per_byte"] == 80 / (20 * 5)
    assert manifest["corpora"]["it"] == {
        "share": 0.75, "rows": 15, "tokens": 60, "bytes": 75, "words": 45, "documents": 15,
        "passes": 1, "skipped_empty": 0,
    }  # fmt: skip
    assert manifest["sha256"] == io.sha256(folders / "x" / "tokens.npy")


def test_a_failed_packing_leaves_nothing(folders):
    options = PackingOptions(sequence_length=4, rows=200, seed=17)
    with pytest.raises(RevocabError, match="corpus it: ends after 120 tokens, 800 needed"):
        pack_folder(folders / "tokenizer", {"it": (1.0, folders / "it")}, options, folders / "x")
    assert list((folders / "x").iterdir()) == []
