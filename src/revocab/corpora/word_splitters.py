"""Split text into words and count them, as the fertility tables of the literature do: with NLTK.

``word_tokenize`` needs NLTK's sentence data (punkt), which is a download; where it is absent,
NLTK's own word rules (Treebank style) run on the whole document. Unicode words (UAX #29) need
neither data nor rules of a language. The choice changes the numbers (with the rules a full stop
inside a document stays attached to its word), so it is recorded as ``splitter``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Literal

from revocab.errors import RevocabError

#: NLTK's names of the languages it has sentence data for, by ISO 639-1 code.
PUNKT_LANGUAGES = {
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "fi": "finnish", "fr": "french", "it": "italian",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ru": "russian",
    "sl": "slovene", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
#: Splitters by name: NLTK with sentence data, NLTK without, Unicode words.
SENTENCES, RULES, UNICODE = "nltk-word_tokenize", "nltk-rules", "unicode-words"
#: What an experiment may ask for; ``nltk`` takes the rules where the sentence data is absent.
Choice = Literal["nltk", "nltk_rules", "unicode"]
#: How to get the sentence data.
GET_SENTENCES = "python -m nltk.downloader punkt_tab"
#: Below this many characters a second process costs more than it saves.
PARALLEL_CHARACTERS = 10_000_000
#: NLTK's rule for the last full stop takes the square of their number; none looks beyond two.
MANY_SPACES = re.compile(" {50,}")


def available_splitter(language: str) -> str:
    """Return NLTK's splitter for a language on this machine: with sentence data or by rules."""
    from nltk.tokenize import sent_tokenize

    try:
        sent_tokenize("a", language=PUNKT_LANGUAGES[language])
    except (LookupError, OSError):  # no such language, or no data of it
        return RULES
    return SENTENCES


def tokenizer_of(splitter: str, language: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into its words."""
    if splitter == SENTENCES:
        from nltk.tokenize import word_tokenize

        return partial(word_tokenize, language=PUNKT_LANGUAGES[language])
    if splitter == RULES:
        from nltk.tokenize import NLTKWordTokenizer

        tokenize = NLTKWordTokenizer().tokenize
        return lambda text: tokenize(MANY_SPACES.sub("  ", text))
    import regex

    # Words as Unicode's text segmentation (UAX #29) bounds them, if they hold a letter or digit.
    split = regex.compile(r"\b", regex.WORD | regex.V1).split
    return lambda text: [part for part in split(text) if any(map(str.isalnum, part))]


@dataclass(frozen=True)
class Words:
    """The number of words of each text, and how often each distinct word occurs in all of them."""

    counts: list[int]
    frequencies: Counter[str]


def _split(texts: Sequence[str], splitter: str, language: str) -> Words:
    words = Words([], Counter())
    for split in map(tokenizer_of(splitter, language), texts):
        words.counts.append(len(split))
        words.frequencies.update(split)
    return words


def start_splitting(
    texts: Sequence[str], language: str, splitter: str, processes: int | None = None
) -> Callable[[], Words]:
    """Begin to split texts in other processes; return a function that waits for the result.

    Few texts, or one core, are split by that function itself.
    """
    processes = processes or len(os.sched_getaffinity(0))
    if processes == 1 or sum(map(len, texts)) < PARALLEL_CHARACTERS:
        return lambda: _split(texts, splitter, language)
    size = -(-len(texts) // (4 * processes))
    # Fresh processes: forking one whose threads hold locks (tokenizers, torch) can hang.
    pool = ProcessPoolExecutor(processes, mp_context=get_context("forkserver"))
    started = [
        pool.submit(_split, texts[start : start + size], splitter, language)
        for start in range(0, len(texts), size)
    ]

    def wait() -> Words:
        words = Words([], Counter())
        try:
            with pool:
                for part in started:
                    words.counts.extend(part.result().counts)
                    words.frequencies.update(part.result().frequencies)
        except BrokenProcessPool:
            raise RevocabError(
                "words could not be counted: a process was ended, as for want of memory; use fewer"
                " cores, or free memory"
            ) from None
        return words

    return wait
