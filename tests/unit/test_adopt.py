"""Adopt: a vocabulary with another tokenizer's chat tokens, template and end token."""

from __future__ import annotations

import pytest
from construction_toys import ENGLISH, FAMILIES, GREEK, ITALIAN, base_tokenizers
from tokenizers import AddedToken

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.tokenizer_building.build import build_tokenizer
from revocab.tokenizer_building.construction import BuildInputs
from revocab.tokenizers.load import load_tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% generation %}{{ message['content'] }}<|im_end|>{% endgeneration %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: In the order in which they are added, so of ascending ids.
CHAT_TOKENS = ["<|im_start|>", "<|im_end|>", "<tool>"]
TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning."}]


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    return base_tokenizers(tmp_path_factory.mktemp("bases"))


def chat_tokenizer(base):
    """Return a tokenizer with two special chat tokens and one plain added token."""
    chat = load_tokenizer(base)
    special = [AddedToken(one, special=True, normalized=False) for one in CHAT_TOKENS[:2]]
    chat.add_tokens(special, special_tokens=True)
    chat.add_tokens([AddedToken("<tool>", special=False, lstrip=True)])
    chat.eos_token = "<|im_end|>"
    chat.chat_template = TEMPLATE
    return chat


def adopted(base, chat, out):
    given = {"base": load_tokenizer(base), "chat": chat}
    manifest = build_tokenizer(
        "adopt", {"base": "base", "chat": "chat"}, BuildInputs(tokenizers=given), out
    )
    return load_tokenizer(out), manifest


@pytest.mark.parametrize("family", FAMILIES)
def test_base_ids_stay_and_chat_tokens_follow(bases, tmp_path, family):
    other = "byte_level" if family == "byte_fallback" else "byte_fallback"
    base, chat = load_tokenizer(bases[family]), chat_tokenizer(bases[other])
    made, manifest = adopted(bases[family], chat, tmp_path / "out")
    ids = made.get_vocab()
    assert base.get_vocab().items() <= ids.items()
    added = sorted(ids.keys() - base.get_vocab().keys(), key=ids.__getitem__)
    assert added[-3:] == CHAT_TOKENS
    # What else the chat tokenizer has as an added token (its end token, say) comes before these.
    assert set(added[:-3]) <= chat.get_added_vocab().keys()
    assert manifest["ids_kept"] and manifest["added"] == len(added)
    assert manifest["special_ids"]["eos"] == ids["<|im_end|>"]
    listed = [one["token"] for one in read_json(tmp_path / "out" / "changes.json")["added"]]
    assert listed == added
    for text in (*ENGLISH[:5], *ITALIAN[:5], *GREEK[:3]):
        assert made(text)["input_ids"] == base(text)["input_ids"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_conversation_is_written_with_the_chat_tokens(bases, tmp_path, family):
    made, _ = adopted(bases[family], chat_tokenizer(bases["byte_level"]), tmp_path / "out")
    text = made.apply_chat_template(TALK, tokenize=False)
    ids = made(text, add_special_tokens=False)["input_ids"]
    start, end = made.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert (ids.count(start), ids.count(end)) == (2, 2)
    assert ids[:1] == [made.bos_token_id] and made.bos_token_id not in ids[1:]
    plain = made.decode(made("<tool> Hello<|im_end|>")["input_ids"], skip_special_tokens=True)
    assert "<tool>" in plain and "im_end" not in plain  # special as there, or plain as there


def test_a_chat_token_that_the_base_spells_as_a_plain_token_keeps_its_id(bases, tmp_path):
    base = load_tokenizer(bases["byte_level"])
    plain = next(one for one in base.get_vocab() if one.isalpha() and len(one) > 2)
    chat = chat_tokenizer(bases["byte_level"])
    chat.add_tokens([AddedToken(plain, special=True)], special_tokens=True)
    made, manifest = adopted(bases["byte_level"], chat, tmp_path / "out")
    assert made.get_vocab()[plain] == base.get_vocab()[plain]
    assert plain in made.get_added_vocab() and len(made) == len(base) + manifest["added"]


def test_padding_comes_from_the_chat_tokenizer_where_it_has_some(bases, tmp_path):
    chat = chat_tokenizer(bases["byte_level"])
    chat.pad_token = "<tool>"
    made, manifest = adopted(bases["unigram"], chat, tmp_path / "out")
    assert (
        made.pad_token == "<tool>" and made.bos_token == load_tokenizer(bases["unigram"]).bos_token
    )
    assert manifest["special_ids"]["pad"] == made.convert_tokens_to_ids("<tool>")


def test_a_tokenizer_without_conversations_is_refused(bases, tmp_path):
    chat = load_tokenizer(bases["byte_level"])
    chat.eos_token = None
    with pytest.raises(RevocabError) as caught:
        adopted(bases["byte_level"], chat, tmp_path / "out")
    first, second = caught.value.problems
    assert "option chat" in first and "no chat template" in first
    assert "no end token" in second and "instruction-tuned" in second
    assert not (tmp_path / "out").exists()
