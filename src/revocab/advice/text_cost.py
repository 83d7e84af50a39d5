"""What a text costs in a tokenizer's tokens today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from revocab.corpora.word_splitters import available_splitter, start_splitting
from revocab.errors import RevocabError
from revocab.fertility.floor import measure_floor
from revocab.fertility.token_counts import count_token_classes, share_split

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class TextCost:
    """A text in a tokenizer's tokens, special tokens left out."""

    name: str
    documents: int
    characters: int
    bytes: int
    words: int
    #: How words are counted (:mod:`revocab.corpora.word_splitters`).
    splitter: str
    tokens: int
    #: Tokens that are bytes of a character, and unknown ones.
    byte_fallback_tokens: int
    unknown: int
    #: Share of running words of more than one token; None where no word has a letter.
    words_cut: float | None
    #: The fewest tokens that any vocabulary could make of it (:mod:`revocab.fertility.floor`).
    floor_tokens: int
    #: The same where vowel signs belong to words; None where the splitter needs no such repair.
    repaired_floor_tokens: int | None
    #: Whether the floor is the splitter's, or what the trainer joins where there is no splitter.
    has_splitter: bool


def measure_text(
    tokenizer: PreTrainedTokenizerFast, documents: list[str], language: str
) -> TextCost:
    """Return what ``documents`` cost; ``language`` (ISO 639) says how words are counted.

    Memory holds all; :func:`revocab.advice.sample.sample_text` bounds them. Raises
    :class:`RevocabError` where there is no word, or no floor can be told.
    """
    splitter = available_splitter(language)
    wait = start_splitting(documents, language, splitter)
    counted = count_token_classes(tokenizer, documents)
    floor = measure_floor(tokenizer, documents)
    words = wait()
    if not any(words.counts):
        raise RevocabError(f"{language}: no words in the text; give text with words")
    return TextCost(
        name=language,
        documents=len(documents),
        characters=sum(map(len, documents)),
        bytes=sum(len(text.encode()) for text in documents),
        words=sum(words.counts),
        splitter=splitter,
        tokens=int(counted.tokens.sum()),
        byte_fallback_tokens=int(counted.bytes_.sum()),
        unknown=int(counted.unknown.sum() + counted.lost.sum()),
        words_cut=share_split(tokenizer, words.frequencies),
        floor_tokens=floor.tokens,
        repaired_floor_tokens=floor.repaired_tokens,
        has_splitter=floor.has_splitter,
    )
