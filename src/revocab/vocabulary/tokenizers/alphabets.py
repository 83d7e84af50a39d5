"""How text becomes the symbols of a vocabulary: the two alphabets, and what counts as a word.

``byte_fallback`` is the style of Llama-2, Mistral and Minerva: a word start is ``▁``, a rare
character is spelt in ``<0xNN>`` bytes. ``byte_level`` is the style of GPT-2 and Llama-3: text is
bytes, a word start is ``Ġ``. Both give back any UTF-8 text exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from revocab.heavy_types import Tokenizer

Alphabet = Literal["byte_fallback", "byte_level"]
Digits = Literal["individual", "groups_of_three", "none"]
Whitespace = Literal["grouped", "single"]

MARKER = "▁"
#: Escapes a literal ``▁``, which SentencePiece itself gives back as a space: data link escape.
ESCAPE = "\x10"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
#: Share of all characters that get their own token (Llama trained so); the rest is spelt in bytes.
CHARACTER_COVERAGE = 0.99995
#: Characters counted to choose the alphabet: enough to see one in a million.
COUNTED_CHARACTERS = 8_000_000
#: At most this share of the vocabulary is single characters.
ALPHABET_SHARE = 1 / 8

#: What is published: Llama-2 and Mistral split numbers into digits, Llama-3 into groups of three.
USUAL_DIGITS: dict[str, Digits] = {"byte_fallback": "individual", "byte_level": "groups_of_three"}
NUMBERS: dict[Digits, str] = {
    "individual": r"\p{N}",
    "groups_of_three": r"\p{N}{1,3}",
    "none": r"\p{N}+",
}
#: The pattern of word pieces of GPT-2, which a ByteLevel step has inside.
GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def marked_words(digits: Digits = "individual", whitespace: Whitespace = "grouped") -> str:
    """Return the pattern of word pieces in marker form: letters, numbers, punctuation, spaces.

    ``grouped``: spaces before a word stay together and may become one token; ``single``: each space
    is a piece of its own.
    """
    spaces = r"|▁+(?=▁[^▁\s\p{N}])|▁+" if whitespace == "grouped" else r"|▁"
    return rf"▁?[\p{{L}}\p{{M}}]+|{NUMBERS[digits]}|▁?[^▁\s\p{{L}}\p{{M}}\p{{N}}]+{spaces}|\s"


def byte_level_words(digits: Digits = "groups_of_three", whitespace: Whitespace = "grouped") -> str:
    """Return the pattern of word pieces of raw text: Llama-3's published one by default."""
    spaces = r"|\s*[\r\n]+|\s+(?!\S)|\s+" if whitespace == "grouped" else r"|\s"
    lines = r"[\r\n]*" if whitespace == "grouped" else ""
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
        rf"|{NUMBERS[digits]}| ?[^\s\p{{L}}\p{{N}}]+{lines}{spaces}"
    )


LLAMA3_WORDS = byte_level_words()


def covering_characters(counts: Counter[str], limit: int) -> list[str]:
    """Return the characters that cover nearly all of ``counts``, at most ``limit``, unsorted.

    Whitespace and the characters the marker form uses itself are left to their bytes. Ties are
    broken by code point, so that the result does not depend on the machine.
    """
    counts = Counter(
        {
            character: count
            for character, count in counts.items()
            if not character.isspace() and character not in (MARKER, ESCAPE)
        }
    )
    uncovered = counts.total() * (1 - CHARACTER_COVERAGE)
    ordered = sorted(counts, key=lambda character: (counts[character], -ord(character)))
    while ordered and counts[ordered[0]] <= uncovered:
        uncovered -= counts[ordered.pop(0)]
    return ordered[-limit:] if limit > 0 else []


def frequent_characters(samples: Iterable[str], limit: int) -> list[str]:
    """Return the marker and the at most ``limit`` - 1 :func:`covering_characters`, sorted."""
    counts: Counter[str] = Counter()
    for text in samples:
        counts.update(text)
        if counts.total() >= COUNTED_CHARACTERS:
            break
    return sorted([MARKER, *covering_characters(counts, limit - 1)])


def set_pipeline(
    tokenizer: Tokenizer, alphabet: Alphabet, digits: Digits, whitespace: Whitespace
) -> None:
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers

    if alphabet == "byte_fallback":
        pattern = marked_words(digits, whitespace)
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.Replace(ESCAPE, ESCAPE + "0"),
                normalizers.Replace(MARKER, ESCAPE + "1"),
                normalizers.Prepend(MARKER),
                normalizers.Replace(" ", MARKER),
            ]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
        # The inverse of the normaliser, over pieces and byte tokens.
        tokenizer.decoder = decoders.Sequence(
            [
                decoders.Replace(MARKER, " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
                decoders.Replace(ESCAPE + "1", MARKER),
                decoders.Replace(ESCAPE + "0", ESCAPE),
            ]
        )
        return
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(byte_level_words(digits, whitespace)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()


def set_training_pipeline(
    tokenizer: Tokenizer,
    alphabet: Alphabet,
    digits: Digits,
    whitespace: Whitespace,
    characters: list[str] | None,
) -> None:
    """Give a tokenizer its pipeline, without what is not learned: all but ``characters``."""
    from tokenizers import Regex, pre_tokenizers

    set_pipeline(tokenizer, alphabet, digits, whitespace)
    if alphabet == "byte_fallback":
        # Line ends and tabs are left out of training, so that they stay byte tokens, as in Mistral.
        dropped = r"\s"
        if characters is not None:
            dropped = "[^" + "".join(rf"\x{{{ord(character):x}}}" for character in characters) + "]"
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(dropped), "removed"), tokenizer.pre_tokenizer]
        )


def _byte_of_character() -> dict[str, int]:
    """Return GPT-2's alphabet: printable Latin-1 stands for itself, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + number): byte for number, byte in enumerate(others)
    }


#: Tables for ``str.translate``, from characters of that alphabet to Latin-1 and back.
TO_LATIN = {ord(character): chr(byte) for character, byte in _byte_of_character().items()}
FROM_LATIN = {byte: character for character, byte in _byte_of_character().items()}


def from_byte_level(string: str) -> bytes | None:
    """Return the bytes a byte-level token stands for; None if it is not in that alphabet."""
    try:
        return string.translate(TO_LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return None


def to_byte_level(data: bytes) -> str:
    return data.decode("latin-1").translate(FROM_LATIN)
