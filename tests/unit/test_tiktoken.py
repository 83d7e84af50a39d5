"""Vocabularies in tiktoken's file format."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab.errors import RevocabError
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.intersection import IntersectionJob, intersect_folders
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_file, write_tokenizer
from revocab.vocabulary.tokenizers.tiktoken import PATTERNS

TEXTS = [
    "La città è più bella di sera, perché c'è il mare.",
    "Quanto costa? Costa 125 euro (circa).\nÈ caro!",
    "aaaa aaaaaa banana bananana nananà",
]


def write_ranks(path, tokens):
    lines = [base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.fixture(scope="module")
def ranks():
    trained = canonical_vocabulary(train_tokenizer(batched(TEXTS * 3), "byte_level", 330))
    return [token.data for token in trained if token.kind != "special"]


@pytest.fixture(scope="module")
def file(tmp_path_factory, ranks):
    folder = tmp_path_factory.mktemp("tiktoken")
    settings_ = {
        "pattern": "cl100k",
        "special_tokens": {"<|begin|>": len(ranks), "<|end|>": len(ranks) + 1},
        "bos_token": "<|begin|>",
        "eos_token": "<|end|>",
    }
    (folder / "tiktoken.json").write_text(json.dumps(settings_))
    return write_ranks(folder / "toy.tiktoken", ranks)


def plain_encode(text, ranks):
    """tiktoken's rule, written out: the lowest-ranked neighbouring pair is joined first."""
    rank_of = {token: rank for rank, token in enumerate(ranks)}
    ids = []
    for word in regex.findall(PATTERNS["cl100k"], text):
        data = word.encode()
        parts = [data] if data in rank_of else [data[i : i + 1] for i in range(len(data))]
        while len(parts) > 1:
            joined = [rank_of.get(a + b, len(ranks)) for a, b in pairwise(parts)]
            best = min(range(len(joined)), key=joined.__getitem__)
            if joined[best] == len(ranks):
                break
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        ids += [rank_of[part] for part in parts]
    return ids


@settings(max_examples=150)
@given(text=st.lists(st.sampled_from([*"abn àè \n.1'Q日🙂", "ana", "città", " più"])).map("".join))
def test_encodes_as_tiktoken_does(file, ranks, text):
    tokenizer = load_tokenizer(file)
    ids = tokenizer(text, add_special_tokens=False).input_ids
    assert ids == plain_encode(text, ranks)
    assert tokenizer.decode(ids) == text


def test_canonical_form_roles_and_folder(file, ranks, tmp_path):
    tokenizer = load_tokenizer(file.parent)
    tokens = canonical_vocabulary(tokenizer)
    assert [token.data for token in tokens[: len(ranks)]] == ranks
    assert [token.role for token in tokens[len(ranks) :]] == ["bos", "eos"]
    assert tokenizer_file(file.parent) == tokenizer_file(file) == file
    write_tokenizer(tokenizer, tmp_path)
    again = load_tokenizer(tmp_path)
    assert again.get_vocab() == tokenizer.get_vocab()
    assert again.tokenize(TEXTS[0]) == tokenizer.tokenize(TEXTS[0])


def test_intersects_with_byte_fallback(file, tmp_path):
    other = train_tokenizer(batched(TEXTS * 3), "byte_fallback", 310, list("abceilnortuàèé▁"))
    write_tokenizer(other, tmp_path / "other")
    found = intersect_folders(tmp_path / "other", file, IntersectionJob(), tmp_path / "out")
    assert found.report["kinds"]["special"] == 2
    assert found.report["kinds"]["byte"] > 100
    source, target = canonical_vocabulary(other), canonical_vocabulary(load_tokenizer(file))
    both = {token.identity for token in source} & {token.identity for token in target}
    assert found.report["overlap"] == sum(token.identity in both for token in target)
    assert " è".encode() in {target[number].data for number in found.target_ids}


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["YQ== 0", "YQ== 1"], "line 2: "),
        (["YQ== 0", "Yg== 0"], "line 2: "),
        (["YQ== 0", "Yg== 2"], "1 ranks without a token: 1"),
        (["YQ== zero"], "line 1: "),
        (["YQ== 0", "!! 1"], "line 2: "),
        ([], "256 single bytes"),
        (["YQ== 0"], "255 single bytes"),
    ],
)
def test_broken_files(tmp_path, lines, place):
    path = tmp_path / "bad.tiktoken"
    path.write_text("\n".join(lines))
    with pytest.raises(RevocabError, match=f"bad.tiktoken.*{place}"):
        load_tokenizer(path)


@pytest.mark.parametrize(
    ("sidecar", "key"),
    [
        ({"patern": "gpt2"}, "patern"),
        ({"bos_token": "<s>"}, "bos_token"),
        ({"special_tokens": {"<s>": 9999}}, "special_tokens"),
        ({"special_tokens": {"<s>": -1}}, "special_tokens.<s>"),
        ([], "tiktoken.json"),
    ],
)
def test_broken_sidecars(tmp_path, ranks, sidecar, key):
    path = write_ranks(tmp_path / "toy.tiktoken", ranks)
    (tmp_path / "tiktoken.json").write_text(json.dumps(sidecar))
    with pytest.raises(RevocabError, match=key):
        load_tokenizer(path)


def test_several_vocabularies_are_named(tmp_path, ranks):
    for name in ("toy", "other"):
        write_ranks(tmp_path / f"{name}.tiktoken", ranks)
    with pytest.raises(RevocabError, match=r"other.tiktoken, toy.tiktoken"):
        load_tokenizer(tmp_path)
