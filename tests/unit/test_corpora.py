"""Preparing, reading and counting corpora."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revocab.corpora.prepare import CorpusJob, heldout_documents, prepare_corpus
from revocab.corpora.read import corpus_manifest, documents, texts
from revocab.corpora.word_splitters import RULES, UNICODE, start_splitting
from revocab.errors import RevocabError
from revocab.io import sha256

OPTIONS = CorpusJob(corpus="toy", language="it")
SOURCE = {"label": "toy.jsonl"}


def rows(*values: str) -> list[dict]:
    return [{"text": value} for value in values]


def test_counts_and_skips(tmp_path):
    given_rows = rows("è uno", "", " \n", "due", "è uno", "tre tre")
    manifest = prepare_corpus(given_rows, SOURCE, OPTIONS, tmp_path)
    assert manifest["skipped"] == {"empty": 2, "duplicate": 1}
    assert manifest["train"] == {"documents": 3, "bytes": 16, "characters": 15, "words": 5}
    assert manifest["heldout"]["documents"] == 0
    assert list(texts(tmp_path)) == ["è uno", "due", "tre tre"]
    assert [row["id"] for row in documents(tmp_path)] == ["toy-1", "toy-4", "toy-6"]
    assert list(documents(tmp_path, "heldout")) == []
    assert corpus_manifest(tmp_path) == manifest


def test_escaped_line_ends_are_undone_where_asked(tmp_path):
    given_rows = rows("uno\\ndue", "\\n", "uno\ndue")
    prepare_corpus(given_rows, SOURCE, OPTIONS, tmp_path / "kept")
    assert list(texts(tmp_path / "kept")) == ["uno\\ndue", "\\n", "uno\ndue"]
    asked = CorpusJob(corpus="toy", language="it", escaped_line_ends=True)
    manifest = prepare_corpus(given_rows, SOURCE, asked, tmp_path / "undone")
    assert list(texts(tmp_path / "undone")) == ["uno\ndue"]
    assert manifest["skipped"] == {"empty": 1, "duplicate": 1}
    assert "escaped" not in OPTIONS.canonical() and "escaped_line_ends" in asked.canonical()
    with pytest.raises(ValueError, match="escaped_line_ends is for rows of text"):
        CorpusJob(corpus="toy", language="it", escaped_line_ends=True, messages_field="said")


def split(tmp_path, texts_, heldout_bytes):
    options = CorpusJob(corpus="toy", language="it", heldout_bytes=heldout_bytes)
    prepare_corpus(rows(*texts_), SOURCE, options, tmp_path)
    return set(texts(tmp_path)), set(texts(tmp_path, "heldout"))


def test_heldout_does_not_depend_on_order_and_never_leaks(tmp_path):
    many = [f"documento numero {number}" for number in range(200)]
    train, heldout = split(tmp_path / "a", many, 300)
    assert split(tmp_path / "b", many[::-1] + many, 300) == (train, heldout)
    assert train | heldout == set(many)
    assert not train & heldout
    assert 300 <= sum(len(text) for text in heldout) < 330


def test_same_input_same_bytes(tmp_path):
    for name in ("a", "b"):
        split(tmp_path / name, ["uno", "due", "tre"], 3)
    for name in ("train.jsonl.gz", "heldout.jsonl.gz", "manifest.json"):
        assert sha256(tmp_path / "a" / name) == sha256(tmp_path / "b" / name)


@given(st.lists(st.binary(min_size=4, max_size=4), unique=True, max_size=30), st.integers(0, 60))
def test_heldout_is_the_smallest_set_of_smallest_hashes(hashes, heldout_bytes):
    sizes = [1 + sum(digest) % 5 for digest in hashes]
    chosen = heldout_documents(hashes, sizes, heldout_bytes)
    taken = sum(sizes[index] for index in chosen)
    if chosen:
        largest = max(chosen, key=hashes.__getitem__)
        assert taken - sizes[largest] < heldout_bytes
        assert all(hashes[i] > hashes[largest] for i in set(range(len(hashes))) - chosen)
    assert taken >= min(heldout_bytes, sum(sizes))


def test_limits_count_kept_documents(tmp_path):
    values = rows("", "aa", "aa", "bb", "cccc", "d")
    options = CorpusJob(corpus="toy", language="it", limit_documents=3)
    prepare_corpus(values, SOURCE, options, tmp_path / "documents")
    assert list(texts(tmp_path / "documents")) == ["aa", "bb", "cccc"]
    options = CorpusJob(corpus="toy", language="it", limit_bytes=6)
    prepare_corpus(values, SOURCE, options, tmp_path / "bytes")
    assert list(texts(tmp_path / "bytes")) == ["aa", "bb"]


def test_reading_stops_at_its_limits(tmp_path):
    prepare_corpus(rows("aaaa", "bb", "c"), SOURCE, OPTIONS, tmp_path)
    assert list(texts(tmp_path, limit_documents=2)) == ["aaaa", "bb"]
    assert list(texts(tmp_path, limit_bytes=6)) == ["aaaa", "bb"]
    assert list(texts(tmp_path, limit_bytes=1)) == ["aaaa"]


@pytest.mark.parametrize(
    ("bad_rows", "message"),
    [
        ([{"text": "a"}, {"testo": "b", "lang": "it"}], "row 2.*'text'.*lang, testo"),
        ([{"text": 3}], "row 1.*int"),
        ([["a"]], "row 1.*list"),
        ([], "no documents"),
        ([{"text": ""}, {"text": None}], r"no documents \(skipped: 2 empty"),
        ([{"text": "\ud800"}], "row 1.*surrogate"),
    ],
)
def test_bad_rows_name_the_row_and_write_nothing(tmp_path, bad_rows, message):
    with pytest.raises(RevocabError, match=message):
        prepare_corpus(bad_rows, SOURCE, OPTIONS, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_heldout_must_leave_training_text(tmp_path):
    with pytest.raises(RevocabError, match="heldout_bytes 100 takes all 2 documents"):
        split(tmp_path / "out", ["uno", "due"], 100)
    with pytest.raises(RevocabError, match="is one document"):
        split(tmp_path / "out", ["uno"], 100)
    assert not (tmp_path / "out").exists()


def test_unprepared_folder_is_named(tmp_path):
    with pytest.raises(RevocabError, match="run revocab prepare"):
        list(texts(tmp_path))


def test_count_words_by_hand():
    # The full stop is split off at the end of the text only.
    texts = ["L'amico, sì. E tu?", "", "Fine.", f"a.{' ' * 10**6}b"]
    assert start_splitting(texts, "it", RULES)().counts == [6, 0, 2, 2]
    # Unicode keeps an apostrophe between letters inside the word, and drops marks.
    texts = ["L'amico, sì. E tu?", "!", "3,5 km"]
    assert start_splitting(texts, "it", UNICODE)().counts == [4, 0, 2]


def test_processes_agree(monkeypatch):
    monkeypatch.setattr("revocab.corpora.word_splitters.PARALLEL_CHARACTERS", 1)
    values = [f"parola {number}, un'altra." for number in range(20)]
    alone, together = (start_splitting(values, "it", RULES, n)() for n in (1, 2))
    assert together == alone
    assert alone.frequencies["parola"] == 20


# Conversations ------------------------------------------------------------------------------------

CHAT = CorpusJob(corpus="toy", language="it", messages_field="messages")


def said(*contents: str, last: str = "assistant") -> list[dict]:
    """Messages of a user and of an assistant in turn, with a key that nothing reads."""
    roles = [*(("user", "assistant")[n % 2] for n in range(len(contents) - 1)), last]
    return [
        {"role": role, "content": content, "name": "x"}
        for role, content in zip(roles, contents, strict=True)
    ]


def test_conversations_keep_their_messages_beside_their_text(tmp_path):
    given_rows = [
        {"id": "a", "messages": said("Chi è?", "È Lora.")},
        {"messages": said("Chi è?", "È Lora.")},
        {"messages": said("Chi è?", "È Lora.", last="user")},
        {"messages": said("Chi è?", last="user")},
        {"messages": said("Chi è?", "  ")},
        {"messages": []},
        {"messages": None},
        {"id": 7, "messages": said("Chi è?", "È Darla.", "Di dove?", "Di Pieve.")},
    ]
    manifest = prepare_corpus(given_rows, SOURCE, CHAT, tmp_path)
    assert manifest["skipped"] == {"empty": 2, "duplicate": 1, "unanswered": 3}
    assert manifest["messages_field"] == "messages" and "text_field" not in manifest
    found = list(documents(tmp_path))
    assert [row["id"] for row in found] == ["a", "7"]
    assert found[0]["messages"] == [
        {"role": "user", "content": "Chi è?"}, {"role": "assistant", "content": "È Lora."}
    ]  # fmt: skip
    assert list(texts(tmp_path)) == [
        "Chi è?\n\nÈ Lora.", "Chi è?\n\nÈ Darla.\n\nDi dove?\n\nDi Pieve."
    ]  # fmt: skip
    assert manifest["train"]["bytes"] == sum(len(one.encode()) for one in texts(tmp_path))


def test_what_is_said_in_another_role_is_another_conversation(tmp_path):
    one, other = said("A", "B", "C", "D"), said("A", "B", "C", "D")
    other[0]["role"] = "system"
    prepare_corpus([{"messages": one}, {"messages": other}], SOURCE, CHAT, tmp_path)
    assert len(list(documents(tmp_path))) == 2


@pytest.mark.parametrize(
    ("row", "said_of_it"),
    [
        ({"text": "a"}, r"row 2: no field 'messages'; fields found: text; .*--messages-field"),
        ({"messages": "a"}, r"row 2, field 'messages': a str, expected a list of messages"),
        ({"messages": ["a"]}, r"row 2, field 'messages', message 1: a str, expected an object"),
        ({"messages": [{"by": "human", "says": "a"}]},
         r"message 1: no role and no content; keys found: by, says; write messages as"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]},
         r"message 1: content is a list, expected text; .*leave them out"),
    ],
)  # fmt: skip
def test_rows_that_are_no_conversations_are_named(tmp_path, row, said_of_it):
    given_rows = [{"messages": said("A", "B")}, row]
    with pytest.raises(RevocabError, match=said_of_it):
        prepare_corpus(given_rows, SOURCE, CHAT, tmp_path / "out")
    assert not (tmp_path / "out").exists()
