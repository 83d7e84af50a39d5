"""Count words as the fertility tables of the literature do: with NLTK.

``word_tokenize`` needs NLTK's sentence data (punkt), which is a download; where it is absent,
NLTK's own word rules (Treebank style) run on the whole document. The choice changes the numbers (a
full stop inside a document stays attached to its word), so it is recorded as ``splitter``.
"""

from __future__ import annotations

import os
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
#: Below this many characters a second process costs more than it saves.
PARALLEL_CHARACTERS = 2_000_000


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


def word_counter(splitter: str, language: str) -> Callable[[str], int]:
    """Return a function from a text to its number of words, by the named splitter."""
    from nltk.tokenize import NLTKWordTokenizer, word_tokenize

    if splitter == SENTENCES:
        name = PUNKT_LANGUAGES[language]
        return lambda text: len(word_tokenize(text, language=name))
    tokenizer = NLTKWordTokenizer()
    return lambda text: len(tokenizer.tokenize(text))


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
