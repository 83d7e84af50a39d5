"""Text to tokens, in every family: special tokens spelt in text, what is lost, ends of prompts.

And whose ids they are. Values by hand.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from revocab.vocabulary.tokenizers.encoding import (
    PARSE,
    Coverage,
    SpecialTexts,
    Unseen,
    appended_tokens,
    encode_batches,
    load_prompt_tokenizer,
    name_of,
    size_of,
    text_encoder,
)
from revocab.vocabulary.tokenizers.identity import folder_hash, foreign_ids, ids_hash

BOS, EOS = "<s>", "</s>"


def byte_level(missing: str = "", **options) -> Tokenizer:
    """Return byte-level BPE: specials 0 and 1, bytes from 2 on, ``ab`` last."""
    letters = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - set(missing))
    vocabulary = {text: number for number, text in enumerate([BOS, EOS, *letters, "ab"])}
    backend = Tokenizer(models.BPE(vocabulary, [("a", "b")], **options))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return special(backend)


def special(backend: Tokenizer, *others: str) -> Tokenizer:
    backend.add_special_tokens([AddedToken(text, special=True) for text in (*others, BOS, EOS)])
    return backend


def characters(letters: str, unknown: str | None = None, spelt: bytes = b"") -> Tokenizer:
    """Return BPE of characters, with ``<0xNN>`` tokens for the bytes of ``spelt``."""
    tokens = [BOS, EOS, *([unknown] if unknown else []), *letters]
    tokens += [f"<0x{byte:02X}>" for byte in spelt]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    model = models.BPE(vocabulary, [], unk_token=unknown, byte_fallback=bool(spelt))
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Replace(" ", "▁")
    return special(backend)


def unigram() -> Tokenizer:
    pieces = [("<unk>", 0.0), (BOS, 0.0), (EOS, 0.0), ("▁", -2.0), *((c, -3.0) for c in "ab</s>")]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    return special(backend, "<unk>")


def words(model: str) -> Tokenizer:
    vocabulary = {"[UNK]": 0, BOS: 1, EOS: 2, "ab": 3, "a": 4}
    backend = Tokenizer(getattr(models, model)(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return special(backend, "[UNK]")


FAMILIES = {
    "byte-level": byte_level,
    "characters": lambda: characters("ab</s>▁"),
    "unigram": unigram,
    "words": lambda: words("WordLevel"),
    "pieces of words": lambda: words("WordPiece"),
}


# Special tokens in text. --------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_text_that_spells_a_special_token_is_text(family):
    text, tag = f"ab {EOS} a{EOS}", f"ab <tag> {EOS}"
    backend = FAMILIES[family]()
    backend.add_tokens(["<tag>"])  # no special one: text holds it as before
    ids = {backend.token_to_id(token) for token in (BOS, EOS)}
    ((encoding,),) = encode_batches(backend, [text])
    assert encoding.ids and not ids & {*encoding.ids}
    ((encoding,),) = encode_batches(backend, [tag])
    assert backend.token_to_id("<tag>") in encoding.ids and not ids & {*encoding.ids}
    parsed = text_encoder(backend, PARSE).encode(text, add_special_tokens=False).ids
    assert parsed.count(backend.token_to_id(EOS)) == 2
    assert SpecialTexts(backend).count(text) == 2


def test_many_special_tokens_are_counted_by_their_texts():
    backend = special(byte_level(), *(f"<|reserved_{number}|>" for number in range(256)))
    special_texts = SpecialTexts(backend)
    assert special_texts.count("<|reserved_1|><|reserved_255|> <|reserved_256|> </s") == 2


# What no token stands for. ------------------------------------------------------------------------

#: A tokenizer, a text, and what of it is unseen, how often.
UNSEEN = {
    "a byte": (byte_level("\u0113"), "ab\x13 \x13a", {b"\x13": 2}),
    "a byte of a character": (byte_level("Ã"), "aè", {b"\xc3": 1}),
    "a byte in an added token": (byte_level("\u0113"), "a\x13b[\x13]", {b"\x13": 1}),
    "bytes that text never holds": (byte_level("ÀÁ"), "ab", {}),
    "an unknown token for bytes": (byte_level("\u0113", unk_token=BOS), "ab\x13", {b"\x13": 1}),
    "every byte": (byte_level(), "ab\x13è", {}),
    "a character": (characters("ab▁"), "a bèè", {"è".encode(): 2}),
    "an unknown character": (characters("ab▁", "<unk>"), "a bè", {"è".encode(): 1}),
    "some bytes of a character": (characters("ab▁", spelt=b"\xc3"), "aè", {"è".encode(): 1}),
    "all bytes of a character": (characters("ab▁", spelt="è".encode()), "aè", {}),
    "a piece": (unigram(), "ab xx", {b"xx": 1}),
    "a word": (words("WordLevel"), "ab città a", {"città".encode(): 1}),
    "pieces of a word": (words("WordPiece"), "ab abx", {b"abx": 1}),
}


@pytest.mark.parametrize("case", UNSEEN)
def test_what_no_token_stands_for_is_counted(case):
    backend, text, expected = UNSEEN[case]
    if "[" in text:
        backend.add_tokens(["[\x13]"])
    encoder = text_encoder(backend)
    ids = encoder.encode(text, add_special_tokens=False).ids
    assert Coverage(encoder).unseen(text, ids) == Counter(expected)


def test_what_is_unseen_is_named():
    unseen = Unseen()
    unseen.add(Counter(), "document '0'")
    unseen.add(Counter({b"\x13": 2, "città".encode(): 1}), "document '1'")
    assert unseen.described() == {"unseen_bytes": 8, "unseen": {"0x13": 2, "città": 1}}
    assert all(part in unseen.sentence("corpus x", 20) for part in ("8 of 20", "document '1'"))
    assert [name_of(data) for data in (b"\xf1", b" ", b"a b")] == ["0xF1", "0x20", "a b"]
    assert size_of(unseen.kinds) == 8
    unseen = Unseen()
    unseen.add(Counter({bytes([97 + n]): n // 2 for n in range(2, 14)}), "x")
    # The commonest eight of twelve, by count and then by name.
    assert [*unseen.described()["unseen"].items()] == [
        *{"m": 6, "n": 6, "k": 5, "l": 5, "i": 4, "j": 4, "g": 3, "h": 3}.items()
    ]


def test_beyond_a_number_of_kinds_the_commoner_half_is_held(monkeypatch):
    monkeypatch.setattr("revocab.vocabulary.tokenizers.encoding.COUNTED", 4)
    unseen = Unseen()
    counts = {b"a": 5, b"b": 1, b"c": 4, b"d": 2}
    unseen.add(Counter(counts), "x")
    assert unseen.kinds == counts
    unseen.add(Counter({b"e": 3}), "x")
    assert (unseen.kinds, unseen.size) == ({b"a": 5, b"c": 4}, 15)


# Ends of prompts. ---------------------------------------------------------------------------------


def template(form: str) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(single=form, special_tokens=[(BOS, 0), (EOS, 1)])


#: What the tokenizer does to a text, and what stands around that of a prompt.
PROCESSORS = {
    "nothing": (None, [], []),
    "bos": (template(f"{BOS} $A"), [0], []),
    "both": (template(f"{BOS} $A {EOS}"), [0], [1]),
    "eos": (template(f"$A {EOS}"), [], [1]),
    "two behind": (template(f"$A {EOS} {BOS}"), [], [1, 0]),
    "bert": (processors.BertProcessing((EOS, 1), (BOS, 0)), [0], [1]),
    "roberta": (processors.RobertaProcessing((EOS, 1), (BOS, 0)), [0], [1]),
    "in a sequence": (
        processors.Sequence([processors.ByteLevel(trim_offsets=False), template(f"$A {EOS}")]),
        [], [1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PROCESSORS)
def test_nothing_stands_behind_a_prompt(tmp_path, case):
    from transformers import PreTrainedTokenizerFast

    processor, before, after = PROCESSORS[case]
    backend = byte_level()
    if processor is not None:
        backend.post_processor = processor
    whole = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=BOS, eos_token=EOS)
    whole.save_pretrained(tmp_path)
    bare = whole("ab a", add_special_tokens=False)["input_ids"]
    assert whole("ab a")["input_ids"] == [*before, *bare, *after]
    assert appended_tokens(whole) == after
    prompt = load_prompt_tokenizer(tmp_path)
    assert prompt("ab a")["input_ids"] == prompt.encode("ab a") == [*before, *bare]
    assert prompt("")["input_ids"] == before
    spans = [
        tokenizer("ab a", return_offsets_mapping=True)["offset_mapping"]
        for tokenizer in (prompt, whole)
    ]
    assert spans[0] == spans[1][: len(spans[0])]


# Identity. ----------------------------------------------------------------------------------------


def with_state(change) -> Tokenizer:
    state = json.loads(byte_level().to_str())
    change(state)
    return Tokenizer.from_str(json.dumps(state, indent=1, sort_keys=True))


SAME = {
    "another form of the file": lambda state: None,
    "another end of texts": lambda state: state.update(
        post_processor=json.loads(PROCESSORS["bert"][0].__getstate__())
    ),
    "no decoder": lambda state: state.update(decoder=None),
    "truncation": lambda state: state.update(
        truncation={"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    ),
}
OTHER = {
    "two tokens swapped": lambda state: state["model"]["vocab"].update(a=3, b=2),
    "no merges": lambda state: state["model"].update(merges=[]),
    "a splitter": lambda state: state["pre_tokenizer"].update(use_regex=False),
    "a normaliser": lambda state: state.update(normalizer={"type": "NFC"}),
    "words taken whole": lambda state: state["model"].update(ignore_merges=True),
    "a token that is none of control": lambda state: state["added_tokens"][1].update(special=False),
}


@pytest.mark.parametrize("case", [*SAME, *OTHER])
def test_what_decides_ids_is_the_tokenizer(case):
    made = with_state({**SAME, **OTHER}[case])
    assert (ids_hash(made, 0, 1) == ids_hash(byte_level(), 0, 1)) == (case in SAME)


def test_tokens_of_another_tokenizer_are_named(tmp_path):
    from transformers import PreTrainedTokenizerFast

    model = tmp_path / "model"
    other = PreTrainedTokenizerFast(tokenizer_object=byte_level(), bos_token=BOS, eos_token=EOS)
    other.save_pretrained(model)
    own = folder_hash(model)
    assert own == ids_hash(byte_level(), 0, 1) != ids_hash(byte_level(), 0, None)
    packed = {tmp_path / name: ("rows", {"tokenizer": h} if h else {})
              for name, h in (("own", own), ("other", "f" * 64), ("old", None))}  # fmt: skip
    (problem,) = foreign_ids(model, packed)
    assert all(part in problem for part in (str(tmp_path / "other"), str(model), own[:12], "ffff"))
    assert not [*foreign_ids(tmp_path / "no tokenizer", packed)]
