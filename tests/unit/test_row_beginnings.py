"""Rows that begin with documents or paragraphs: by hand, as a property, and with real offsets."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from revocab.errors import RevocabError
from revocab.training.data.packed_folder import pack
from revocab.training.data.packing import PackingJob, TextTokenizer, paragraph_starts

WORDS = ["[unk]", "<s>", "</s>", *"abcdefgh", "\n"]
IDS = {word: number for number, word in enumerate(WORDS)}
START, END = IDS["<s>"], IDS["</s>"]


def word_tokenizer():
    """One token a word, and one a line break."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordLevel(IDS, unk_token="[unk]"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(" "), "removed"), pre_tokenizers.Split(Regex("\n"), "isolated")]
    )
    return TextTokenizer(backend, len(WORDS), START, END, Path("toy"))


def packed(*texts, rows=2, length=6, **options):
    job = PackingJob(sequence_length=length, rows=rows, seed=1, **options)
    array = np.zeros((rows, length), dtype=np.uint16)
    corpora = {"x": ((1.0,), lambda: [{"id": str(n), "text": one} for n, one in enumerate(texts)])}
    count = pack({"tokens": array}, corpora, word_tokenizer(), job).corpora["x"]
    return ["".join(WORDS[one] for one in row) for row in array], count


def test_rows_that_begin_at_documents_by_hand():
    rows, count = packed("a b", "c d e f g h", "a", "b c d e", rows_begin_at="document")
    assert rows == ["<s>ab<s>cd", "<s>a<s>bcd"]
    # "e f g h" is in no row; "e" lies beyond the last.
    assert (count.skipped_tokens, count.tokens, count.documents) == (4, 12, 4)
    assert (count.bytes, count.words) == (3 + 3 + 1 + 5, 8)


def test_rows_that_begin_at_paragraphs_by_hand():
    """The first row ends within "d e f"; the second begins with "g h", without bos."""
    rows, count = packed("a b\nd e f\n\ng h\na b c", "a", rows_begin_at="paragraph")
    assert rows == ["<s>ab\nde", "gh\nabc"]
    assert (count.skipped_tokens, count.documents) == (3, 1)  # "f" and two line breaks
    assert (count.bytes, count.words) == (len("a b\nd e") + len("g h\na b c"), 9)


def test_a_long_document_fills_rows_and_its_end_token_begins_none():
    text = "a b c d e f\na b\nc d e f g h a\na b c d"
    options = {"length": 4, "document_end": True, "rows_begin_at": "paragraph"}
    rows, count = packed(text, "h a b c", rows=4, **options)
    assert rows == ["<s>abc", "ab\nc", "abcd", "<s>hab"]
    assert count.skipped_tokens == len("def\n") + len("defgha\n") + 1


def test_nothing_is_left_out_where_a_row_ends_with_a_paragraph():
    rows, count = packed("a b\n", "c\n", "d\n", length=4, rows_begin_at="paragraph")
    assert rows == ["<s>ab\n", "<s>c\n<s>"]
    assert "skipped_tokens" not in count.described()


paragraphs = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def rows_one_by_one(documents, begin_at, end, rows, length):
    """Return rows, and tokens left out: where a row is to begin, tokens are passed over till one
    may."""
    tokens = []
    for paragraphs_of in documents:
        tokens.append(("<s>", True))
        for number, size in enumerate(paragraphs_of):
            tokens += [("\n", False)] if number else []
            begins = begin_at == "paragraph" or not number
            tokens += [("a" if number else "h", begins), *[("b", False)] * (size - 1)]
        tokens += [("</s>", False)] if end else []
    found, row, left_out = [], [], 0
    for token, begins in itertools.cycle(tokens):
        if row or begins:
            row.append(token)
        else:
            left_out += 1
        if len(row) == length:
            found.append("".join(row))
            row = []
        if len(found) == rows:
            return found, left_out


@given(
    st.lists(paragraphs, min_size=1, max_size=5),
    st.sampled_from(["document", "paragraph"]),
    st.booleans(),
)
def test_no_row_begins_within_a_document_or_paragraph(documents, begin_at, end):
    """Documents are "h b …", and after a line break "a b …"."""
    texts = ["h" + "\na".join(" b" * (size - 1) for size in one) for one in documents]
    rows, count = packed(
        *texts, rows=9, length=5, rows_begin_at=begin_at, document_end=end, repeat_corpora=True
    )
    allowed = ("<s>", "h", "a") if begin_at == "paragraph" else ("<s>", "h")
    assert all(row.startswith(allowed) for row in rows)
    assert (rows, count.skipped_tokens) == rows_one_by_one(documents, begin_at, end, 9, 5)
    assert count.tokens == 45


TEXT = "Uno due\n  tre, quattro.\r\n\r\n\tЧетыре слова\n🙂 fünf\n\n"
BEGINNINGS = ["tre", "Четыре", "🙂"]


def byte_level():
    """Bytes alone, four of which make the emoji."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({one: n for n, one in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def sentencepiece_like():
    """Words behind a mark for the space, and bytes for what is unknown, line breaks included."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    pieces = {f"<0x{n:02X}>": n for n in range(256)}
    for one in "▁ Unodetrquai,.Чеысловfnü":
        pieces.setdefault(one, len(pieces))
    backend = Tokenizer(models.BPE(pieces, [], byte_fallback=True, unk_token="<0x00>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return backend


@pytest.mark.parametrize("backend", [byte_level, sentencepiece_like])
def test_paragraphs_are_found_behind_indents_and_before_characters_of_several_bytes(backend):
    spans = backend().encode(TEXT, add_special_tokens=False).offsets
    found = [TEXT[spans[place][0] :].strip() for place in paragraph_starts(TEXT, spans)]
    assert len(found) == len(BEGINNINGS)
    assert all(one.startswith(text) for one, text in zip(found, BEGINNINGS, strict=True))


def test_a_corpus_that_ends_early_says_how_much_is_in_no_row():
    with pytest.raises(
        RevocabError, match=r"ends after 4 tokens, 8 needed .* 3 tokens are in no row"
    ):
        packed("a b c d e f", length=4, rows_begin_at="document")


def test_a_token_across_a_line_break_begins_no_paragraph():
    text = "a b\nc d"
    assert paragraph_starts(text, [(0, 1), (1, 5), (5, 7)]) == []
    assert paragraph_starts(text, [(0, 1), (1, 3), (3, 5), (5, 7)]) == [2]


def test_rows_of_conversations_begin_with_conversations():
    with pytest.raises(ValidationError, match="rows_begin_at with loss: answers"):
        PackingJob(sequence_length=8, rows=1, seed=1, loss="answers", rows_begin_at="document")


def test_the_job_of_rows_that_begin_anywhere_has_no_new_key():
    job = {"sequence_length": 8, "rows": 1, "seed": 1}
    assert "rows_begin_at" not in PackingJob(**job).canonical()
    assert "rows_begin_at" in PackingJob(**job, rows_begin_at="document").canonical()
