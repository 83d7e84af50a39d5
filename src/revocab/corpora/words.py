"""Count words as the fertility tables of the literature do: with NLTK.

``word_tokenize`` needs NLTK's sentence data (punkt), which is a download; where it is absent,
NLTK's own word rules (Treebank style) run on the whole document. The choice changes the numbers (a
full stop inside a document stays attached to its word), so it is recorded as ``splitter``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

#: NLTK's names of the languages it has sentence data for, by ISO 639-1 code.
PUNKT_LANGUAGES = {
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "fi": "finnish", "fr": "french", "it": "italian",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ru": "russian",
    "sl": "slovene", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
#: Splitters by name: NLTK with sentence data, NLTK without.
SENTENCES, RULES = "nltk-word_tokenize", "nltk-rules"
#: Marks that NLTK's rules allow between a final full stop and the end of a text.
CLOSING_MARKS = ")]}>\"'»”’"
#: A private character that no rule touches; texts that hold it are tokenised plainly.
SEPARATOR = "\ue000"
#: Chunks whose counts are kept: enough for any language's frequent words, at some 100 MB.
CACHED_CHUNKS = 1_000_000
#: Below this many characters a second process costs more than it saves.
PARALLEL_CHARACTERS = 30_000_000


def available_splitter(language: str) -> str:
    """Return the name of the best splitter for ``language`` (ISO 639-1) on this machine."""
    from nltk.tokenize import sent_tokenize

    name = PUNKT_LANGUAGES.get(language)
    if name is None:
        return RULES
    try:
        sent_tokenize("a", language=name)
    except (LookupError, OSError):
        return RULES
    return SENTENCES


class RulesCounter:
    """Counts what NLTK's word rules would give for a whole text, several times faster.

    All those rules look at one whitespace-separated chunk and the whitespace around it, except
    those for the end of the text. So each distinct chunk is tokenised once, between separators that
    stay words of their own, and the end of each text by itself. Equal counts are a property test.
    """

    def __init__(self):
        from nltk.tokenize import NLTKWordTokenizer

        self._tokenize = NLTKWordTokenizer().tokenize
        self._chunks = re.compile(r"(\S+)(\s)").findall
        # The only words of letters and digits that the rules split.
        self._joined = re.compile(r"(?i)cannot|gimme|gonna|gotta|lemme|wanna").fullmatch
        self._counts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """Return the number of words of ``text``."""
        if SEPARATOR in text:
            return len(self._tokenize(text))
        start = _last_word(text)
        if start == 0:
            return len(self._tokenize(text))
        total = len(self._tokenize("x" + text[start - 1 :])) - 1
        keys = [
            chunk if space == " " else chunk + space
            for chunk, space in self._chunks(text, 0, start)
        ]
        if len(self._counts) > CACHED_CHUNKS:
            self._counts.clear()
        new = {key for key in keys if key not in self._counts}
        plain = {key for key in new if key.isalnum() and not self._joined(key)}
        self._counts.update(dict.fromkeys(plain, 1))
        if new - plain:
            self._learn(sorted(new - plain))
        return total + sum(map(self._counts.__getitem__, keys))

    def _learn(self, keys: list[str]) -> None:
        """Count the words of each chunk, all in one call of the rules."""
        joined = f"{SEPARATOR} ".join(key if key[-1].isspace() else f"{key} " for key in keys)
        counts = [0]
        for word in self._tokenize(f"{SEPARATOR} {joined}{SEPARATOR}"):
            if word == SEPARATOR:
                counts.append(0)
            else:
                counts[-1] += 1
        self._counts.update(zip(keys, counts[1:-1], strict=True))


def _last_word(text: str) -> int:
    """Return where the last chunk begins that is more than closing marks; 0 if there is none."""
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in CLOSING_MARKS):
        end -= 1
    while end and not text[end - 1].isspace():
        end -= 1
    return end


def word_counter(splitter: str, language: str) -> Callable[[str], int]:
    """Return a function from a text to its number of words, by the named splitter."""
    if splitter == RULES:
        return RulesCounter()
    from nltk.tokenize import word_tokenize

    name = PUNKT_LANGUAGES[language]
    return lambda text: len(word_tokenize(text, language=name))


def _count(texts: Sequence[str], splitter: str, language: str) -> list[int]:
    counter = word_counter(splitter, language)
    return [counter(text) for text in texts]


def count_words(
    texts: Sequence[str], language: str, splitter: str | None = None, processes: int | None = None
) -> list[int]:
    """Return the number of words of each text, in order; large inputs use every core."""
    splitter = splitter or available_splitter(language)
    processes = processes or len(os.sched_getaffinity(0))
    if processes == 1 or sum(map(len, texts)) < PARALLEL_CHARACTERS:
        return _count(texts, splitter, language)
    size = max(1, min(500, len(texts) // (4 * processes)))
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    # Fresh processes: forking one whose threads hold locks (tokenizers, torch) can hang.
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
        counts = pool.map(_count, batches, repeat(splitter), repeat(language))
        return [count for batch in counts for count in batch]
