"""Split text into words and count them, as the fertility tables of the literature do: with NLTK.

``word_tokenize`` needs NLTK's sentence data (punkt), which is a download; where it is absent,
NLTK's own word rules (Treebank style) run on the whole document. Unicode words (UAX #29) need
neither data nor rules of a language. The choice changes the numbers (with the rules a full stop
inside a document stays attached to its word), so it is recorded as ``splitter``.
"""

from __future__ import annotations

import os
import re
import signal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Literal

from revocab.errors import RevocabError, ending

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
#: Marks that NLTK's rules allow between a final full stop and the end of a text.
CLOSING_MARKS = ")]}>\"'»”’"
#: A private character that no rule touches; texts that hold it are tokenised plainly.
SEPARATOR = "\ue000"
#: Chunks whose counts are kept: enough for any language's frequent words, at some 100 MB.
CACHED_CHUNKS = 1_000_000
#: Below this many characters a second process costs more than it saves.
PARALLEL_CHARACTERS = 10_000_000
#: Texts whose new chunks are split in one call.
BATCH_TEXTS = 1000


def available_splitter(language: str) -> str:
    from nltk.tokenize import sent_tokenize

    name = PUNKT_LANGUAGES.get(language)
    if name is None:
        return RULES
    try:
        sent_tokenize("a", language=name)
    except (LookupError, OSError):
        return RULES
    return SENTENCES


def choose_splitter(choice: Choice, language: str) -> str:
    """Return the splitter that an experiment's ``choice`` means for ``language`` on this machine.

    Raises :class:`RevocabError` for a choice that does not exist.
    """
    if choice == "nltk":
        return available_splitter(language)
    return UNICODE if choice == "unicode" else RULES


def fallen_back(choice: Choice, language: str, splitter: str) -> bool:
    return choice == "nltk" and splitter == RULES and language in PUNKT_LANGUAGES


class Splitter(ABC):
    """Counts the words of texts, and how often each distinct word occurred.

    Each distinct chunk of text, as a subclass cuts it, is split once, however often it occurs.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        #: The words of chunks that are not one word themselves.
        self._words: dict[str, list[str]] = {}
        self._chunks: Counter[str] = Counter()
        #: Words outside of chunks.
        self._seen: Counter[str] = Counter()

    def count(self, texts: Iterable[str]) -> list[int]:
        cut = [self.chunks(text) for text in texts]
        new = set().union(*(keys for keys, _ in cut)).difference(self._counts)
        plain = set(filter(self.is_word, new))
        self._counts.update(dict.fromkeys(plain, 1))
        learned = self.split_chunks(sorted(new - plain))
        self._counts.update((key, len(words)) for key, words in learned.items())
        self._words.update(learned)
        look_up = self._counts.__getitem__
        counts = []
        for keys, others in cut:
            self._chunks.update(keys)
            self._seen.update(others)
            counts.append(sum(map(look_up, keys)) + len(others))
        if len(self._counts) > CACHED_CHUNKS:
            self._seen = self.take_frequencies()
            self._counts.clear()
            self._words.clear()
        return counts

    def take_frequencies(self) -> Counter[str]:
        """Return how often each word occurred since the last call."""
        seen, self._seen = self._seen, Counter()
        for key, count in self._chunks.items():
            for word in self._words.get(key, (key,)):
                seen[word] += count
        self._chunks.clear()
        return seen

    @abstractmethod
    def chunks(self, text: str) -> tuple[list[str], list[str]]:
        """Return a text's chunks, and the words that do not come from any."""

    def is_word(self, key: str) -> bool:
        return True

    def split_chunks(self, keys: list[str]) -> dict[str, list[str]]:
        return {}


class SentenceSplitter(Splitter):
    """NLTK's ``word_tokenize``, which splits sentences first: the text is no chunks."""

    def __init__(self, language: str):
        from nltk.tokenize import word_tokenize

        super().__init__()
        self._tokenize, self._language = word_tokenize, PUNKT_LANGUAGES[language]

    def chunks(self, text: str) -> tuple[list[str], list[str]]:
        return [], self._tokenize(text, language=self._language)


class RulesSplitter(Splitter):
    """What NLTK's word rules give for a whole text, several times faster.

    All those rules look at one whitespace-separated chunk and the whitespace around it, except
    those for the end of the text. So each distinct chunk is tokenised once, between separators that
    stay words of their own, and the end of each text by itself. Equal words are a property test.
    """

    def __init__(self) -> None:
        from nltk.tokenize import NLTKWordTokenizer

        super().__init__()
        self._tokenize = NLTKWordTokenizer().tokenize
        self._find = re.compile(r"(\S+)(\s)").findall
        # Quotes open a quotation after a space only; these stand after something else.
        self._odd_quote = re.compile(r"[^\S ](?:\"|'')").search
        self._other_space = re.compile(r"[^\S \n]").search
        # The only words of letters and digits that the rules split.
        self._joined = re.compile(r"(?i)cannot|gimme|gonna|gotta|lemme|wanna").fullmatch

    def chunks(self, text: str) -> tuple[list[str], list[str]]:
        # Quotes at the beginning of a text are not what they are after a space.
        odd = SEPARATOR in text or text.startswith(("''", '""', "\"''"))
        start = 0 if odd else _last_word(text)
        if start == 0:
            return [], self._tokenize(text)
        end = self._tokenize("x" + text[start - 1 :])[1:]
        head = text[:start]
        if self._other_space(head):
            if self._odd_quote(head):
                return [], self._tokenize(text)
            chunks = self._find(head)
            return [chunk if space == " " else chunk + space for chunk, space in chunks], end
        head = head.replace("\n", "\n ")
        for quote in ('"', "''"):  # not after a space: the line break belongs to the chunk
            head = head.replace(f"\n {quote}", f"\n \n{quote}")
        return [key for key in head.split(" ") if key and key != "\n"], end

    def is_word(self, key: str) -> bool:
        return key.isalnum() and not self._joined(key)

    def split_chunks(self, keys: list[str]) -> dict[str, list[str]]:
        if not keys:
            return {}
        joined = f"{SEPARATOR} ".join(key if key[-1].isspace() else f"{key} " for key in keys)
        words: list[list[str]] = [[]]
        for word in self._tokenize(f"{SEPARATOR} {joined}{SEPARATOR}"):
            if word == SEPARATOR:
                words.append([])
            else:
                words[-1].append(word)
        return dict(zip(keys, words[1:-1], strict=True))


class UnicodeSplitter(Splitter):
    """Words as Unicode's text segmentation (UAX #29) bounds them, if they hold a letter or digit.

    A boundary lies before and after every whitespace character, so chunks can be split alone.
    """

    def __init__(self) -> None:
        import regex

        super().__init__()
        self._split = regex.compile(r"\b", regex.WORD | regex.V1).split

    def chunks(self, text: str) -> tuple[list[str], list[str]]:
        return text.split(), []

    def is_word(self, key: str) -> bool:
        return key.isascii() and key.isalnum()

    def split_chunks(self, keys: list[str]) -> dict[str, list[str]]:
        return {
            key: [part for part in self._split(key) if any(map(str.isalnum, part))] for key in keys
        }


def _last_word(text: str) -> int:
    """Return where the last chunk begins that is more than closing marks; 0 if there is none."""
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in CLOSING_MARKS):
        end -= 1
    while end and not text[end - 1].isspace():
        end -= 1
    return end


@cache
def word_splitter(splitter: str, language: str) -> Splitter:
    """Return the named splitter; one per process, so that it keeps what it has learned."""
    if splitter == SENTENCES:
        return SentenceSplitter(language)
    return UnicodeSplitter() if splitter == UNICODE else RulesSplitter()


@dataclass(frozen=True)
class Words:
    """The number of words of each text, and how often each distinct word occurs in all of them."""

    counts: list[int]
    frequencies: Counter[str]


def _split(texts: Sequence[str], splitter: str, language: str) -> Words:
    words = word_splitter(splitter, language)
    counts = []
    for start in range(0, len(texts), BATCH_TEXTS):
        counts += words.count(texts[start : start + BATCH_TEXTS])
    return Words(counts, words.take_frequencies())


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
        counts: list[int] = []
        frequencies: Counter[str] = Counter()
        workers = list(pool._processes.values())
        try:
            with pool:
                for part in started:
                    counts += part.result().counts
                    frequencies.update(part.result().frequencies)
        except BrokenProcessPool:
            # The pool ends the others with SIGTERM.
            statuses = [worker.exitcode or 0 for worker in workers]
            first = [status for status in statuses if status not in (0, -signal.SIGTERM)]
            ended = min(first, default=-signal.SIGTERM)
            raise RevocabError(
                f"words could not be counted: a process ended ({ending(ended)}); use fewer cores,"
                " or free memory"
            ) from None
        return Words(counts, frequencies)

    return wait


def count_words(texts: Sequence[str], language: str, splitter: str) -> list[int]:
    return start_splitting(texts, language, splitter)().counts
