"""Adopt: a vocabulary with another tokenizer's chat tokens, template and end token."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from construction_toys import ENGLISH, FAMILIES, GREEK, ITALIAN, construct
from jobs import job_of
from tokenizers import AddedToken

from revocab.closed import checked
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.vocabulary.building.construction import (
    BuildInputs,
    TokenizerJob,
    build_from_folders,
    constructions,
)
from revocab.vocabulary.tokenizers.load import load_tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% generation %}{{ message['content'] }}<|im_end|>{% endgeneration %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: In the order in which they are added, so of ascending ids.
CHAT_TOKENS = ["<|im_start|>", "<|im_end|>", "<tool>"]
TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning."}]


def chat_tokenizer(base):
    """Return a tokenizer with two special chat tokens and one plain added token."""
    chat = load_tokenizer(base)
    special = [AddedToken(token, special=True, normalized=False) for token in CHAT_TOKENS[:2]]
    chat.add_tokens(special, special_tokens=True)
    chat.add_tokens([AddedToken("<tool>", special=False, lstrip=True)])
    chat.eos_token = "<|im_end|>"
    chat.chat_template = TEMPLATE
    return chat


def adopted(base, chat, out):
    tokenizers = {"base": load_tokenizer(base), "chat": chat}
    places = {"base": base, "chat": base}
    manifest = construct("adopt", BuildInputs(tokenizers=tokenizers, places=places), out)
    return load_tokenizer(out), manifest


@pytest.mark.parametrize("family", FAMILIES)
def test_base_ids_stay_and_chat_tokens_follow(bases, tmp_path, family):
    other = "byte_level" if family == "byte_fallback" else "byte_fallback"
    base, chat = load_tokenizer(bases[family]), chat_tokenizer(bases[other])
    built, manifest = adopted(bases[family], chat, tmp_path / "out")
    ids = built.get_vocab()
    assert base.get_vocab().items() <= ids.items()
    added = sorted(ids.keys() - base.get_vocab().keys(), key=ids.__getitem__)
    assert added[-3:] == CHAT_TOKENS
    # What else the chat tokenizer has as an added token (its end token, say) comes before these.
    assert set(added[:-3]) <= chat.get_added_vocab().keys()
    assert manifest["ids_kept"] and manifest["added"] == len(added)
    assert manifest["special_ids"]["eos"] == ids["<|im_end|>"]
    listed = [entry["token"] for entry in read_json(tmp_path / "out" / "changes.json")["added"]]
    assert listed == added
    for text in (*ENGLISH[:5], *ITALIAN[:5], *GREEK[:3]):
        assert built(text)["input_ids"] == base(text)["input_ids"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_conversation_is_written_with_the_chat_tokens(bases, tmp_path, family):
    built, _ = adopted(bases[family], chat_tokenizer(bases["byte_level"]), tmp_path / "out")
    text = built.apply_chat_template(TALK, tokenize=False)
    ids = built(text, add_special_tokens=False)["input_ids"]
    start, end = built.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert (ids.count(start), ids.count(end)) == (2, 2)
    assert ids[:1] == [built.bos_token_id] and built.bos_token_id not in ids[1:]
    plain = built.decode(built("<tool> Hello<|im_end|>")["input_ids"], skip_special_tokens=True)
    assert "<tool>" in plain and "im_end" not in plain  # special as there, or plain as there


def test_a_chat_token_that_the_base_spells_as_a_plain_token_keeps_its_id(bases, tmp_path):
    base = load_tokenizer(bases["byte_level"])
    plain = next(token for token in base.get_vocab() if token.isalpha() and len(token) > 2)
    chat = chat_tokenizer(bases["byte_level"])
    chat.add_tokens([AddedToken(plain, special=True)], special_tokens=True)
    built, manifest = adopted(bases["byte_level"], chat, tmp_path / "out")
    assert built.get_vocab()[plain] == base.get_vocab()[plain]
    assert plain in built.get_added_vocab() and len(built) == len(base) + manifest["added"]


def test_padding_comes_from_the_chat_tokenizer_where_it_has_some(bases, tmp_path):
    chat = chat_tokenizer(bases["byte_level"])
    chat.pad_token = "<tool>"
    built, manifest = adopted(bases["unigram"], chat, tmp_path / "out")
    bos = load_tokenizer(bases["unigram"]).bos_token
    assert (built.pad_token, built.bos_token) == ("<tool>", bos)
    assert manifest["special_ids"]["pad"] == built.convert_tokens_to_ids("<tool>")


def spoken(base, out, template="chatml", tokens=("<|im_start|>", "<|im_end|>")):
    """Build from a template as the command does."""
    job = job_of(TokenizerJob, construction="adopt", tokens=[*tokens])
    manifest = build_from_folders(job, {}, {"base": base, "template": Path(template)}, out)
    return load_tokenizer(out), manifest


@pytest.mark.parametrize("family", FAMILIES)
def test_a_template_brings_its_tokens_and_its_end(bases, tmp_path, family):
    """As an instruct model's tokenizer is made of its base's: ids stay, the end is the chat's."""
    base = load_tokenizer(bases[family])
    built, manifest = spoken(bases[family], tmp_path / "out")
    start, end = len(base), len(base) + 1
    assert built.get_vocab() == {**base.get_vocab(), "<|im_start|>": start, "<|im_end|>": end}
    assert (built.eos_token_id, built.bos_token_id) == (end, base.bos_token_id)
    assert manifest["options"]["tokens"] == ["<|im_start|>", "<|im_end|>"]
    assert str(tmp_path) not in str(manifest["options"])
    ids = built.apply_chat_template(TALK, tokenize=True, return_dict=False)
    assert (ids.count(start), ids.count(end)) == (2, 2)
    for text in (*ENGLISH[:5], *ITALIAN[:5]):
        assert built(text)["input_ids"] == base(text)["input_ids"]


def test_an_adopted_vocabulary_takes_over_an_adopted_chat(bases, tmp_path):
    """The way of LEP: base, its instruct version, a new vocabulary with that one's chat."""
    chat, _ = spoken(bases["byte_fallback"], tmp_path / "chat")
    built, _ = adopted(bases["unigram"], chat, tmp_path / "out")
    assert built.eos_token == "<|im_end|>" and built.chat_template == chat.chat_template
    written = [each.apply_chat_template(TALK, tokenize=False) for each in (built, chat)]
    assert written[0] == written[1]


def test_a_template_without_tokens_of_its_own_ends_as_the_base(bases, tmp_path):
    base = load_tokenizer(bases["byte_fallback"])
    built, manifest = spoken(bases["byte_fallback"], tmp_path / "out", "plain", ())
    assert built.get_vocab() == base.get_vocab() and manifest["added"] == 0
    assert built.eos_token == base.eos_token and built.chat_template


@pytest.mark.parametrize(
    ("template", "tokens", "said"),
    [
        ("chatml", ["<|im_start|>"], r"no special token ends a marked answer.*'tokens' names"),
        ("chatml", ["<|im_start|>", "<|im_end|>", "<x>"], "it never writes <x>"),
        ("chat-ml", ["<|im_end|>"], "no file 'chat-ml', and no template of this name"),
        ("chatml", ["<|im_end|>"] * 2, "tokens name <|im_end|> more than once"),
    ],
)
def test_a_template_and_tokens_that_do_not_belong_together(bases, tmp_path, template, tokens, said):
    with pytest.raises(RevocabError) as caught:
        spoken(bases["byte_level"], tmp_path / "out", template, tokens)
    assert re.search(said.replace("|", r"\|"), caught.value.problems[0])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "exactly one of chat, template"),
        ({"chat": "a", "template": "chatml"}, "exactly one of chat, template"),
        ({"chat": "a", "tokens": ["<x>"]}, "tokens belong to template"),
    ],
)
def test_one_origin_of_the_chat(options, said):
    with pytest.raises(RevocabError, match=said):
        checked(constructions()["adopt"].entry, {"base": "base", **options})


def test_a_tokenizer_without_conversations_is_refused(bases, tmp_path):
    chat = load_tokenizer(bases["byte_level"])
    chat.eos_token = None
    with pytest.raises(RevocabError) as caught:
        adopted(bases["byte_level"], chat, tmp_path / "out")
    first, second = caught.value.problems
    assert "option chat" in first and "no chat template" in first
    assert "no end token" in second and "instruction-tuned" in second
    assert not (tmp_path / "out").exists()
