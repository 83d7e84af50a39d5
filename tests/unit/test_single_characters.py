"""Every byte and control character takes the row of the token that the source writes for it."""

from __future__ import annotations

import pytest
from toy_vocabularies import byte_level, sentencepiece_bpe

from revocab.initialise.reading.vocabularies import SourceSpelling
from revocab.vocabulary.intersection import intersect
from revocab.vocabulary.tokenizers.alphabets import to_byte_level
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

BYTES = [bytes([number]) for number in range(256)]
#: Mistral has pieces of its own for all controls but these; so has the toy in its shape.
CONTROLS = [chr(number) for number in (*range(32), 127) if chr(number) not in "\0\t\n"]
#: What may stand after a first byte, or before a last, in characters that are too rare for a piece.
AROUND = [(b"", bytes([last] * more)) for more in range(4) for last in range(0x80, 0xC0)]
AROUND += [(b"\xf4\x80\x80", b"")]
MISTRAL = pytest.param("mistral", marks=pytest.mark.shared_data)


@pytest.fixture(scope="module", params=["byte_fallback", "byte_level", MISTRAL])
def source(request):
    if request.param == "mistral":
        folder = request.getfixturevalue("shared_folder")
        return load_tokenizer(folder / "tokenizers" / "mistral-7b-v0.1")
    return sentencepiece_bpe(*CONTROLS) if request.param == "byte_fallback" else byte_level()


def written(source, byte: bytes) -> int:
    """Return the token that stands for a byte in the source's own output: between line ends, in
    its place in a character that is written byte by byte, or (in no text at all) by its name.
    """

    def tokens(text: str) -> list[int]:
        return source.backend_tokenizer.encode(text, add_special_tokens=False).ids

    start = len(tokens("\n"))
    for before, after in AROUND if byte[0] >= 128 else [(b"", b"")]:
        try:
            text = (before + byte + after).decode()
        except UnicodeDecodeError:
            continue
        between = tokens(f"\n{text}\n")[start:-1]
        if len(between) == len(before + byte + after):
            return between[len(before)]
    # No text has these; and Mistral has a piece for each character that begins with 0xC2 or 0xC3.
    assert byte[0] in (*range(0xC0, 0xC4), *range(0xF5, 0x100))
    vocabulary = source.get_vocab()
    return vocabulary.get(f"<0x{byte[0]:02X}>", vocabulary.get(to_byte_level(byte)))


@pytest.mark.parametrize("target", [byte_level, sentencepiece_bpe])
def test_a_byte_takes_what_the_source_writes_for_it(source, target):
    target, wanted = target(), {byte: written(source, byte) for byte in BYTES}
    pairs = intersect(source, target)
    rows = dict(zip(pairs.target_ids.tolist(), pairs.source_ids.tolist(), strict=True))
    tokens = canonical_vocabulary(target)
    plain = {token.data for token in tokens if token.kind != "byte"}
    taken = {
        token.data: rows[number]
        for number, token in enumerate(tokens)
        # A byte token beside a plain one of the same text never comes out of any.
        if len(token.data) == 1 and (token.kind != "byte" or token.data not in plain)
    }
    assert taken.keys() == wanted.keys()
    assert taken == wanted


def test_a_byte_is_spelt_as_the_source_writes_it(source):
    spelling = SourceSpelling(source)
    assert {byte: spelling.spell(byte) for byte in BYTES} == {
        byte: [written(source, byte)] for byte in BYTES
    }


def test_a_vocabulary_with_itself_is_the_identity(source):
    pairs = intersect(source, source)
    assert (pairs.target_ids == pairs.source_ids).all()
