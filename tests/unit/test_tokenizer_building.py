"""Training and copying tokenizers."""

from __future__ import annotations

import json

import pytest
from construction_toys import build_copied, build_trained
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.errors import RevocabError
from revocab.io import sha256
from revocab.vocabulary.building import constructions
from revocab.vocabulary.building.constructions.train import steady_scores, train_tokenizer
from revocab.vocabulary.building.training_text import (
    TrainingText,
    batched,
    describe_training_text,
    shortage,
    training_budgets,
    training_texts,
)
from revocab.vocabulary.tokenizers.alphabets import frequent_characters
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_style, write_tokenizer

SENTENCES = [
    "La città è più bella di sera, perché c'è il mare.",
    "I bambini giocano nel parco; i nonni li guardano.",
    "Quanto costa? Costa 125 euro (circa).\nÈ caro!",
    "The children are playing in the park, and it's late.",
]
TEXTS = [f"{a} {b}" for a in SENTENCES for b in SENTENCES] * 3
SIZE = 360
ALPHABETS = ["byte_fallback", "byte_level"]


NASTY = [
    *(" ", "  ", "\n", "\r\n", "\t", "▁", "▁▁", "\x10", "\x100", "\x101", "e\u0301", "🙂"),
    *("👩\u200d👧", "日本", "Привет", "مرحبا", "<0x0A>", "Ġ", "Ċ", "\u200b", "\ufeff", "\x00"),
    *("\u00a0", "12", "città", " è"),
]


@pytest.fixture(scope="module", params=ALPHABETS)
def tokenizer(request):
    characters = frequent_characters(TEXTS, 80)
    return train_tokenizer(batched(TEXTS), request.param, SIZE, characters)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    rows = [{"text": text} for text in TEXTS[:16]]
    prepare_corpus(rows, {"label": "toy"}, CorpusJob(corpus="toy", language="it"), folder)
    return folder


def text_strategy():
    """Any valid Unicode text, rich in what tokenizers get wrong."""
    nasty = st.sampled_from(NASTY)
    anything = st.characters(exclude_categories=["Cs"]) | nasty
    return st.lists(anything, max_size=20).map("".join)


@settings(max_examples=150)
@given(text=text_strategy())
def test_round_trip(tokenizer, text):
    ids = tokenizer(text).input_ids
    assert ids[0] == tokenizer.bos_token_id
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_size_ids_and_style(tokenizer):
    assert len(tokenizer) == SIZE
    assert sorted(tokenizer.get_vocab().values()) == list(range(SIZE))
    style = tokenizer_style(tokenizer)
    if style == "byte_fallback":
        assert (tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 1, 2)
        assert tokenizer.convert_ids_to_tokens([3, 258]) == ["<0x00>", "<0xFF>"]
        assert tokenizer.pad_token_id == 0
    else:
        assert style == "byte_level"
        assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (0, 1, 1)


def test_digits_and_lines(tokenizer):
    tokens = tokenizer.tokenize("anno 1525\n")
    if tokenizer_style(tokenizer) == "byte_fallback":
        assert tokens[-6:] == ["▁", "1", "5", "2", "5", "<0x0A>"]
    else:
        assert tokens[-1] == "Ċ"


def test_too_small_and_too_large():
    for alphabet in ALPHABETS:
        with pytest.raises(RevocabError, match="needs at least"):
            train_tokenizer(batched(TEXTS), alphabet, 200)
        yields = r"vocabulary_size 9000: the training text yields only \d+"
        with pytest.raises(RevocabError, match=yields):
            train_tokenizer(batched(TEXTS), alphabet, 9000)


def test_frequent_characters():
    # One in a hundred thousand is too rare; line ends are never characters.
    assert frequent_characters(["ab" * 50_000 + "z\n"], 10) == ["a", "b", "▁"]
    # Ties at the limit: the lower code point stays.
    assert frequent_characters(["cba"], 3) == ["a", "b", "▁"]
    assert frequent_characters(["aab"], 1) == ["▁"]
    assert frequent_characters(["aab"], 2) == ["a", "▁"]


def two_corpora(folder, share=0.5, **texts):
    """Return a mixture of two corpora of a document each; ``share`` is the first one's."""
    for name, text in texts.items():
        job = CorpusJob(corpus=name, language=name)
        prepare_corpus([{"text": text}], {"label": name}, job, folder / name)
    shares = dict(zip(texts, (share, 1 - share), strict=True))
    return [TrainingText(name, shares[name], folder / name) for name in texts]


def test_shares_are_shares_of_bytes(tmp_path):
    mixture = two_corpora(tmp_path, it="è" * 50, en="a" * 300)
    assert training_budgets(mixture) == {"it": 100, "en": 100}
    budgets = training_budgets(mixture, limit_bytes=42)
    assert budgets == {"it": 21, "en": 21}
    # Cut to the budget, and at a whole character.
    assert list(training_texts(mixture, budgets)) == ["è" * 10, "a" * 21]


def test_bad_shares(corpus):
    with pytest.raises(RevocabError, match=r"sum to 0.7"):
        training_budgets([TrainingText("toy", 0.7, corpus)])


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_folder(tmp_path, corpus, alphabet):
    mixture = [TrainingText("toy", 1.0, corpus)]
    manifest = build_trained(mixture, alphabet, SIZE, tmp_path / "tok")
    loaded = load_tokenizer(tmp_path / "tok")
    assert len(loaded) == manifest["vocabulary_size"] == SIZE
    assert manifest["alphabet"] == alphabet
    assert manifest["special_ids"]["bos"] == loaded.bos_token_id
    config = json.loads((tmp_path / "tok" / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert str(tmp_path) not in str(config)

    copied = build_copied(tmp_path / "tok", tmp_path / "copy")
    assert copied["alphabet"] == alphabet
    assert load_tokenizer(tmp_path / "copy").get_vocab() == loaded.get_vocab()
    assert sha256(tmp_path / "copy" / "tokenizer.json") == manifest["sha256"]


def test_special_tokens_without_a_name_are_written_for_transformers_4(tmp_path, corpus):
    """As a list of version 5, version 4 loads no such folder."""
    build_trained([TrainingText("toy", 1.0, corpus)], "byte_level", SIZE, tmp_path / "tok")
    tokenizer = load_tokenizer(tmp_path / "tok")
    tokenizer.add_special_tokens({"extra_special_tokens": ["<|tool|>"]})
    write_tokenizer(tokenizer, tmp_path / "more")
    config = json.loads((tmp_path / "more/tokenizer_config.json").read_text())
    assert config["additional_special_tokens"] == ["<|tool|>"]
    assert "extra_special_tokens" not in config
    assert "<|tool|>" in load_tokenizer(tmp_path / "more").all_special_tokens


def test_missing_folder(tmp_path):
    with pytest.raises(RevocabError, match="no such folder"):
        build_copied(tmp_path / "absent", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RevocabError, match="no tokenizer could be loaded"):
        build_copied(tmp_path / "empty", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.shared_data
def test_real_mistral(tmp_path, shared_folder):
    build_copied(shared_folder / "tokenizers" / "mistral-7b-v0.1", tmp_path / "mistral")
    tokenizer = load_tokenizer(tmp_path / "mistral")
    assert len(tokenizer) == 32000
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id) == (1, 2, 0)
    assert tokenizer.tokenize("La città è più bella.")[-1] == "."
    manifest = json.loads((tmp_path / "mistral" / "manifest.json").read_text())
    assert manifest["path"] == "mistral-7b-v0.1"


def test_characters_are_counted_in_every_corpus_by_its_share(tmp_path, monkeypatch):
    """Of 400 bytes 40 are read, three quarters of them Italian."""
    mixture = two_corpora(tmp_path, 0.75, it="a" * 300, en="b" * 100)
    read = []

    def stop(texts, limit):
        read.extend(texts)
        raise KeyboardInterrupt

    monkeypatch.setattr(constructions.train, "COUNTED_CHARACTERS", 40)
    monkeypatch.setattr(constructions.train, "frequent_characters", stop)
    with pytest.raises(KeyboardInterrupt):
        build_trained(mixture, "byte_fallback", 300, tmp_path / "out")
    assert read == ["a" * 30, "b" * 10]


def test_characters_that_were_forced_are_numbered_anew():
    """Within 4e-4 of the lowest: b and c, not z, which was chosen."""
    pieces = [("z", -3.0), ("c", -9.0), ("b", -9.0001), ("zz", -9.0002), ("ab", -2.0000004)]
    assert steady_scores(pieces) == [
        ("ab", -2.0), ("z", -3.0), ("b", -9.0), ("c", -9.0001), ("zz", -9.0002),
    ]  # fmt: skip


def test_a_corpus_that_runs_out_is_named(tmp_path, capsys):
    """100 bytes at a share of a half leave 200 of the other's 300 unused."""
    mixture = two_corpora(tmp_path, it="a" * 100, en="a" * 300)
    described = describe_training_text(mixture, training_budgets(mixture))
    said = shortage(described)
    assert all(part in said for part in ("corpus it", "100 bytes", "0.5", "33% of en"))
    assert capsys.readouterr().err == said + "\n"
    assert shortage(describe_training_text(mixture, training_budgets(mixture, 42))) == ""
    assert shortage(describe_training_text(mixture[:1], {"it": 100})) == ""
    # One byte may be lost to rounding, two are left on purpose.
    assert all(
        "ran out" in shortage(described | {"it": described["it"] | {"bytes": size}})
        for size in (100, 99)
    )
    assert shortage(described | {"it": described["it"] | {"bytes": 98}}) == ""
